#include <array>

#include "promote/triggers.h"

namespace cloche::promote {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr std::array kTable = {
    TriggerClass{
        "git-hooks", "git runs these files itself: on commit, checkout, merge, push.",
        "**/.git/hooks/** **/.git/modules/**/hooks/** **/*.git/hooks/** **/.githooks/** "
        "**/.husky/** **/hooks/pre-commit **/hooks/post-commit **/hooks/prepare-commit-msg "
        "**/hooks/commit-msg **/hooks/post-checkout **/hooks/post-merge **/hooks/pre-push "
        "**/hooks/pre-rebase **/hooks/post-rewrite **/hooks/fsmonitor-watchman **/hooks/update "
        "**/hooks/pre-receive **/hooks/post-receive **/hooks/reference-transaction "
        "**/hooks/post-index-change **/hooks/pre-auto-gc **/hooks/pre-merge-commit "
        "**/hooks/applypatch-msg **/hooks/pre-applypatch **/hooks/post-applypatch",
        kScript},
    TriggerClass{
        "git-config", "Settings of git that name programs, which the next git command starts.",
        "**/.git/config **/.git/config.worktree **/.git/modules/**/config "
        "**/.git/worktrees/**/config.worktree **/*.git/config **/.gitconfig "
        "~/.config/git/config /etc/gitconfig",
        kKeys, kGitConfig,
        "core.hookspath core.fsmonitor core.sshcommand core.pager core.editor core.askpass "
        "core.gitproxy core.worktree core.attributesfile core.alternaterefscommand core.commentchar "
        "sequence.editor gpg.*program gpg*.program credential.* *.textconv diff.external "
        "diff.*.command merge.*.driver filter.* alias.*=!* pager.* include.path includeif.* "
        "*.insteadof *.pushinsteadof remote.*.url remote.*.pushurl remote.*.uploadpack "
        "remote.*.receivepack remote.*.vcs remote.*.proxy http.*proxy http.*sslverify "
        "http.*sslcainfo protocol.* init.templatedir extensions.* interactive.difffilter *.cmd "
        "difftool.*.path mergetool.*.path man.*.path browser.*.path sendemail.* tar.*.command "
        "trailer.*.command uploadpack.packobjectshook submodule.*.update submodule.*.url "
        "safe.directory hook.* web.browser instaweb.*"},
    TriggerClass{
        "git-attributes", "Attributes choose the filters and drivers that git starts for a file.",
        "**/.gitattributes **/.git/info/attributes ~/.config/git/attributes /etc/gitattributes",
        kGitAttributes},
    TriggerClass{
        "git-modules", "Says from where further repositories are fetched, and how.",
        "**/.gitmodules", kKeys, kGitConfig, "submodule.*.url submodule.*.update"},
    TriggerClass{
        "git-redirect", "Makes git read objects and settings from another place.",
        "**/objects/info/alternates **/objects/info/http-alternates **/.git/commondir "
        "**/.git/gitdir **/.git/worktrees/**/commondir **/.git/worktrees/**/gitdir "
        "**/.git/info/grafts **/.git/shallow",
        kAny},
    TriggerClass{
        "git-nested", "A second repository, or a .git that leads elsewhere, brings its own hooks "
        "and settings.",
        "**/.git **/HEAD", kGitLink},

