#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "change/rules/triggers.h"

// Files, keys and values from attempted attacks, or that readers of the table asked for by name.
namespace cloche::rules {
namespace {

struct Named {
  std::string_view path;
  std::string_view before;
  std::string_view after;
};

constexpr Named kAlarms[] = {
    {".helix/languages.toml", "", "[language-server.x]\ncommand = \"id\""},
    {".helix/config.toml", "", "[keys.normal]\nx = \":sh id\""},
    {".vim/coc-settings.json", "{}", R"({"languageserver": {"x": {"command": "id"}}})"},
    {"pylintrc", "[MASTER]\njobs=1", "[MASTER]\ninit-hook='import os'"},
    {".pylintrc", "[MASTER]\njobs=1", "[MASTER]\nload-plugins=evil"},
    {".flake8", "[flake8]\na = 1", "[flake8:local-plugins]\nextension =\n  X = evil:Y"},
    {"mypy.ini", "[mypy]\nstrict = true", "[mypy]\nplugins = ./evil.py"},
    {"setup.cfg", "[mypy]\nstrict = true", "[mypy]\nplugins = evil"},
    {"setup.cfg", "[tool:pytest]\naddopts = -q", "[tool:pytest]\naddopts = -q -p evil"},
    {"bunfig.toml", "", "preload = [\"./evil.ts\"]"},
    {"bunfig.toml", "", "[test]\npreload = [\"./evil.ts\"]"},
    {"Package.swift", "", "let evil = try! Process.run(url, arguments: [])"},
    {"src/app.csproj", "<Project/>", "<Project><Target><Exec Command=\"id\"/></Target></Project>"},
    {"Directory.Build.props", "<Project/>",
     "<Project><Import Project=\"evil.targets\"/></Project>"},
    {"Directory.Build.targets", "<Project/>",
     "<Project><UsingTask TaskName=\"a\" AssemblyFile=\"evil.dll\"/></Project>"},
    {"Directory.Build.rsp", "", "-logger:evil.dll"},
    {"lefthook-local.yml", "", "pre-commit:\n  commands:\n    a:\n      run: id"},
    {".lefthook-local/pre-commit/a.sh", "", "id"},
    {".air.toml", "", "[build]\ncmd = \"id\""},
    {"Makefile.toml", "", "[tasks.build]\ncommand = \"id\""},
    {".pdbrc", "", "import os"},
    {"sphinx/conf.py", "project = 'a'", "project = 'a'\nimport subprocess"},
    {"main.tf", "", "provisioner \"local-exec\" {\n  command = \"id\"\n}"},
    {"terragrunt.hcl", "", "before_hook \"x\" {\n}"},
    {".git/rebase-merge/git-rebase-todo", "pick 1", "pick 1\nexec id"},
    {".git/rebase-apply/author-script", "", "GIT_AUTHOR_NAME='a'; id"},
    {".git/sequencer/todo", "", "exec id"},
    {".git/config", "", "[gpg \"ssh\"]\ndefaultKeyCommand = id"},
    {".git/config", "", "[lfs \"customtransfer.x\"]\npath = id"},
    {".git/config", "", "[http]\nsslCAInfo = /tmp/ca"},
    {".git/config", "", "[http]\nsslCAPath = /tmp/ca"},
    {".git/config", "", "[http \"https://x.example\"]\nsslCert = /tmp/c"},
    {".git/config", "", "[branch \"main\"]\nremote = https://evil.example/x"},
    {".git/config", "", "[branch \"main\"]\nremote = ../evil"},
    {".git/config", "", "[branch \"main\"]\nremote = host:evil"},
    {".git/config", "", "[gc]\nrecentObjectsHook = id"},
    // An alias may start with git options, and its command may name programs.
    {".git/config", "", "[alias]\nst = -c core.fsmonitor=id status"},
    {".git/config", "", "[alias]\ns = grep -Oid x"},
    {".git/config", "", "[alias]\nup = fetch --upload-pack=id"},
    {".git/config", "", "[svn]\nauthorsProg = id"},
    {".git/modules/lib/commondir", "", "../../../evil"},
    {"lib.git/commondir", "", "../evil"},
    {".hg/hgrc", "", "[alias]\nst = status --config hooks.pre-status=id"},
    {".lfsconfig", "", "[lfs]\nurl = https://evil.example"},
    {"pytest.ini", "[pytest]\naddopts = -q", "[pytest]\naddopts = -q -p evil"},
    {"pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = \"-p evil\""},
    {"pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\"-p\", \"good\"]",
     "[tool.pytest.ini_options]\naddopts = [\"-p\", \"evil\"]"},
    {"pyproject.toml", "", "[tool.pylint.main]\ninit-hook = \"import os\""},
    {"pyproject.toml", "", "[tool.mypy]\nplugins = [\"./evil.py\"]"},
    {"package.json", "{}", R"({"dependencies": {"x": "npm:evil@1"}})"},
    {"package.json", "{}", R"({"overrides": {"x": "npm:evil@1"}})"},
    {"package.json", "{}", R"({"jest": {"globalSetup": "./evil.js"}})"},
    {"package.json", "{}", R"({"eslintConfig": {"plugins": ["evil"]}})"},
    {"jest.config.json", "{}", R"({"globalSetup": "./evil.js"})"},
    {"jest.config.js", "module.exports = {\n};",
     "module.exports = {\nglobalSetup: './evil.js',\n};"},
    {"jest.config.ts", "export default {\n};", "export default {\nglobalTeardown: './evil',\n};"},
    {"vitest.config.ts", "", "export default { test: { setupFiles: ['./evil.ts'] } }"},
    {"jest.config.mjs", "", "export default { setupFilesAfterEnv: ['./evil.js'] }"},
    {"evil.podspec", "", "Pod::Spec.new do |s|\n s.prepare_command = 'id'\nend"},
    {"evil.podspec", "", "Pod::Spec.new do |s|\n s.script_phase = { :script => 'id' }\nend"},
    {".mocharc.json", "{}", R"({"require": "./evil.js"})"},
    {".mocharc.yml", "", "require: ./evil.js"},
    {".babelrc", "{}", R"({"plugins": ["./evil.js"]})"},
    {".prettierrc", "{}", R"({"plugins": ["./evil.js"]})"},
    {"CMakePresets.json", "{}",
     R"({"configurePresets": [{"cacheVariables": {"CMAKE_CXX_COMPILER_LAUNCHER": "id"}}]})"},
    {"CMakePresets.json", "{}",
     R"({"configurePresets": [{"cacheVariables": {"CMAKE_CXX_FLAGS": "-fplugin=./x.so"}}]})"},
    {"CMakeLists.txt", "", "add_compile_options(-fplugin=./x.so)"},
    {"CMakeLists.txt", "", "target_compile_options(a PRIVATE \"-fpass-plugin=./x.so\")"},
    {"CMakeLists.txt", "", "string(APPEND CMAKE_CXX_FLAGS \" -fplugin=./x.so\")"},
    {"CMakeLists.txt", "", "set(CMAKE_C_COMPILER_LAUNCHER id)"},
    {"CMakeLists.txt", "", "set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE id)"},
    {".rspec", "", "--require ./evil"},
    {".rubocop.yml", "", "require: ./evil.rb"},
    {".golangci.yml", "", "linters-settings:\n  custom:\n    x:\n      path: ./evil.so"},
    {"hie.yaml", "", "cradle:\n  bios:\n    program: ./evil"},
    {".bsp/sbt.json", "{}", R"({"argv": ["id"]})"},
    {".clangd", "", "CompileFlags:\n  Compiler: ./evil"},
    {".ycm_extra_conf.py", "", "import os"},
    {".latexmkrc", "", "system('id');"},
    {"rust-analyzer.toml", "", "[check]\noverrideCommand = [\"id\"]"},
    {"cdk.json", "{}", R"({"app": "id"})"},
    {"ansible.cfg", "", "[defaults]\ncallback_plugins = ./evil"},
    {".vscode/c_cpp_properties.json", "{}", R"({"configurations": [{"compilerPath": "./evil"}]})"},
    {".vimspector.json", "{}", R"({"adapters": {"x": {"command": ["id"]}}})"},
    {".claude/hooks/x", "", "id"},
    {".claude-plugin/plugin.json", "{}", R"({"hooks": "./evil.json"})"},
    {".gemini/extensions/x/gemini-extension.json", "{}",
     R"({"mcpServers": {"x": {"command": "id"}}})"},
    {".cursor/worktrees.json", "{}", R"({"setup-worktree": ["id"]})"},
    {".github/hooks/x.json", "{}", R"({"hooks": {"a": [{"bash": "id"}]}})"},
    {".kiro/hooks/x.sh", "", "id"},
    {"mise-tasks/build", "", "id"},
    {".hg/hgrc", "", "[hooks]\nupdate = id"},
    {".user.ini", "", "auto_prepend_file = evil.php"},
    {"tools/bazel", "", "id"},
    {"debian/rules", "", "id"},
    {"/h/u/.config/pipewire/pipewire.conf", "", "context.exec = [ { path = \"id\" } ]"},
    {"/h/u/.docker/cli-plugins/docker-x", "", "id"},
    {"/h/u/.local/share/helm/plugins/x/plugin.yaml", "", "command: id"},
    {"/h/u/.psqlrc", "", "\\! id"},
    {"/h/u/.forward", "", "|id"},
    {"/h/u/.config/user-dirs.dirs", "", "$(id)"},
    {"/h/u/.task/hooks/on-exit", "", "id"},
    {"/h/u/.config/go/env", "", "GOFLAGS=-toolexec=./evil"},
    {"/etc/ld.so.preload", "", "/tmp/x.so"},
    {"/etc/udev/rules.d/99-x.rules", "", "RUN+=\"/tmp/x\""},
    {"/etc/polkit-1/rules.d/x.rules", "", "polkit.addRule(x)"},
    {"/etc/pam.d/sudo", "", "auth sufficient pam_permit.so"},
    {"/etc/apt/apt.conf.d/99x", "", "DPkg::Post-Invoke {\"id\"};"},
    {"/etc/systemd/system-generators/x", "", "id"},
    {"/etc/NetworkManager/dispatcher.d/99-x", "", "id"},
    {"/etc/logrotate.d/x", "", "postrotate\nid"},
    {"/etc/initramfs-tools/hooks/x", "", "id"},
    {"/etc/letsencrypt/renewal-hooks/deploy/x", "", "id"},
    {"/etc/libvirt/hooks/qemu", "", "id"},
    {"/etc/needrestart/conf.d/x.conf", "", "system('id');"},
    {"/etc/wireguard/wg0.conf", "", "PostUp = id"},
    {"/etc/crypttab", "", "a b c keyscript=/tmp/x"},
    // Editors: programs and what they load, under any key.
    {".vscode/settings.json", "{}", R"({"go.alternateTools": {"go": "./x"}})"},
    {".vscode/settings.json", "{}", R"({"go.toolsEnvVars": {"GOFLAGS": "-toolexec=x"}})"},
    {".vscode/settings.json", "{}", R"({"go.buildFlags": ["-toolexec=x"]})"},
    {".vscode/settings.json", "{}", R"({"clangd.arguments": ["--query-driver=x"]})"},
    {".vscode/settings.json", "{}", R"({"rust-analyzer.cargo.extraEnv": {"RUSTC": "x"}})"},
    {".vscode/settings.json", "{}", R"({"jest.nodeEnv": {"NODE_OPTIONS": "-r x"}})"},
    {".vscode/settings.json", "{}", R"({"makefile.preConfigureScript": "x"})"},
    {".vscode/settings.json", "{}", R"({"lldb.library": "x.so"})"},
    {".vscode/settings.json", "{}", R"({"biome.lsp.bin": "x"})"},
    {".vscode/settings.json", "{}", R"({"java.jdt.ls.java.home": "jdk"})"},
    {".vscode/settings.json", "{}", R"({"todo-tree.ripgrep.ripgrep": "./x"})"},
    {".vscode/settings.json", "{}", R"({"nixEnvSelector.nixFile": "${workspaceFolder}/x.nix"})"},
    {".vscode/settings.json", "{}", R"({"eslint.options": {"overrideConfigFile": "./x.js"}})"},
    {".idea/cmake.xml", "", "<x GENERATION_OPTIONS=\"-DCMAKE_C_COMPILER=id\"/>"},
    {".idea/compiler.xml", "", "<annotationProcessing/>"},
    {".idea/php.xml", "", "<interpreter home=\"id\"/>"},
    {".factorypath", "", "<factorypathentry id=\"x.jar\"/>"},
    {".cproject", "", "<builder command=\"id\"/>"},
    {"a.pyproj", "", "<Project><Target><Exec Command=\"id\"/></Target></Project>"},
    // Package managers, and their files as read by other tools.
    {"package.json", "{}", R"({"oclif": {"hooks": {"init": "./x"}}})"},
    {"package.json", "{}", R"({"ghooks": {"pre-commit": "id"}})"},
    {"package.json", "{}", R"({"pre-push": ["x"]})"},
    {"package.json", "{}", R"({"nano-staged": {"*": "id"}})"},
    {"package.json", "{}", R"({"auto": {"plugins": ["./x"]}})"},
    {"package.json", "{}", R"({"postcss": {"plugins": {"./x": {}}}})"},
    {"package.json", "{}", R"({"cspell": {"import": ["./x.js"]}})"},
    {"package.json", "{}", R"({"build": {"afterPack": "./x.js"}})"},
    {"package.json", "{}", R"({"binary": {"host": "https://evil.example"}})"},
    {"package.json", "{}", R"({"browserslist": ["extends ./x"]})"},
    {"pnpm-workspace.yaml", "packages: [a]", "packages: [a]\nscriptShell: ./x"},
    {"pnpm-workspace.yaml", "packages: [a]", "packages: [a]\nconfigDependencies:\n  x: 1.0.0"},
    {"pnpm-workspace.yaml", "packages: [a]", "packages: [a]\nallowBuilds:\n  x: true"},
    {".yarnrc.yml", "nodeLinker: pnp", "nodeLinker: pnp\ninjectEnvironmentFiles: [x]"},
    {".yarn/cache/x.zip", "", "PK"},
    {"bun.lockb", "", "x"},
    {".npmrc", "", "python=./x"},
    {".npmrc", "", "nodedir=./x"},
    {".npmrc", "", "disturl=https://evil.example"},
    {".cargo/config.toml", "", "[doc]\nbrowser = [\"x\"]"},
    {"x-1.dist-info/entry_points.txt", "", "[pytest11]\nx = evil"},
    {"x.egg-info/entry_points.txt", "", "[pytest11]\nx = evil"},
    // Settings of shells, containers and builds.
    {".env.local", "", "A=$(id)"},
    {".env", "", "A=`id`"},
    {".kamal/secrets", "", "A=$(id)"},
    {".ddev/config.yaml", "", "hooks:\n  pre-start:\n  - exec-host: id"},
    {".ddev/commands/host/x", "", "id"},
    {".lando.yml", "", "events:\n  pre-start: id"},
    {".flox/env/manifest.toml", "", "[hook]\non-activate = \"id\""},
    {"gradle.properties", "", "org.gradle.jvmargs=-XX:OnOutOfMemoryError=id"},
    {"compose.yaml", "services:\n  a:\n    build: .",
     "services:\n  a:\n    build: https://x/y.git"},
    {"compose.yaml", "services:\n  a:\n    image: x",
     "services:\n  a:\n    image: x\n    healthcheck:\n      test: id"},
    {"compose.yaml", "services:\n  a:\n    image: x",
     "services:\n  a:\n    provider:\n      type: x"},
    {"compose.yaml", "services:\n  a:\n    image: x",
     "services:\n  a:\n    image: x\n    use_api_socket: true"},
    {".rubocop_todo.yml", "", "require: ./x"},
    {".standard.yml", "", "plugins:\n- ./x.rb"},
    {"firebase.json", "{}", R"({"hosting": {"predeploy": ["id"]}})"},
    {"electron-builder.yml", "", "afterPack: ./x.js"},
    {"tslint.json", "{}", R"({"rulesDirectory": "x"})"},
    {"matplotlibrc", "", "backend: module://x"},
    {"/h/u/.local/share/jupyter/kernels/x/kernel.json", "", R"({"argv": ["id"]})"},
    {"/h/u/.local/share/nvim/site/plugin/x.lua", "", "os.execute('id')"},
    {"ci/build.gitlab-ci.yml", "", "a:\n  script: id"},
    {"Jenkinsfile-deploy", "", "sh 'id'"},
    {".github/workflows/a.yml", "on: push", "on: workflow_run"},
    {".github/workflows/a.yml", "jobs:\n  a:\n    strategy:\n      matrix:\n        c: [a]",
     "jobs:\n  a:\n    strategy:\n      matrix:\n        c: ['id; b']"},
    {"requirements.txt", "a==1 --hash=sha256:0\nb==1", "a==1\nb==1"},
    {"requirements-dev.txt", "A_b==1 \\\n  --hash=sha256:0\nb==1", "a-b==2\nb==1"},
    {"requirements.txt", "--require-hashes\na==1", "a==1"},
    {"requirements/base.txt", "a==1 --hash=sha256:0", "a==1 # --hash=sha256:0"},
};

// Removing a protection is an alarm.
constexpr Named kGuards[] = {
    {".npmrc", "save-exact=true\nignore-scripts=true", "save-exact=true"},
    {".yarnrc.yml", "nodeLinker: pnp\nenableScripts: false", "nodeLinker: pnp"},
    {".git/config", "[core]\nbare = false\nprotectHFS = true", "[core]\nbare = false"},
    {".vscode/settings.json", R"({"task.allowAutomaticTasks": "off", "a": 1})", R"({"a": 1})"},
    {".claude/settings.json", R"({"permissions": {"deny": ["x"]}, "a": 1})", R"({"a": 1})"},
    {".claude/settings.json", R"({"sandbox": {"enabled": true}, "a": 1})", R"({"a": 1})"},
    {".github/workflows/a.yml", "on: push\npermissions:\n  contents: read", "on: push"},
    {"pip.conf", "[global]\nrequire-hashes = true", "[global]\ntimeout = 1"},
    {"compose.yaml", "services:\n  a:\n    image: x\n    read_only: true",
     "services:\n  a:\n    image: x"},
};

// Everyday lines that look similar.
constexpr Named kCalm[] = {
    {".git/config", "", "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main"},
    {".git/config", "", "[branch \"main\"]\nremote = ."},
    {".git/config", "", "[http]\npostBuffer = 1"},
    {"package.json", R"({"dependencies": {"x": "^1.0.0"}})",
     R"({"dependencies": {"x": "^1.1.0"}})"},
    {"pytest.ini", "[pytest]\naddopts = -q", "[pytest]\naddopts = -q -ra"},
    {"pyproject.toml", "[tool.mypy]\nstrict = true", "[tool.mypy]\nstrict = false"},
    {"mypy.ini", "[mypy]\nstrict = true", "[mypy]\nstrict = false"},
    {".flake8", "[flake8]\nmax-line-length = 88", "[flake8]\nmax-line-length = 100"},
    {"pylintrc", "[MASTER]\njobs=1", "[MASTER]\njobs=2"},
    {"src/app.csproj", "<Project><PackageReference Include=\"a\" Version=\"1\"/></Project>",
     "<Project><PackageReference Include=\"a\" Version=\"2\"/></Project>"},
    {"main.tf", "instance_type = \"a\"", "instance_type = \"b\""},
    {"sphinx/conf.py", "release = '1'", "release = '2'"},
    {"tsconfig.json", R"({"compilerOptions": {"strict": true}})",
     R"({"compilerOptions": {"strict": false}})"},
    {".prettierrc", R"({"semi": true})", R"({"semi": false})"},
    {".eslintrc.json", R"({"rules": {"semi": "off"}})", R"({"rules": {"semi": "error"}})"},
    {".golangci.yml", "linters:\n  disable:\n  - a", "linters:\n  disable:\n  - b"},
    {".vscode/settings.json", R"({"editor.tabSize": 2})",
     R"({"editor.tabSize": 4, "files.exclude": {"**/x": true}, "editor.rulers": [100]})"},
    {".env.example", "", "A=b\nURL=https://x.example/?a=1&b=2"},
    {"requirements.txt", "a==1 --hash=sha256:0\nb==1 --hash=sha256:1",
     "--require-hashes\nA==2 --hash=sha256:2 --hash=sha256:3\nb==1 --hash=sha256:1"},
    {"requirements.txt", "a==1\nb>=1", "a==2\nb>=1\nc"},
    {"compose.yaml", "services:\n  a:\n    image: x:1", "services:\n  a:\n    image: x:2"},
    {".npmrc", "", "save-exact=true"},
    {"gradle.properties", "org.gradle.jvmargs=-Xmx1g", "org.gradle.jvmargs=-Xmx2g"},
    {".vscode/extensions.json", "{}", R"({"recommendations": ["a.b"]})"},
    {"vite.config.ts", "export default {}", "export default { base: '/x' }"},
    {"unit/test_a.py", "a = 1", "a = 2"},
    {"src/main.rs", "fn main() {}", "fn main() { a(); }"},
};

std::vector<Trigger> Judged(const Named& each) {
  const std::string path = (each.path.starts_with('/') ? "" : "/h/u/app/") + std::string(each.path);
  return FindTriggers({.path = path,
                       .before = Version{.content = each.before},
                       .after = Version{.content = each.after}},
                      {.project = "/h/u/app", .home = "/h/u"});
}

TEST(TriggersNamed, EachIsAnAlarm) {
  for (const Named& each : kAlarms) {
    const auto found = Judged(each);
    EXPECT_TRUE(!found.empty() && found[0].severity == Severity::kAlarm)
        << each.path << ": " << each.after;
  }
}

TEST(TriggersNamed, RemovingAProtectionIsAnAlarm) {
  for (const Named& each : kGuards) {
    const auto found = Judged(each);
    EXPECT_TRUE(!found.empty() && found[0].severity == Severity::kAlarm) << each.path;
    const std::string path = "/h/u/app/" + std::string(each.path);
    const auto deleted = FindTriggers({.path = path, .before = Version{.content = each.before}},
                                      {.project = "/h/u/app", .home = "/h/u"});
    EXPECT_TRUE(!deleted.empty() && deleted[0].severity == Severity::kAlarm)
        << each.path << " deleted";
  }
}

TEST(TriggersNamed, EverydayEditsBesideThemAreNotAlarms) {
  for (const Named& each : kCalm)
    for (const Trigger& found : Judged(each))
      EXPECT_EQ(found.severity, Severity::kNotice)
          << each.path << ": " << found.id << ": "
          << (found.effective.empty() ? "" : found.effective[0]);
}

}  // namespace
}  // namespace cloche::rules
