#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "vscode-tasks",
        "Commands that the editor starts, some as soon as the folder is opened.",
        "code.visualstudio.com/docs, Tasks, Debug configuration and c_cpp_properties.json; "
        "zed.dev/docs/tasks; learn.microsoft.com/cpp/build, tasks.vs.json; "
        "puremourning.github.io/vimspector",
        "**/.vscode/tasks.json **/.vscode/launch.json **/.zed/tasks.json "
        "**/.vscode/c_cpp_properties.json **/.vscode/cmake-kits.json "
        "**/.vscode/cmake-variants.json **/.vscode/arduino.json **/.vscode/sftp.json "
        "**/.zed/debug.json **/.vs/tasks.vs.json **/.vs/launch.vs.json **/tasks.vs.json "
        "**/launch.vs.json **/CppProperties.json **/.vimspector.json **/.nvim/*.json "
        "**/.fleet/*.json **/.lapce/*.json",
        kKeys, kJson,
        "*command *args *options.* *runOn *program *runtimeExecutable *runtimeArgs "
        "*preLaunchTask *postDebugTask *Commands *Command *env.* *envFile *python *interpreter "
        "*miDebuggerPath *debugServerPath *pipeProgram *script *inputs* *compilerPath "
        "*compilers* *toolchainFile *prebuild *environmentSetupScript *environmentVariables* "
        "*debugger* *exe *adapters* *launch* *attach* *pidSelect* *environments* *sshConfigPath"},
    TriggerClass{
        "vscode-settings",
        "Settings of the editor that name programs or widen trust.",
        "code.visualstudio.com/docs/configure/settings and Workspace trust; "
        "zed.dev/docs/configuring-zed; "
        "github.com/neoclide/coc.nvim/wiki/Using-the-configuration-file; "
        "github.com/folke/neoconf.nvim",
        "**/.vscode/settings.json **/*.code-workspace **/.zed/settings.json "
        "~/.config/Code/User/settings.json ~/.config/*/User/settings.json "
        "~/.config/*/User/keybindings.json ~/.config/zed/*.json **/coc-settings.json "
        "**/.neoconf.json **/.nlsp-settings/*.json **/.lapce/settings.json **/.theia/*.json "
        "~/.config/Code*/User/**/*.json ~/.vscode-server/data/Machine/settings.json "
        "~/.local/share/code-server/User/*.json",
        kKeys, kJson,
        "*path *paths *executable* *terminal.integrated.* *command* *interpreter* *binary* "
        "*automaticTasks* *workspace.trust* *.env* *shell* *server* *autoApprove* *autoAccept* "
        "*args *plugins* *scripts* *runner* *hooks* *proxy* *sdk *tsdk *tasks* *launch* *mcp* "
        "*languageserver* *extension*=*/* *formatters* *linters* *preferLocal* *transport* "
        "*allowScripts* *env* *home *arguments* *argv* *flags* *bin *exec* *script* "
        "*alternateTools* *require* *library* *runtime* *sandbox* *instructions* *=./* *=../* "
        "*=/* *=~/* *=*${* ^*automaticTasks* ^*workspace.trust*"},
    TriggerClass{
        "helix",
        "Language servers, formatters and key bindings with commands of Helix and Kakoune.",
        "docs.helix-editor.com/languages.html and /keymap.html; "
        "github.com/kakoune-lsp/kakoune-lsp",
        "**/.helix/*.toml ~/.config/helix/** **/.kak-lsp.toml **/kak-lsp.toml "
        "~/.config/kak-lsp/**",
        kKeys, kToml,
        "*command* *args* *config* *environment* *formatter* *debugger* *language-server* *keys* "
        "*source* *grammar* *shell* *transport* *templates* *settings*"},
    TriggerClass{
        "idea",
        "Commands that the editor starts.",
        "jetbrains.com/help/idea, Run configurations, File watchers, Startup tasks; "
        "sublimetext.com/docs; help.eclipse.org, External tool builders; netbeans.apache.org; "
        "doc.qt.io/qtcreator; docs.kde.org, kateproject; docs.nova.app",
        "**/.idea/runConfigurations/** **/.run/*.xml **/.idea/watcherTasks.xml "
        "**/.idea/externalDependencies.xml **/.idea/tools/** **/.idea/workspace.xml "
        "**/.idea/startup.xml **/.fleet/run.json **/*.sublime-project **/*.sublime-build "
        "**/.externalToolBuilders/** **/.project **/nbproject/** **/.kateproject "
        "**/.kateproject.build **/*.pro.user **/CMakeLists.txt.user **/.nova/** "
        "**/.idea/gradle.xml **/.idea/cmake.xml **/.idea/compiler.xml **/.idea/php.xml "
        "**/.idea/jarRepositories.xml **/.idea/jsLinters/** **/.idea/prettier.xml "
        "**/.idea/makefile.xml **/.idea/ant.xml **/.idea/sbt.xml **/.idea/kotlinc.xml "
        "**/.idea/remote-targets.xml **/.idea/dataSources.xml **/.idea/misc.xml "
        "**/.idea/libraries/** **/.factorypath **/.settings/** **/.cproject **/.classpath "
        "**/*.sublime-workspace **/*.uvprojx **/*.ewp **/.idea/externalTools/** "
        "**/.idea/terminal.xml **/.kdev4/** "
        "**/*.kdev4 **/*.geany **/*.cbp **/*.sublime-settings **/*.sublime-commands",
        kScript},
    TriggerClass{
        "named-script",
        "A file that runs by itself names this script.",
        "docs.npmjs.com, Life cycle scripts; code.claude.com/docs, Hooks; pre-commit.com; "
        "code.visualstudio.com/docs, Tasks; direnv.net",
        "",
        kScript},
    TriggerClass{
        "devcontainer",
        "Commands and rights of the container that the editor starts, one of them on the machine "
        "itself.",
        "containers.dev/implementors/json_reference",
        "**/.devcontainer/**/devcontainer.json **/.devcontainer.json **/.devcontainer/*.json",
        kKeys, kJson,
        "*Command @image *build.* *dockerFile *dockerComposeFile *runArgs *mounts "
        "*workspaceMount @features* *features.* *containerEnv* *remoteEnv* *capAdd *privileged "
        "*securityOpt *customizations.*path *customizations.*shell* *initialize* *remoteUser"},
    TriggerClass{
        "devcontainer-scripts",
        "Started when the container of the editor is made.",
        "containers.dev, Lifecycle scripts; ona.com/docs; devfile.io; "
        "firebase.google.com/docs/studio, .idx",
        "**/.gitpod.yml **/.gitpod.Dockerfile **/.gitpod.yaml **/.gitpod/** **/.devcontainer/** "
        "**/.ona/** **/.daytona/** **/devfile.yaml **/.devfile.yaml **/.idx/** "
        "**/.codesandbox/** **/.stackblitzrc !**/.devcontainer/**/*.json "
        "!**/.devcontainer/**/*.md !**/.devcontainer/**/Dockerfile",
        kScript},
    TriggerClass{
        "agent-settings",
        "Hooks, servers and permissions of an AI agent that runs on the machine.",
        "code.claude.com/docs, Settings and Hooks; cursor.com/docs; geminicli.com/docs; "
        "opencode.ai/docs/config; docs.roocode.com; kiro.dev/docs; docs.aws.amazon.com/amazonq; "
        "docs.windsurf.com; github.com/charmbracelet/crush; ampcode.com/manual; docs.factory.ai; "
        "docs.augmentcode.com; kilocode.ai/docs; docs.github.com/copilot, Hooks; "
        "modelcontextprotocol.io, Local servers",
        "~/.claude.json **/.mcp.json **/mcp.json **/.codex/hooks.json **/opencode.json "
        "**/opencode.jsonc **/.opencode/*.json **/cline_mcp_settings.json **/.codeium/**/*.json "
        "**/claude_desktop_config.json **/.claude/*.json ~/.claude/*.json "
        "**/.claude-plugin/*.json **/mcp_config.json **/mcp-config.json **/.mcp/*.json "
        "**/.vscode/mcp.json **/.gemini/**/*.json **/.qwen/*.json **/.iflow/*.json **/crush.json "
        "**/.crush.json **/.crush/*.json ~/.config/crush/*.json **/.amp/*.json "
        "~/.config/amp/*.json **/.factory/**/*.json **/.augment/**/*.json **/.kilocode/**/*.json "
        "**/.trae/**/*.json **/.continue/**/*.json **/.junie/**/*.json **/.warp/**/*.json "
        "**/.copilot/*.json ~/.copilot/*.json **/.github/hooks/*.json **/.amazonq/**/*.json "
        "**/.q/**/*.json **/.kiro/**/*.json **/.cursor/**/*.json **/.windsurf/**/*.json "
        "**/.roo/**/*.json **/.cline/**/*.json ~/.config/opencode/*.json ~/.config/Claude/*.json "
        "**/.openhands/*.json **/.agents/**/*.json **/.zencoder/**/*.json **/.pi/**/*.json "
        "**/gemini-extension.json",
        kKeys, kJson,
        "hooks* *command* *args *permissions* env* *.env.* apiKeyHelper *mcp* *servers* "
        "statusLine* ^*permissions.deny* ^*permissions.ask* ^*sandbox* *enable* *dirs* "
        "*directories* *sandbox* *plugin* *allow* *approve* *trust* "
        "*helper* *url *headers* *bypass* *tools* *version_check* *script* *setup* *install* "
        "*start *terminals* *agent* *lsp* *formatter* *exec* *run* *instructions* *model*=*://* "
        "*baseURL* *api_base* *snapshot *build *enabled *marketplace*"},
    TriggerClass{
        "agent-settings-toml",
        "Servers, notifications and permissions of an AI agent that runs on the machine.",
        "developers.openai.com/codex, Configuration; geminicli.com/docs, Custom commands "
        "(!{...}); github.com/qodo-ai/pr-agent; docs.mistral.ai, Vibe",
        "**/.gemini/commands/**/*.toml **/.qwen/commands/**/*.toml **/.pr_agent.toml "
        "**/.codex/**/*.toml **/.vibe/*.toml ~/.vibe/*.toml **/openhands.toml",
        kKeys, kToml,
        "*command* *args* mcp_servers* notify* *approval* *sandbox* *env* *hooks* *provider* "
        "*url* *trust* *writable* *network* projects* *helper* *shell* *profile* *prompt* *tool* "
        "*run* *extra_instructions* *server* *feature*"},
    TriggerClass{
        "agent-settings-yaml",
        "Commands and servers of an AI agent that runs on the machine.",
        "aider.chat/docs/config; docs.continue.dev/reference; block.github.io/goose",
        "**/.aider.conf.yml **/.aider.*.yml **/.continue/**/*.yaml **/.continue/**/*.yml "
        "~/.config/goose/*.yaml **/.goose/**/*.yaml **/.sweep.yaml **/.coderabbit.yaml "
        "**/.fabric/*.yaml **/.factory/**/*.yaml",
        kKeys, kYaml,
        "*cmd *command *args *mcp* *test-cmd *lint-cmd *auto-* *yes* *api-base* *load *editor* "
        "*notifications-command *env* *extensions* *script* *run* *instructions* *tools* *uri"},
    TriggerClass{
        "agent-scripts",
        "Started by an AI agent that runs on the machine.",
        "code.claude.com/docs, Hooks, Skills and Plugins; opencode.ai/docs/plugins; "
        "docs.openhands.dev; cursor.com/docs, Hooks",
        "**/.claude/** **/.codex/** **/.cursor/** **/.gemini/** **/.opencode/** **/.openhands/** "
        "**/.factory/** **/.kiro/** **/.amazonq/** **/.roo/** **/.augment/** **/.qwen/** "
        "**/.amp/** **/.pi/** **/.agents/** **/.claude-plugin/** **/.clinerules/hooks/** "
        "**/.kilocode/** **/.github/skills/** **/.github/hooks/** **/.cline/hooks/** !**/*.md "
        "!**/*.mdc !**/*.json !**/*.jsonc !**/*.toml !**/*.yaml !**/*.yml !**/*.txt",
        kScript},
    TriggerClass{
        "agent-commands",
        "Instructions that an AI agent on the machine reads together with commands it runs first.",
        "code.claude.com/docs, Slash commands, Skills, Subagents and Plugins; opencode.ai/docs, "
        "Commands; geminicli.com/docs, Custom commands; cursor.com/docs, Commands",
        "**/.claude/**/*.md **/SKILL.md **/.opencode/**/*.md **/.agents/**/*.md "
        "**/.cursor/**/*.md **/.github/agents/** **/.github/prompts/** **/.codex/**/*.md "
        "**/.factory/**/*.md **/.kilocode/**/*.md **/.roo/**/*.md **/.qwen/**/*.md "
        "**/.gemini/**/*.md **/.claude-plugin/**/*.md",
        kAgentText},
    TriggerClass{
        "agent-instructions",
        "Read as instructions by AI agents that run on the machine.",
        "agents.md; code.claude.com/docs, Memory; cursor.com/docs, Rules; "
        "docs.github.com/copilot, Custom instructions; geminicli.com/docs; docs.windsurf.com, "
        "Rules; aider.chat/docs/usage/conventions.html",
        "**/AGENTS.md **/AGENT.md **/CLAUDE.md **/CLAUDE.local.md **/GEMINI.md **/.cursorrules "
        "**/.clinerules **/.clinerules/** **/.windsurfrules **/.github/copilot-instructions.md "
        "**/.github/instructions/** **/.github/prompts/** **/.aider* **/CONVENTIONS.md "
        "**/.junie/** **/.goosehints **/.rules **/.github/agents/** **/.github/chatmodes/** "
        "**/.github/skills/** **/.gemini/**/*.md **/.opencode/**/*.md **/.factory/**/*.md "
        "**/.kiro/**/*.md **/.amazonq/**/*.md **/.augment/**/*.md **/.augment-guidelines "
        "**/.kilocode/** **/.trae/**/*.md **/.openhands/**/*.md **/.agents/**/*.md "
        "**/.claude/**/*.md **/.codex/**/*.md **/.cursor/**/*.md **/.cursor/**/*.mdc "
        "**/.windsurf/**/*.md **/.roomodes **/.roo/**/*.md **/QWEN.md **/CRUSH.md **/WARP.md "
        "**/SKILL.md **/replit.md **/.devin/** **/.continue/**/*.md **/.qwen/**/*.md "
        "**/llms-install.md **/.amp/**/*.md **/.pi/**/*.md",
        kNotice},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> EditorTriggers() { return kTable; }

}  // namespace cloche::rules