    TriggerClass{
        "ci-github", "Runs on the forge with the project's secrets.",
        "**/.github/workflows/*.yml **/.github/workflows/*.yaml **/.gitea/workflows/* "
        "**/.forgejo/workflows/* **/action.yml **/action.yaml",
        kKeys, kYaml,
        "*.run @*.uses @*.image @*.container *.entrypoint *.shell *.script runs.* "
        "*pull_request_target* on*=*pull_request_target* *permissions*=*write* "
        "*runs-on*=*self-hosted* *.LD_PRELOAD *.NODE_OPTIONS *.BASH_ENV *.PATH *.PYTHONPATH "
        "*secrets*=inherit"},
    TriggerClass{
        "ci-gitlab", "Runs on the forge with the project's secrets.",
        "**/.gitlab-ci.yml **/.gitlab-ci.yaml .gitlab/**/*.yml .gitlab/**/*.yaml .gitlab-ci/**",
        kKeys, kYaml,
        "*script @*image include @*services *entrypoint *command *trigger *.run "
        "*.LD_PRELOAD *.BASH_ENV"},
    TriggerClass{
        "ci-circle", "Runs on the build service with the project's secrets.",
        ".circleci/*.yml .circleci/*.yaml", kKeys, kYaml,
        "*run *command @*image @orbs *entrypoint *shell"},
    TriggerClass{
        "ci-azure", "Runs on the build service with the project's secrets.",
        "**/azure-pipelines*.yml **/azure-pipelines*.yaml .azure-pipelines/** .azure/**/*.yml",
        kKeys, kYaml,
        "*script *bash *pwsh *powershell @*task @*container *template *inputs.* *repository"},
    TriggerClass{
        "ci-buildkite", "Runs on the build service with the project's secrets.",
        ".buildkite/*.yml .buildkite/*.yaml buildkite.yml", kKeys, kYaml,
        "*command *commands @*plugins *plugins.* @*image"},
    TriggerClass{
        "ci-drone", "Runs on the build service with the project's secrets.",
        "**/.drone.yml **/.woodpecker.yml **/.woodpecker/*.yml **/.woodpecker/*.yaml", kKeys, kYaml,
        "*commands @*image *entrypoint *settings.script *privileged *volumes"},
    TriggerClass{
        "ci-jenkins", "Runs on the build server with the project's secrets.",
        "**/Jenkinsfile **/Jenkinsfile.* **/*.jenkinsfile", kLiteralCode},
    TriggerClass{
        "ci-other", "Runs on a build or hosting service with the project's secrets.",
        ".travis.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml cloudbuild.yaml "
        "cloudbuild.yml .cirrus.yml codemagic.yaml .semaphore/*.yml buildspec.yml render.yaml "
        "app.yaml fly.yaml .readthedocs.yaml .readthedocs.yml",
        kKeys, kYaml,
        "*script *_script *install before_* after_* *commands *command *.run *args *entrypoint "
        "@*image *pipe @*name=*/* *post_* *pre_* *Command *jobs[] build.commands"},
    TriggerClass{
        "ci-scripts", "Started by a build service before or after its steps.",
        ".buildkite/hooks/* .circleci/*.sh .github/scripts/** .github/actions/**/*.sh Procfile",
        kScript},
    TriggerClass{
        "commit-checks", "Programs that run on every commit.",
        "**/.pre-commit-config.yaml **/.pre-commit-hooks.yaml **/lefthook.yml **/lefthook.yaml "
        "**/.lefthook.yml .overcommit.yml **/.lintstagedrc **/.lintstagedrc.json "
        "**/.lintstagedrc.yml",
        kKeys, kYaml, "*repo *entry *.id *language *run *script *command *_command *.js *.ts"},

