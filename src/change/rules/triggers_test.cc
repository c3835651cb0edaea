#include "change/rules/triggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "change/rules/glob.h"

namespace cloche::rules {
namespace {

using change::FileType;

constexpr Roots kRoots{.project = "/h/u/app", .home = "/h/u"};

std::string Absolute(std::string_view path) {
  return (path.starts_with('/') ? "" : "/h/u/app/") + std::string(path);
}

const Trigger* Of(const std::vector<Trigger>& triggers, std::string_view id) {
  const auto it = std::ranges::find(triggers, id, &Trigger::id);
  return it == triggers.end() ? nullptr : &*it;
}

// One class: a file, a change that runs something, and an everyday change.
struct Case {
  std::string_view id;
  std::string_view path;
  std::string_view before;
  std::string_view alarming;
  std::string_view calm;
  uint32_t mode = 0644;
};

constexpr Case kCases[] = {
    {"git-hooks", ".git/hooks/pre-commit", "make lint", "make lint\nid", "# why\nmake lint"},
    {"git-config", ".git/config", "[core]\nbare = false", "[core]\nhooksPath = x",
     "[core]\nbare = true"},
    {"git-attributes", ".gitattributes", "* text", "* text\n*.c merge=x", "* text\n*.c diff=cpp"},
    {"git-packed-refs", ".git/packed-refs", "1 refs/heads/a", "1 refs/heads/a\n2 refs/replace/3",
     "2 refs/heads/a"},
    {"cmake-cache", "b/CMakeCache.txt", "A:STRING=1", "A:STRING=2", "\nA:STRING=1"},
    {"configure", "configure", "echo a", "id", "# x\necho a"},
    {"agent-commands", ".claude/commands/a.md", "a", "a\n!`id`", "a\nb"},
    {"python-shadow", "pip.py", "a = 1", "id()", "# x\na = 1"},
    {"other-tools", "Tupfile", "a", "b", "\na"},
    {"other-tools-code", "duties.py", "a = 1", "os.system('id')", "a = 2"},
    {"other-tools-yaml", "moon.yml", "language: a", "tasks:\n  a:\n    command: id", "language: b"},
    {"other-tools-json", ".arcconfig", R"({"a": 1})", R"({"load": ["x"]})", R"({"a": 2})"},
    {"other-tools-toml", "poe_tasks.toml", "a = 1", "[tasks]\na = \"id\"", "a = 2"},
    {"other-tools-ini", "platformio.ini", "[env]\nboard = a", "[env]\nextra_scripts = x",
     "[env]\nboard = b"},
    {"git-modules", ".gitmodules", "[submodule \"a\"]\nurl = b", "[submodule \"a\"]\nurl = c",
     "[submodule \"a\"]\nurl = b\nbranch = main"},
    {"ci-github", ".github/workflows/a.yml", "jobs:\n  a:\n    steps:\n    - run: make",
     "jobs:\n  a:\n    steps:\n    - run: make x",
     "jobs:\n  a:\n    name: A\n    steps:\n    - run: make"},
    {"ci-gitlab", ".gitlab-ci.yml", "a:\n  script: make", "a:\n  script: id",
     "a:\n  stage: x\n  script: make"},
    {"ci-circle", ".circleci/config.yml", "version: 2", "orbs:\n  x: evil/x@1", "version: 2.1"},
    {"ci-azure", "azure-pipelines.yml", "trigger: a", "steps:\n- pwsh: id", "trigger: b"},
    {"ci-buildkite", ".buildkite/pipeline.yml", "steps:\n- command: a", "steps:\n- command: b",
     "steps:\n- label: x\n  command: a"},
    {"ci-drone", ".drone.yml", "kind: pipeline", "steps:\n- commands: [id]",
     "kind: pipeline\na: b"},
    {"ci-jenkins", "Jenkinsfile", "agent any", "agent any\nsh 'id'", "agent any\n// x"},
    {"ci-other", ".travis.yml", "language: go", "language: go\nscript: id", "language: c"},
    {"ci-scripts", ".github/scripts/a.sh", "make", "id", "make\n# x"},
    {"commit-checks", ".pre-commit-config.yaml", "repos:\n- repo: a\n  rev: 1",
     "repos:\n- repo: b\n  rev: 1", "repos:\n- repo: a\n  rev: 2"},
    {"package-json", "package.json", R"({"version": "1"})", R"({"scripts": {"prepare": "id"}})",
     R"({"version": "2"})"},
    {"package-settings", ".npmrc", "save-exact=true", "script-shell=./x", "save-exact=false"},
    {"package-settings-yaml", ".yarnrc.yml", "nodeLinker: pnp", "yarnPath: ./x",
     "nodeLinker: node-modules"},
    {"package-hooks", ".pnpmfile.cjs", "module.exports = {}", "require('x')",
     "// none\nmodule.exports = {}"},
    {"python-setup", "setup.py", "setup(\n  version='1',\n)", "setup(\n  version=f(),\n)",
     "setup(\n  version='2',\n)"},
    {"python-setup-cfg", "setup.cfg", "[metadata]\nversion = 1",
     "[options.entry_points]\nconsole_scripts =\n  a = b:c", "[metadata]\nversion = 2"},
    {"python-project", "pyproject.toml", "[project]\nversion = \"1\"",
     "[project.scripts]\nls = \"a:b\"", "[project]\nversion = \"2\""},
    {"rust-build-script", "build.rs", "fn main() {}", "fn main() { x(); }", "// x\nfn main() {}"},
    {"rust-manifest", "Cargo.toml", "[dependencies]\na = \"1\"",
     "[dependencies]\na = { git = \"https://x.example/a\" }", "[dependencies]\na = \"2\""},
    {"rust-settings", ".cargo/config.toml", "[build]\njobs = 1", "[build]\nrustc-wrapper = \"x\"",
     "[build]\njobs = 2"},
    {"ruby-packages", "Gemfile", "gem 'a', '1'", "gem 'a', path: '/tmp'", "gem 'a', '2'"},
    {"php-packages", "composer.json", "{}", R"({"scripts": {"post-update-cmd": "id"}})",
     R"({"require": {"a/b": "^1"}})"},
    {"lock-sources", "poetry.lock",
     "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = [\n  {file = \"a\", hash = \"x\"},\n]",
     "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = [\n  {file = \"a\", hash = \"y\"},\n]",
     "[[package]]\nname = \"a\"\nversion = \"2\"\nfiles = [\n  {file = \"a\", hash = \"y\"},\n]"},
    {"make", "Makefile", "S = a.c", "S = a.c\nall:\n\tid", "S = a.c b.c"},
    {"cmake", "CMakeLists.txt", "add_library(a a.cc)", "add_custom_target(a ALL COMMAND id)",
     "add_library(a a.cc b.cc)"},
    {"cmake-presets", "CMakePresets.json", R"({"version": 6})",
     R"({"configurePresets": [{"environment": {"PATH": "x"}}]})", R"({"version": 7})"},
    {"task-runner", "Taskfile.yml", "version: 3", "tasks:\n  a:\n    cmds: [id]",
     "version: '3'\na: b"},
    {"task-runner-json", "deno.json", "{}", R"({"tasks": {"a": "id"}})", R"({"fmt": {}, "v": 1})"},
    {"test-runner", "tox.ini", "[tox]\nenvlist = a", "[testenv]\ncommands = id",
     "[tox]\nenvlist = a, b"},
    {"bazel", "BUILD", "cc_library(name = 'a')", "genrule(name = 'a')", "cc_library(name = 'b')"},
    {"bazel-settings", ".bazelrc", "build -c opt", "build --run_under=./x", "# x\nbuild -c opt"},
    {"gradle", "build.gradle", "implementation 'a:b:1'", "apply from: 'x.gradle'",
     "implementation 'a:b:2'"},
    {"gradle-properties", "gradle.properties", "a=1", "org.gradle.jvmargs=-javaagent:x.jar", "a=2"},
    {"maven", "pom.xml", "<project><version>1</version></project>",
     "<project><repositories><repository><url>x</url></repository></repositories></project>",
     "<project><version>2</version></project>"},
    {"container-build", "Dockerfile", "FROM a:1", "FROM evil/a:1", "FROM a:2"},
    {"container-compose", "compose.yaml", "services:\n  a:\n    image: b:1",
     "services:\n  a:\n    image: b:1\n    volumes: [/:/host]", "services:\n  a:\n    image: b:2"},
    {"tool-code", "meson.build", "project('a')", "run_command('id')", "project('b')"},
    {"vscode-tasks", ".vscode/tasks.json", R"({"version": "2"})",
     R"({"tasks": [{"command": "id"}]})", R"({"version": "3"})"},
    {"vscode-settings", ".vscode/settings.json", "{}",
     R"({"terminal.integrated.profiles.linux": {"x": 1}})", R"({"editor.tabSize": 2})"},
    {"idea", ".run/a.xml", "<a/>", "<b/>", "<a/>\n"},
    {"devcontainer", ".devcontainer/devcontainer.json", R"({"image": "a:1"})",
     R"({"image": "a:1", "runArgs": ["--privileged"]})", R"({"image": "a:2"})"},
    {"devcontainer-scripts", ".devcontainer/setup.sh", "a", "b", "a\n# b"},
    {"agent-settings", ".claude/settings.json", R"({"theme": "a"})",
     R"({"permissions": {"allow": ["Bash"]}})", R"({"theme": "b"})"},
    {"agent-settings-toml", ".codex/config.toml", "model = \"a\"", "notify = [\"sh\"]",
     "model = \"b\""},
    {"agent-settings-yaml", ".aider.conf.yml", "model: a", "test-cmd: id", "model: b"},
    {"agent-scripts", ".claude/hooks/a.sh", "a", "b", "# x\na"},
    {"cloche-settings", "dotfiles/cloche/config.toml", "[sandbox]",
     "[sandbox]\nallow = [\"*:443\"]", "# mine\n[sandbox]"},
    {"direnv", ".envrc", "use nix", "use nix\nid", "use nix\n# x"},
    {"env-file", ".env", "PORT=1", "LD_PRELOAD=./x.so", "PORT=2"},
    {"tool-versions", ".tool-versions", "node 18", "node path:x", "node 20"},
    {"mise", "mise.toml", "[tools]\nnode = \"18\"", "[tasks.a]\nrun = \"id\"",
     "[tools]\nnode = \"20\""},
    {"shell-startup", "/h/u/.zshrc", "alias a=b", "alias a=c", "# x\nalias a=b"},
    {"program-startup", "/h/u/.tmux.conf", "set -g a b", "run-shell id", "set -g a b\n# x"},
    {"cron", "/etc/crontab", "# a", "* * * * * root id", "# b"},
    {"systemd", "/etc/systemd/system/a.service", "[Unit]\nDescription=a", "[Service]\nExecStart=/x",
     "[Unit]\nDescription=b"},
    {"boot-scripts", "/etc/rc.local", "exit 0", "id", "# x\nexit 0"},
    {"access", "/etc/sudoers.d/a", "# a", "u ALL=(ALL) NOPASSWD: ALL", "# b"},
    {"package-manager", "/etc/apt/apt.conf.d/99x", "# a", "DPkg::Pre-Invoke {\"id\"};", "# b"},
    {"autostart", "/h/u/.config/autostart/a.desktop", "[Desktop Entry]\nName=a",
     "[Desktop Entry]\nExec=id", "[Desktop Entry]\nName=b"},
    {"python-environment", "venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11",
     "home = /tmp\nversion = 3.11", "home = /usr/bin\nversion = 3.11.2"},
    {"python-path-file", "a.pth", "lib", "import x", "lib2"},
    {"python-startup", "sitecustomize.py", "pass", "import x", "# x\npass"},
    {"git-todo", ".git/rebase-merge/git-rebase-todo", "pick 1 a", "pick 1 a\nexec id",
     "# x\npick 1 a"},
    {"mercurial", ".hg/hgrc", "[format]\na = 1", "[hooks]\nupdate = id", "[format]\na = 2"},
    {"jujutsu", ".jj/repo/config.toml", "[user]\nname = \"a\"", "[aliases]\nx = [\"util\"]",
     "[user]\nname = \"b\""},
    {"ci-toml", "netlify.toml", "[[redirects]]\nfrom = \"/a\"", "[build]\ncommand = \"id\"",
     "[[redirects]]\nfrom = \"/b\""},
    {"commit-check-scripts", ".lefthook/pre-push/a.sh", "a", "b", "# x\na"},
    {"commit-checks-toml", "lefthook.toml", "min_version = \"1\"",
     "[pre-commit.commands.a]\nrun = \"id\"", "min_version = \"2\""},
    {"commit-checks-json", "captainhook.json", R"({"pre-push": {"enabled": true}})",
     R"({"pre-push": {"actions": [{"action": "id"}]}})", R"({"pre-push": {"enabled": false}})"},
    {"package-settings-toml", "bunfig.toml", "[install]\nexact = true", "preload = [\"./x.ts\"]",
     "[install]\nexact = false"},
    {"nuget", "nuget.config", "<configuration><a>1</a></configuration>",
     "<configuration><packageSources><add key=\"a\" value=\"x\"/></packageSources></configuration>",
     "<configuration><a>2</a></configuration>"},
    {"php-startup", ".user.ini", "memory_limit = 1", "auto_prepend_file = x.php",
     "memory_limit = 2"},
    {"swift-package", "Package.swift", "name: \"a\",", "name: \"a\",\nlet x = Process()",
     "name: \"b\","},
    {"dotnet", "app.csproj", "<Project><Version>1</Version></Project>",
     "<Project><Target Name=\"a\"><Exec Command=\"id\"/></Target></Project>",
     "<Project><Version>2</Version></Project>"},
    {"dotnet-files", "Directory.Build.rsp", "-m", "-m\n-logger:x.dll", "# x\n-m"},
    {"dotnet-settings", "global.json", R"({"sdk": {"version": "8"}})",
     R"({"msbuild-sdks": {"x": "1"}})", R"({"sdk": {"version": "9"}})"},
    {"task-runner-toml", ".air.toml", "root = \".\"", "[build]\ncmd = \"id\"", "root = \"a\""},
    {"test-runner-toml", "tox.toml", "min_version = \"4\"", "[env.x]\ncommands = [[\"id\"]]",
     "min_version = \"5\""},
    {"lint-yaml", ".rubocop.yml", "AllCops:\n  NewCops: enable", "require: ./evil",
     "AllCops:\n  NewCops: disable"},
    {"lint-json", ".eslintrc.json", R"({"root": true})", R"({"plugins": ["x"]})",
     R"({"root": false})"},
    {"lint-xml", "phpunit.xml", "<phpunit colors=\"true\"/>", "<phpunit bootstrap=\"x.php\"/>",
     "<phpunit colors=\"false\"/>"},
    {"infrastructure", "main.tf", "name = \"a\"", "provisioner \"local-exec\" {", "name = \"b\""},
    {"project-startup", ".pdbrc", "a", "b", "# x\na"},
    {"helix", ".helix/languages.toml", "[[language]]\nname = \"a\"",
     "[language-server.x]\ncommand = \"id\"", "[[language]]\nname = \"b\""},
    {"mise-tasks", "mise-tasks/a", "a", "b", "# x\na"},
    {"language-startup", "/h/u/.irbrc", "a", "b", "# x\na"},
    {"database-startup", "/h/u/.psqlrc", "\\set a b", "\\! id", "\\set a b\n# x"},
    {"cloud-startup", "/h/u/.aws/config", "[default]", "credential_process = id", "[default]\n# x"},
    {"mail-startup", "/h/u/.forward", "a@b", "|id", "# x\na@b"},
    {"desktop-startup", "/h/u/.config/i3/config", "set $a b", "exec id", "# x\nset $a b"},
    {"systemd-programs", "/etc/systemd/system-generators/a", "[Unit]\nDescription=1",
     "[Unit]\nDescription=2", "# x\n[Unit]\nDescription=1"},
    {"venv-activate", "venv/bin/activate", "a", "b", "# x\na"},
    {"executable", "a.sh", "#!/bin/sh\na", "#!/tmp/sh\na", "#!/bin/sh\nb", 0755},
    {"unseen", "a.c", "int a;", "int a\u202e;", "int ä;"},
};

// Judged by more than content; each has its own test below.
const std::set<std::string_view> kOthers = {"git-redirect",       "git-nested",    "build-wrapper",
                                            "agent-instructions", "bin-directory", "compiled-code",
                                            "named-script"};

TEST(Triggers, EachClassTellsACommandFromAnEverydayEdit) {
  std::set<std::string_view> covered = kOthers;
  for (const Case& each : kCases) {
    covered.insert(each.id);
    const std::string path = Absolute(each.path);
    FileChange change{.path = path,
                      .before = Version{.mode = each.mode, .content = each.before},
                      .after = Version{.mode = each.mode, .content = each.alarming}};
    const auto alarming = FindTriggers(change, kRoots);
    ASSERT_NE(Of(alarming, each.id), nullptr) << each.id;
    EXPECT_EQ(Of(alarming, each.id)->severity, Severity::kAlarm) << each.id;
    EXPECT_FALSE(Of(alarming, each.id)->effective.empty()) << each.id;
    change.after->content = each.calm;
    for (const Trigger& trigger : FindTriggers(change, kRoots))
      EXPECT_EQ(trigger.severity, Severity::kNotice)
          << each.id << ": " << (trigger.effective.empty() ? "" : trigger.effective.front());
    // Unreadable content is not taken as harmless.
    change.after->content = std::nullopt;
    const auto unread = FindTriggers(change, kRoots);
    if (each.id != "unseen") {
      EXPECT_EQ(Of(unread, each.id)->severity, Severity::kAlarm) << each.id;
    }
    change.after = std::nullopt;
    for (const Trigger& trigger : FindTriggers(change, kRoots))
      EXPECT_EQ(trigger.severity, Severity::kNotice) << each.id;
  }
  for (const TriggerClass& each : TriggerTable())
    EXPECT_TRUE(covered.contains(each.id)) << each.id << " has no test";
}

std::vector<Trigger> Added(std::string_view path, std::string_view content, uint32_t mode = 0644,
                           FileType type = FileType::kFile) {
  const std::string absolute = Absolute(path);
  return FindTriggers(
      {.path = absolute, .after = Version{.type = type, .mode = mode, .content = content}}, kRoots);
}

bool Alarms(const std::vector<Trigger>& triggers) {
  return !triggers.empty() && triggers.front().severity == Severity::kAlarm;
}

TEST(Triggers, NestedRepositoriesAndGitLinksAreAlarms) {
  EXPECT_TRUE(Alarms(Added(".git/objects/info/alternates", "/x")));
  EXPECT_TRUE(Alarms(Added("lib/.git", "", 0755, FileType::kDirectory)));
  EXPECT_TRUE(Alarms(Added(".git", "gitdir: /x")));
  EXPECT_TRUE(Alarms(Added(".git", "/x", 0777, FileType::kSymlink)));
  EXPECT_TRUE(Alarms(Added("bare/HEAD", "ref: refs/heads/main\n")));
  EXPECT_TRUE(Added(".git", "", 0755, FileType::kDirectory).empty());
  EXPECT_TRUE(Added(".git/refs/remotes/origin/HEAD", "ref: x").empty());
  EXPECT_TRUE(Added("docs/HEAD", "Chapter one").empty());
}

TEST(Triggers, AHeadIsRecognizedAsGitDoes) {
  // setup.c, is_git_directory: skips blanks, ignores what follows, counts links.
  for (const char* head :
       {"ref:refs/heads/x\n", "ref:\t refs/heads/x\n", "ref:\n\nrefs/heads/x\n",
        "ref: refs/heads/x and more", "ABCDEF0123abcdef0123ABCDEF0123abcdef0123\n",
        "abcdef0123abcdef0123abcdef0123abcdef0123 and more\n"})
    EXPECT_TRUE(Alarms(Added("bare/HEAD", head))) << head;
  EXPECT_TRUE(Alarms(Added("bare/HEAD", "refs/heads/x", 0777, FileType::kSymlink)));
  // A directory may have any name, even that of one in .git.
  EXPECT_TRUE(Alarms(Added("a/refs/HEAD", "ref: refs/heads/x\n")));
  EXPECT_TRUE(Alarms(Added("a/logs/HEAD", "ref: refs/heads/x\n")));
  // A first promotion may bring a file that a second one turns into a repository.
  const std::string path = Absolute("bare/HEAD");
  EXPECT_TRUE(Alarms(FindTriggers({.path = path,
                                   .before = Version{.content = "Chapter one"},
                                   .after = Version{.content = "ref: refs/heads/x\n"}},
                                  kRoots)));
  EXPECT_TRUE(FindTriggers({.path = path,
                            .before = Version{.content = "ref: refs/heads/x\n"},
                            .after = Version{.content = "ref: refs/heads/y\n"}},
                           kRoots)
                  .empty());
  EXPECT_TRUE(Added("docs/HEAD", "../x", 0777, FileType::kSymlink).empty());
  EXPECT_TRUE(Added("docs/HEAD", "abcdef").empty());
}

TEST(Triggers, BuildWrappersAreProgramsWhateverTheyContain) {
  EXPECT_TRUE(Alarms(Added("gradle/wrapper/gradle-wrapper.jar", std::string_view("PK\0\0", 4))));
  EXPECT_TRUE(Alarms(Added("mvnw", "#!/bin/sh")));
}

TEST(Triggers, AFileThatReplacesAHiddenOneIsShownAsNew) {
  const std::string path = Absolute(".env");
  const auto triggers = FindTriggers(
      {.path = path, .before = Version{}, .after = Version{.content = "NODE_OPTIONS=--require=x"}},
      kRoots);
  ASSERT_TRUE(Alarms(triggers));
  ASSERT_EQ(triggers[0].effective.size(), 2u);
  EXPECT_NE(triggers[0].effective[0].find("hidden"), std::string::npos);
  EXPECT_NE(triggers[0].effective[1].find("NODE_OPTIONS"), std::string::npos);
}

TEST(Triggers, InstructionsForAgentsAreShownWithoutAnAlarm) {
  for (const char* path : {"AGENTS.md", "sub/CLAUDE.md", ".claude/commands/x.md"}) {
    const auto triggers = Added(path, "Run make.");
    ASSERT_NE(Of(triggers, "agent-instructions"), nullptr) << path;
    EXPECT_FALSE(Alarms(triggers)) << path;
  }
}

TEST(Triggers, CompiledCodeIsAnAlarmUnlessABuildMadeIt) {
  for (const char* path : {"a/__pycache__/b.cpython-311.pyc", "lib/x.so", "x.so.1", "x.class",
                           "libs/x.jar", "node_modules/x/y.node", "/h/u/.zshrc.zwc"})
    EXPECT_TRUE(Alarms(Added(path, "anything"))) << path;
  for (const char* path : {"build/lib/x.so", "target/classes/x.class", "cmake-build-debug/x.so"})
    EXPECT_FALSE(Alarms(Added(path, "anything"))) << path;
  // A file that the kernel executes is an alarm wherever it is.
  EXPECT_TRUE(Alarms(Added("build/x.so",
                           "\x7f"
                           "ELF",
                           0755)));
}

TEST(Triggers, CommandsInPathDirectoriesAreAlarms) {
  EXPECT_TRUE(Alarms(Added("/h/u/.local/bin/mytool", "#!/bin/sh", 0755)));
  EXPECT_TRUE(Alarms(Added("/h/u/bin/mytool", "/tmp/x", 0777, FileType::kSymlink)));
  EXPECT_TRUE(Alarms(Added("node_modules/.bin/tsc", "x", 0755)));
  EXPECT_FALSE(Alarms(Added("/h/u/.local/bin/notes.txt", "x")));
}

TEST(Triggers, NewExecutableFilesAreReported) {
  EXPECT_TRUE(Alarms(Added("tool",
                           "\x7f"
                           "ELF",
                           0755)));
  EXPECT_TRUE(Alarms(Added("x/sudo", "#!/bin/sh", 0755)));
  EXPECT_TRUE(Alarms(Added("x", "#!/bin/sh", 04755)));
  const auto script = Added("run.sh", "#!/bin/sh", 0755);
  ASSERT_EQ(script.size(), 1u);
  EXPECT_EQ(script[0].severity, Severity::kNotice);
  EXPECT_TRUE(Added("run.sh", "#!/bin/sh", 0644).empty());
  // Only an executable bit.
  const std::string_view text = "data";
  const FileChange chmod{.path = "/h/u/app/data",
                         .before = Version{.mode = 0644, .content = text},
                         .after = Version{.mode = 0755, .content = text}};
  const auto triggers = FindTriggers(chmod, kRoots);
  ASSERT_EQ(triggers.size(), 1u);
  EXPECT_EQ(triggers[0].id, "executable");
}

TEST(Triggers, ALinkInPlaceOfATriggerFileIsAnAlarm) {
  const FileChange change{.path = "/h/u/app/Makefile",
                          .before = Version{.content = "a:\n"},
                          .after = Version{.type = FileType::kSymlink, .content = "/tmp/x"}};
  const auto triggers = FindTriggers(change, kRoots);
  EXPECT_TRUE(Alarms(triggers));
  EXPECT_EQ(triggers[0].effective, std::vector<std::string>{"a link to /tmp/x"});
}

TEST(Triggers, CaseAndPlaceDoNotMatter) {
  EXPECT_TRUE(Alarms(Added("Sub/PACKAGE.json", R"({"scripts": {"a": "b"}})")));
  EXPECT_TRUE(Alarms(Added(".GIT/hooks/update", "id")));
  EXPECT_TRUE(Alarms(Added("git~1/config", "x")));
  EXPECT_TRUE(Alarms(Added("/h/u/other/.git/hooks/pre-push", "id")));
  EXPECT_TRUE(Alarms(Added("/opt/x/.envrc", "id")));
  // Shells do not read a project's .bashrc.
  EXPECT_TRUE(Added(".bashrc", "alias a=b").empty());
}

TEST(Triggers, RemovedAndMovedLinesOfScriptsCount) {
  const auto judge = [](std::string_view before, std::string_view after) {
    return FindTriggers({.path = "/h/u/.bashrc",
                         .before = Version{.content = before},
                         .after = Version{.content = after}},
                        kRoots);
  };
  EXPECT_EQ(judge("a\nb\n", "a\n").at(0).effective, std::vector<std::string>{"- b"});
  EXPECT_TRUE(Alarms(judge("a\nb\n", "b\na\n")));
  EXPECT_FALSE(Alarms(judge("a\nb\n", "a\n\n  b\n")));
}

TEST(Triggers, NothingIsCutOffSilently) {
  std::string text;
  for (size_t i = 0; i < kMaxEffective + 7; ++i) text += "line " + std::to_string(i) + "\n";
  text += std::string(5000, 'x');
  const auto triggers = Added(".envrc", text);
  EXPECT_EQ(triggers.at(0).effective.size(), kMaxEffective);
  EXPECT_EQ(triggers.at(0).left_out, 8u);
  const auto longer = Added(".envrc", std::string(5000, 'x'));
  EXPECT_TRUE(longer.at(0).effective.at(0).ends_with("..."));
}

TEST(Triggers, DeepNestingIsAnAlarmNotACrash) {
  EXPECT_TRUE(Alarms(Added("package.json", std::string(1'000'000, '['))));
  EXPECT_TRUE(Alarms(Added(".codex/config.toml", "a = " + std::string(100'000, '{'))));
}

TEST(Glob, StarsMatchWithinAndAcrossDirectories) {
  EXPECT_TRUE(GlobMatches("**/Makefile", "Makefile"));
  EXPECT_TRUE(GlobMatches("**/Makefile", "a/b/makefile"));
  EXPECT_FALSE(GlobMatches("**/Makefile", "a/xMakefile"));
  EXPECT_TRUE(GlobMatches("lib/**/*.py", "lib/a.py"));
  EXPECT_TRUE(GlobMatches("lib/**/*.py", "lib/b/c/a.py"));
  EXPECT_FALSE(GlobMatches("lib/**/*.py", "lib/b/c/a.pyc"));
  EXPECT_FALSE(GlobMatches("lib/*.py", "lib/b/a.py"));
  EXPECT_TRUE(GlobMatches(".git/**", ".git/a/b"));
  EXPECT_FALSE(GlobMatches(".git/**", ".gitx"));
  EXPECT_TRUE(GlobMatches("a?c", "abc"));
  EXPECT_FALSE(GlobMatches("a?c", "a/c"));
  EXPECT_TRUE(GlobMatches("**/.git/**/hooks/**", ".git/modules/x/hooks/y"));
  EXPECT_FALSE(GlobMatches(std::string(200, '*') + "b", std::string(20'000, 'a')));
}

}  // namespace
}  // namespace cloche::rules
