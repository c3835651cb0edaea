#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "promote/triggers.h"

// Single files, keys and values that attacks were tried with, or that readers of the table asked
// for by name.
namespace cloche::promote {
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
    // An alias may begin with options of git, and its command may name programs.
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
};

// What people write every day next to those.
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

TEST(TriggersNamed, EverydayEditsBesideThemAreNot) {
  for (const Named& each : kCalm)
    for (const Trigger& found : Judged(each))
      EXPECT_EQ(found.severity, Severity::kNotice)
          << each.path << ": " << found.id << ": "
          << (found.effective.empty() ? "" : found.effective[0]);
}

}  // namespace
}  // namespace cloche::promote