    TriggerClass{
        "package-json", "npm, yarn and pnpm run these scripts, some on install.",
        "**/package.json !**/node_modules/**", kKeys, kJson,
        "scripts.* bin bin.* husky.* gitHooks.* simple-git-hooks.* pre-commit* lint-staged* "
        "@packageManager *dependencies.*=*/* overrides*=*/* resolutions*=*/* *overrides.*=*/* "
        "pnpm.onlyBuiltDependencies* pnpm.patchedDependencies* trustedDependencies* gypfile "
        "publishConfig.registry *dependencies.*=file:* exports.*=/* nx.targets.*"},
    TriggerClass{
        "package-settings", "Says from where package managers take code, and what they start.",
        "**/.npmrc **/.yarnrc **/pip.conf **/.pip/pip.conf **/.config/pip/* /etc/pip.conf "
        "**/.pydistutils.cfg **/.condarc **/.gemrc **/.pypirc **/.pnpmrc",
        kKeys, kIni,
        "*registry* *script-shell* *shell* *ignore-scripts* *node-options* *onload-script* "
        "*init-module* *cafile* *strict-ssl* *proxy* *_auth* *token* *index-url* *find-links* "
        "*trusted-host* *yarn-path* *plugin* git prefix *globalconfig* *userconfig* *channels* "
        "*sources* *repository* *cert* *config-settings* *global-pnpmfile* pnpmfile"},
    TriggerClass{
        "package-settings-yaml", "Says from where package managers take code, and what they start.",
        "**/.yarnrc.yml **/.bundle/config **/pnpm-workspace.yaml", kKeys, kYaml,
        "*yarnPath *plugins* *npmRegistryServer *enableScripts *unsafeHttpWhitelist "
        "*enableStrictSsl *Proxy *initScope BUNDLE_* *onlyBuiltDependencies* *registry* "
        "*patchedDependencies* *overrides*=*/* *pnpmfile* *dangerously*"},
    TriggerClass{
        "package-hooks", "Code that a package manager loads into itself.",
        "**/.pnpmfile.cjs **/pnpmfile.js **/.yarn/releases/** **/.yarn/plugins/** **/.pnp.cjs "
        "**/.pnp.loader.mjs **/binding.gyp",
        kScript},
    TriggerClass{
        "python-setup", "Runs when the package is built or installed.",
        "**/setup.py", kLiteralCode},
    TriggerClass{
        "python-setup-cfg", "Names commands to be installed and code of the build.",
        "**/setup.cfg", kKeys, kIni,
        "options.entry_points* options.setup_requires* options.dependency_links* options.cmdclass* "
        "*cmdclass* easy_install.* install.* develop.* options.scripts* aliases.* distutils.*"},
    TriggerClass{
        "python-project", "Names the code that builds the package, and commands to be installed.",
        "**/pyproject.toml", kKeys, kToml,
        "build-system.build-backend build-system.backend-path @build-system.requires "
        "project.scripts.* project.gui-scripts.* project.entry-points.* *.scripts.* *.tasks.* "
        "*.hooks.* *.cmdclass* *source*.url *index*.url *sources.*=*/* *.git *.url *.commands* "
        "*.cmd *addopts*=*-p* *build-script* *.poetry.build* *.plugins* *.shell"},
    TriggerClass{
        "rust-build-script", "cargo builds and runs it before the package itself.",
        "**/build.rs", kScript},
    TriggerClass{
        "rust-manifest", "Names build scripts, and where crates come from.",
        "**/Cargo.toml", kKeys, kToml,
        "package.build package.links *dependencies.*.git *dependencies.*.registry "
        "*dependencies.*.path=/* patch.* replace.* *.proc-macro *registry-index"},
    TriggerClass{
        "rust-settings", "Names programs that cargo starts instead of, or around, its own.",
        "**/.cargo/config **/.cargo/config.toml ~/.cargo/env **/rust-toolchain.toml", kKeys, kToml,
        "*runner *rustc-wrapper *rustc-workspace-wrapper *.rustc *.rustdoc *linker alias.* env.* "
        "source.* registries.* registry.* *credential-* paths *rustflags* *rustdocflags* *.ar "
        "include patch.* unstable.* http.proxy http.cainfo http.check-revoke toolchain.path "
        "net.git-fetch-with-cli"},
    TriggerClass{
        "ruby-packages", "Ruby code that bundler or CocoaPods runs to learn what to install.",
        "**/Gemfile **/gems.rb **/Podfile **/Brewfile **/Fastfile **/Dangerfile", kLiteralCode},
    TriggerClass{
        "php-packages", "composer runs these scripts, and takes code from these places.",
        "**/composer.json", kKeys, kJson,
        "scripts.* repositories* config.allow-plugins* bin* autoload.files* autoload-dev.files* "
        "extra.*script* config.secure-http config.vendor-dir config.bin-dir"},
    TriggerClass{
        "lock-sources", "Says from where packages are downloaded, and what they must be.",
        "**/package-lock.json **/npm-shrinkwrap.json **/yarn.lock **/pnpm-lock.yaml **/bun.lock "
        "**/Cargo.lock **/poetry.lock **/uv.lock **/pdm.lock **/Pipfile.lock **/composer.lock "
        "**/Gemfile.lock **/Podfile.lock **/go.sum **/go.mod **/go.work **/flake.lock "
        "**/Package.resolved **/requirements*.txt **/constraints*.txt **/requirements/*.txt "
        "**/gradle-wrapper.properties **/maven-wrapper.properties **/gradle.lockfile **/deno.lock "
        "**/pylock.toml **/mix.lock **/pubspec.lock !**/node_modules/**",
        kLock},

    TriggerClass{
        "make", "Recipes run on the next build.",
        "**/Makefile **/GNUmakefile **/Makefile.am **/Makefile.in **/*.mk **/*.mak **/Kbuild "
        "**/justfile **/.justfile",
        kMake},
    TriggerClass{
        "cmake", "Commands that run when the project is configured, built or installed.",
        "**/CMakeLists.txt **/*.cmake **/*.cmake.in", kCMake},
    TriggerClass{
        "cmake-presets", "Chooses compilers, launchers and the environment of the build.",
        "**/CMakePresets.json **/CMakeUserPresets.json", kKeys, kJson,
        "*COMPILER* *LAUNCHER* *TOOLCHAIN* *environment.* *toolchainFile *cmakeExecutable "
        "*MAKE_PROGRAM* *PROJECT_INCLUDE* *EMULATOR* *vendor*"},
    TriggerClass{
        "task-runner", "Named tasks that people and tools start.",
        "**/Taskfile.yml **/Taskfile.yaml **/taskfile.yml **/.goreleaser.yml **/.goreleaser.yaml "
        "**/skaffold.yaml **/dvc.yaml **/mprocs.yaml **/process-compose.yml **/.air.yaml",
        kKeys, kYaml, "*cmds *cmd *.sh *command *commands *hooks* *script *shell *includes*"},
    TriggerClass{
        "task-runner-json", "Named tasks that people and tools start.",
        "**/deno.json **/deno.jsonc **/turbo.json **/nx.json **/project.json **/vercel.json "
        "**/now.json **/.swcrc **/lerna.json",
        kKeys, kJson, "tasks.* *command *commands *executor *script *importMap *plugins* *scripts.*"},
    TriggerClass{
        "test-runner", "Commands and plugins that run with the tests.",
        "**/tox.ini **/pytest.ini **/.coveragerc", kKeys, kIni,
        "*commands* *install_command* *allowlist_externals* *setenv* *addopts*=*-p* *plugins* "
        "*requires* *indexserver* *set_env* *package_env*"},
    TriggerClass{
        "bazel", "Rules that run commands or fetch code on the next build.",
        "**/BUILD **/BUILD.bazel **/WORKSPACE **/WORKSPACE.bazel **/MODULE.bazel **/*.bzl **/BUCK "
        "**/TARGETS",
        kToolCode},
    TriggerClass{
        "bazel-settings", "Options that steer every build.",
        "**/.bazelrc **/.buckconfig **/.bazelversion", kScript},
    TriggerClass{
        "gradle", "Code that gradle runs on every build.",
        "**/*.gradle **/*.gradle.kts **/init.d/*.gradle ~/.gradle/** **/buildSrc/**", kToolCode},
    TriggerClass{
        "build-wrapper", "The program that builds the project, as the project brings it.",
        "**/gradlew **/gradlew.bat **/mvnw **/mvnw.cmd **/.mvn/jvm.config **/.mvn/maven.config "
        "**/.mvn/extensions.xml **/gradle-wrapper.jar **/maven-wrapper.jar "
        "**/MavenWrapperDownloader.java",
        kAny},
    TriggerClass{
        "gradle-properties", "Steers the JVM that builds.",
        "**/gradle.properties", kKeys, kIni,
        "*jvmargs*=*agent* *jvmargs*=*classpath* *java.home* *proxy* *repository*"},
    TriggerClass{
        "maven", "Plugins that maven runs, and where it takes code from.",
        "**/pom.xml ~/.m2/settings.xml", kKeys, kXml,
        "*executable *argument *arguments *command* *commandline* *plugin.artifactId "
        "*plugin.groupId *configuration.target* *exec *script* *repository.url "
        "*pluginRepository.url *mirror.url *systemPath *extension.artifactId *goal"},
    TriggerClass{
        "container-build", "Runs when the image is built or started.",
        "**/Dockerfile **/Dockerfile.* **/*.dockerfile **/Containerfile **/Earthfile", kDocker},
    TriggerClass{
        "container-compose", "Starts containers, with folders and rights of the machine.",
        "**/docker-compose*.yml **/docker-compose*.yaml **/compose.yml **/compose.yaml "
        "**/compose.*.yml **/compose.*.yaml",
        kKeys, kYaml,
        "*command *entrypoint @*image *privileged *volumes *network_mode *pid *ipc *devices "
        "*cap_add *security_opt *userns_mode *extends *include *dockerfile *dockerfile_inline "
        "*additional_contexts *post_start *pre_stop"},
    TriggerClass{
        "tool-code", "Code that a tool loads and runs whenever it is used.",
        "**/conftest.py **/noxfile.py **/tasks.py **/fabfile.py **/dodo.py **/SConstruct "
        "**/SConscript **/wscript **/meson.build **/gulpfile.* **/Gruntfile.* **/webpack.config.* "
        "**/vite.config.* **/vitest.config.* **/rollup.config.* **/jest.config.* "
        "**/jest.setup.* **/babel.config.* **/eslint.config.* **/.eslintrc.* **/next.config.* "
        "**/nuxt.config.* **/svelte.config.* **/astro.config.* **/postcss.config.* "
        "**/tailwind.config.* **/metro.config.* **/karma.conf.* **/playwright.config.* "
        "**/cypress.config.* **/esbuild.* **/prettier.config.* **/.prettierrc.* "
        "**/commitlint.config.* **/.mocharc.* **/*.gemspec **/Rakefile **/*.rake **/configure "
        "**/configure.ac **/*.m4 **/Vagrantfile **/Tiltfile **/mix.exs **/rebar.config "
        "**/build.sbt **/build.zig **/build.xml **/Build.PL **/Makefile.PL **/hatch_build.py "
        "**/_build.py **/Snakefile **/xmake.lua **/premake5.lua **/shell.nix **/flake.nix "
        "**/default.nix !**/node_modules/**",
        kToolCode},

    TriggerClass{
        "vscode-tasks", "Commands that the editor starts, some as soon as the folder is opened.",
        "**/.vscode/tasks.json **/.vscode/launch.json **/.zed/tasks.json", kKeys, kJson,
        "*command *args *options.* *runOn *program *runtimeExecutable *runtimeArgs *preLaunchTask "
        "*postDebugTask *Commands *Command *env.* *envFile *python *interpreter *miDebuggerPath "
        "*debugServerPath *pipeProgram *script *inputs*"},
    TriggerClass{
        "vscode-settings", "Settings of the editor that name programs or widen trust.",
        "**/.vscode/settings.json **/*.code-workspace **/.zed/settings.json "
        "~/.config/Code/User/settings.json ~/.config/*/User/settings.json "
        "~/.config/*/User/keybindings.json ~/.config/zed/*.json",
        kKeys, kJson,
        "*path *paths *executable* *terminal.integrated.* *command* *interpreter* *binary* "
        "*automaticTasks* *workspace.trust* *.env* *shell* *server* *autoApprove* *autoAccept* "
        "*args *plugins* *scripts* *runner* *hooks* *proxy* *sdk *tsdk *tasks* *launch* *mcp*"},
    TriggerClass{
        "idea", "Commands that the editor starts.",
        "**/.idea/runConfigurations/** **/.run/*.xml **/.idea/watcherTasks.xml "
        "**/.idea/externalDependencies.xml **/.idea/tools/** **/.idea/workspace.xml "
        "**/.idea/startup.xml **/.fleet/run.json **/*.sublime-project **/*.sublime-build",
        kScript},
    TriggerClass{
        "devcontainer", "Commands and rights of the container that the editor starts, one of them "
        "on the machine itself.",
        "**/.devcontainer/**/devcontainer.json **/.devcontainer.json **/.devcontainer/*.json", kKeys,
        kJson,
        "*Command @image *build.* *dockerFile *dockerComposeFile *runArgs *mounts *workspaceMount "
        "@features* *features.* *containerEnv* *remoteEnv* *capAdd *privileged *securityOpt "
        "*customizations.*path *customizations.*shell* *initialize* *remoteUser"},
    TriggerClass{
        "devcontainer-scripts", "Started when the container of the editor is made.",
        "**/.devcontainer/**/*.sh **/.gitpod.yml **/.gitpod.Dockerfile", kScript},
    TriggerClass{
        "agent-settings", "Hooks, servers and permissions of an AI agent that runs on the machine.",
        "**/.claude/settings.json **/.claude/settings.local.json ~/.claude.json **/.mcp.json "
        "**/mcp.json **/.cursor/*.json **/.gemini/settings.json **/.codex/hooks.json "
        "**/opencode.json **/opencode.jsonc **/.opencode/*.json **/.roo/*.json "
        "**/.kiro/settings/*.json **/.amazonq/*.json **/cline_mcp_settings.json "
        "**/.windsurf/*.json **/.codeium/**/*.json **/claude_desktop_config.json",
        kKeys, kJson,
        "hooks* *command* *args *permissions* env* *.env.* apiKeyHelper *mcp* *servers* "
        "statusLine* *enable* *dirs* *directories* *sandbox* *plugin* *allow* *approve* *trust* "
        "*helper* *url *headers* *bypass* *tools* *version_check*"},
    TriggerClass{
        "agent-settings-toml", "Servers, notifications and permissions of an AI agent that runs on "
        "the machine.",
        "**/.codex/*.toml", kKeys, kToml,
        "*command* *args* mcp_servers* notify* *approval* *sandbox* *env* *hooks* *provider* *url* "
        "*trust* *writable* *network* projects* *helper* *shell* *profile*"},
    TriggerClass{
        "agent-settings-yaml", "Commands and servers of an AI agent that runs on the machine.",
        "**/.aider.conf.yml **/.continue/*.yaml **/.continue/*.yml **/.goose/*.yaml", kKeys, kYaml,
        "*cmd *command *args *mcp* *test-cmd *lint-cmd *auto-* *yes* *api-base* *load *editor* "
        "*notifications-command *env*"},
    TriggerClass{
        "agent-scripts", "Started by an AI agent that runs on the machine.",
        "**/.claude/hooks/** **/.claude/*.sh **/.claude/scripts/** **/.claude/plugins/** "
        "**/.codex/hooks/** **/.cursor/hooks/** **/.claude/skills/**/*.sh "
        "**/.claude/skills/**/*.py **/.opencode/plugin/**",
        kScript},
    TriggerClass{
        "agent-instructions", "Read as instructions by AI agents that run on the machine.",
        "**/AGENTS.md **/AGENT.md **/CLAUDE.md **/CLAUDE.local.md **/GEMINI.md **/.cursorrules "
        "**/.cursor/rules/** **/.clinerules **/.clinerules/** **/.windsurfrules **/.roo/rules/** "
        "**/.github/copilot-instructions.md **/.github/instructions/** **/.github/prompts/** "
        "**/.claude/commands/** **/.claude/agents/** **/.claude/skills/**/*.md "
        "**/.claude/*.md **/.codex/prompts/** **/.aider* **/CONVENTIONS.md **/.junie/**",
        kNotice},

    TriggerClass{
        "direnv", "direnv runs it when a shell enters the folder.",
        "**/.envrc ~/.config/direnv/** ~/.direnvrc", kScript},
    TriggerClass{
        "env-file", "Becomes part of the environment of programs that are started here.",
        "**/.env **/.env.* **/.flaskenv", kKeys, kIni,
        "*PATH LD_* *.LD_* DYLD_* NODE_OPTIONS PYTHON* BASH_ENV ENV PERL5* RUBYOPT RUBYLIB JAVA_* "
        "_JAVA_* *_PROXY GIT_* EDITOR PAGER SHELL PROMPT_COMMAND RUSTC* *_WRAPPER COMPOSE_FILE "
        "DOCKER_HOST KUBECONFIG MAKEFLAGS CC CXX npm_config_* PIP_* UV_*"},
    TriggerClass{
        "tool-versions", "Says which version of a tool runs here, or which file it is.",
        "**/.tool-versions **/.nvmrc **/.node-version **/.python-version **/.ruby-version "
        "**/.java-version **/.go-version **/.terraform-version **/rust-toolchain **/.asdfrc",
        kKeys, kWords, "*=*path:* *=*ref:* *=*/* *=*system* *hook*"},
    TriggerClass{
        "mise", "Tasks, hooks and sources that mise runs when a shell enters the folder.",
        "**/.mise.toml **/mise.toml **/.mise.*.toml **/mise.*.toml **/.mise/*.toml "
        "**/.config/mise/*.toml **/devbox.toml",
        kKeys, kToml,
        "hooks* tasks.* *.run env._* env.PATH env.LD_* *.source *.path *.file alias.* plugins.* "
        "*=*path:* *=*exec(* settings.*"},
    TriggerClass{
        "shell-startup", "Every new shell or session runs it.",
        "~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.bash.d/** "
        "~/.bashrc.d/** ~/.profile ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout "
        "~/.oh-my-zsh/** ~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.config/fish/** ~/.xprofile "
        "~/.xinitrc ~/.xsession ~/.xsessionrc ~/.pam_environment ~/.config/environment.d/** "
        "~/.config/zsh/** ~/.config/bash/** ~/.inputrc ~/.config/starship.toml /etc/profile "
        "/etc/profile.d/** /etc/bash.bashrc /etc/bashrc /etc/bash_completion.d/** /etc/zsh/** "
        "/etc/zshenv /etc/zshrc /etc/fish/** /etc/environment /etc/environment.d/** /etc/skel/** "
        "~/.local/share/bash-completion/**",
        kScript},
    TriggerClass{
        "program-startup", "A program that is used every day runs it when it starts.",
        "~/.vimrc ~/.vim/** ~/.gvimrc ~/.config/nvim/** ~/.emacs ~/.emacs.d/** ~/.config/emacs/** "
        "~/.gdbinit ~/.lldbinit ~/.psqlrc ~/.sqliterc ~/.tmux.conf ~/.config/tmux/** ~/.screenrc "
        "~/.ipython/** ~/.jupyter/** ~/.pythonrc ~/.pythonrc.py ~/.irbrc ~/.pryrc ~/.Rprofile "
        "~/.julia/config/** ~/.lessfilter ~/.mailcap ~/.curlrc ~/.wgetrc ~/.config/i3/** "
        "~/.config/sway/** ~/.config/hypr/** **/.exrc **/.nvimrc **/.nvim.lua **/.vimrc "
        "**/.lvimrc **/.dir-locals.el **/.gdbinit **/.lldbinit **/.Rprofile **/.irbrc "
        "~/.docker/config.json ~/.kube/config ~/.aws/config",
        kScript},
    TriggerClass{
        "cron", "Runs at set times.",
        "/etc/cron* /etc/cron*/** /var/spool/cron/** /etc/anacrontab /var/spool/at/** "
        "/var/spool/anacron/**",
        kScript},
    TriggerClass{
        "systemd", "A service, a timer or a socket: started by the system or the session.",
        "/etc/systemd/** /usr/lib/systemd/** /lib/systemd/** /usr/local/lib/systemd/** "
        "/run/systemd/** ~/.config/systemd/** ~/.local/share/systemd/**",
        kKeys, kIni,
        "service.exec* service.environment* service.user service.group service.root* service.type "
        "service.capab* service.ambient* service.bind* service.file* service.passenv* timer.* "
        "socket.* path.* install.* unit.on* unit.requires unit.wants unit.bindsto unit.upholds "
        "*.unit mount.* automount.* swap.* manager.*"},
    TriggerClass{
        "boot-scripts", "Run when the machine starts or a device, a network or a login appears.",
        "/etc/init.d/** /etc/rc.local /etc/rc*.d/** /etc/init/** /etc/xinetd.d/** "
        "/etc/inetd.conf /etc/inittab /etc/udev/** /lib/udev/** /usr/lib/udev/** "
        "/etc/NetworkManager/dispatcher.d/** /etc/network/** /etc/ppp/** /etc/dhcp/** "
        "/etc/update-motd.d/** /etc/modprobe.d/** /etc/modules /etc/modules-load.d/** "
        "/etc/binfmt.d/** /etc/tmpfiles.d/** /etc/sysctl.conf /etc/sysctl.d/** /boot/** "
        "/etc/default/** /etc/grub.d/** /etc/initramfs-tools/** /etc/kernel/** /etc/acpi/** "
        "/etc/logrotate.d/** /etc/logrotate.conf /lib/modules/** /usr/lib/modules/**",
        kScript},
    TriggerClass{
        "access", "Says who may log in or become somebody else, and what every program loads.",
        "/etc/sudoers /etc/sudoers.d/** /etc/doas.conf /etc/pam.d/** /etc/security/** /etc/passwd "
        "/etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid /etc/ssh/** ~/.ssh/** "
        "/etc/polkit-1/** /usr/share/polkit-1/** /etc/ld.so.preload /etc/ld.so.conf "
        "/etc/ld.so.conf.d/** /etc/nsswitch.conf /etc/hosts /etc/resolv.conf /etc/hosts.equiv "
        "/etc/apparmor.d/** /etc/selinux/** /etc/shells /etc/alternatives/** ~/.rhosts "
        "~/.netrc ~/.gnupg/** /etc/ssl/** /usr/local/share/ca-certificates/** /etc/docker/** "
        "/etc/cloche/** ~/.config/cloche/**",
        kScript},
    TriggerClass{
        "package-manager", "Hooks and sources of the system's package manager, which runs as root.",
        "/etc/apt/** /etc/dpkg/** /var/lib/dpkg/info/* /etc/yum.repos.d/** /etc/yum/** /etc/dnf/** "
        "/etc/pacman.conf /etc/pacman.d/** /etc/apk/** /etc/zypp/** /usr/share/libalpm/**",
        kScript},
    TriggerClass{
        "autostart", "Started with the desktop session, or by a click on its name.",
        "~/.config/autostart/** /etc/xdg/autostart/** ~/.local/share/applications/** "
        "/usr/share/applications/** /usr/local/share/applications/** "
        "~/.local/share/dbus-1/** /usr/share/dbus-1/** /etc/dbus-1/** "
        "~/.config/plasma-workspace/** ~/.config/mimeapps.list ~/.local/share/gnome-shell/**",
        kKeys, kIni, "*exec *tryexec *hidden *autostart* *systemdservice *.user *.*/*"},

    TriggerClass{
        "bin-directory", "Commands are looked for here: the file may run under a name that is typed "
        "every day.",
        "~/bin/** ~/.local/bin/** ~/.cargo/bin/** ~/go/bin/** ~/.npm-global/bin/** ~/.bun/bin/** "
        "~/.deno/bin/** ~/.pyenv/shims/** ~/.pyenv/bin/** ~/.rbenv/shims/** ~/.asdf/shims/** "
        "~/.local/share/mise/shims/** ~/.nvm/versions/*/*/bin/** ~/.volta/bin/** "
        "~/.local/share/pnpm/* ~/.dotnet/tools/** ~/.krew/bin/** ~/.composer/vendor/bin/** "
        "/usr/local/bin/** /usr/local/sbin/** /usr/bin/** /usr/sbin/** /bin/** /sbin/** "
        "/opt/*/bin/** /usr/games/** /snap/bin/** /usr/libexec/** **/node_modules/.bin/** "
        "**/venv/bin/** **/.venv/bin/** **/env/bin/** **/.tox/*/bin/** **/.bin/** "
        "**/vendor/bin/** **/venv/Scripts/** **/.venv/Scripts/**",
        kBinDirectory},
    TriggerClass{
        "python-environment", "Says which interpreter an environment runs.",
        "**/pyvenv.cfg", kKeys, kIni,
        "home executable command include-system-site-packages base-*"},
    TriggerClass{
        "python-path-file", "Lines that Python executes at every start.",
        "**/*.pth", kPathFile},
    TriggerClass{
        "python-startup", "Python imports it at every start.",
        "**/sitecustomize.py **/usercustomize.py **/site.py", kScript},
    TriggerClass{
        "executable", "The kernel runs this file when its name is given.",
        "**", kExecutable},
    TriggerClass{
        "unseen", "Characters that reorder or hide what people read.",
        "**", kUnseen},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> TriggerTable() { return kTable; }

std::string_view JudgeText(Judge judge) {
  switch (judge) {
    case kKeys:
      return "a new value of one of its keys";
    case kScript:
      return "any line but comments, new, gone or moved";
    case kLiteralCode:
      return "a new line but comments, literals and names with versions";
    case kToolCode:
      return "a new line that starts a process, speaks to the network or evaluates text";
    case kMake:
      return "a new recipe line, `$(shell)`, include, or value of a variable that names a command";
    case kCMake:
      return "a new call that runs or fetches something; versions are data";
    case kDocker:
      return "a new instruction that runs or fetches something, another image";
    case kLock:
      return "a new source; a checksum that is gone, or differs for the same version";
    case kGitAttributes:
      return "a driver or filter that git does not have itself";
    case kGitLink:
      return "a new repository below the project; a `.git` that is a file or a link";
    case kPathFile:
      return "a new line that begins with `import`";
    case kBinDirectory:
      return "a new or changed executable file or link";
    case kAny:
      return "any change";
    case kNotice:
      return "never";
    case kExecutable:
      return "a binary program, another interpreter, the name of a common command, setuid";
    case kUnseen:
      return "a new line or name with bidirectional or invisible characters; a name taken for "
             "`.git`";
  }
  return "";
}

}  // namespace cloche::promote
