#include "change/rules/key_values.h"

#include <gtest/gtest.h>

#include "change/rules/judges.h"

namespace cloche::rules {
namespace {

std::string Told(const std::optional<KeyValues>& values) {
  if (!values) return "(unreadable)";
  std::string text;
  for (const auto& [key, value] : *values) text += key + "=" + value + "\n";
  return text;
}

TEST(Json, ReadsDuplicateKeysCommentsAndTrailingCommas) {
  EXPECT_EQ(Told(ReadJson(R"({"a": {"b": 1, "b": [2, {"c": null}],}, // x
                              /* y */ "d": true})")),
            "a.b=1\na.b[]=2\na.b[].c=null\nd=true\n");
  EXPECT_EQ(Told(ReadJson("{\"a\": \"// no comment ,}\"}")), "a=// no comment ,}\n");
  EXPECT_EQ(ReadJson("{"), std::nullopt);
  EXPECT_EQ(ReadJson(std::string(100, '[') + std::string(100, ']')), std::nullopt);
}

TEST(Yaml, ReadsListsBlocksAndFlow) {
  EXPECT_EQ(Told(ReadYaml("a:\n- b: 1\n  c: |\n    x: y\n    # z\n  d: 2\ne: 3\n")),
            "a[].b=1\na[].c=x: y\na[].d=2\ne=3\n");
  EXPECT_EQ(Told(ReadYaml("s:\n  - |\n    [ -f x ] || {\n    y: z\n  - w\n")),
            "s[]=[ -f x ] || {\ny: z\ns[]=w\n");
  EXPECT_EQ(Told(ReadYaml("a: {b: [c, {d: \"]\"}],\n  e: f}\ng: h\n")),
            "a.b[]=c\na.b[].d=]\na.e=f\ng=h\n");
  EXPECT_EQ(Told(ReadYaml("a: one\n  two\nb : !!str 'c' # d\n")), "a=one two\nb=c\n");
  EXPECT_EQ(Told(ReadYaml("\"r\\u0075n\": \"a\\\n  b\n\n  c\"\n")), "run=ab\nc\n");
}

TEST(Yaml, ReadsAnchorsMergeKeysAndDocuments) {
  EXPECT_EQ(Told(ReadYaml("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n")),
            "a.b=1\nc.b=1\nd.b=1\nd.e=2\n");
  EXPECT_EQ(Told(ReadYaml("a: &x\n- b\nc:\n  - *x\n---\nd:\n...\n")), "a[]=b\nc[][]=b\nd=\n");
  // Aliases of aliases: the limit is on size.
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) laughs += ", " + last;
    laughs += "]\n";
  }
  EXPECT_EQ(ReadYaml(laughs), std::nullopt);
}

TEST(Yaml, RefusesTextThatParsersDisagreeAbout) {
  for (const char* text : {"? run\n: x",
                           "%TAG ! x",
                           "\trun: x",
                           "*a : x",
                           "a: [b",
                           "&x a: b",
                           "a: b: c",
                           "a:\tb",
                           "a: \"b",
                           "a: 'b\nc'",
                           "a: *b",
                           "a: |\n    b\n  c\n",
                           "a: b\n c: d",
                           "a: - b",
                           "{a: b}: c",
                           "a: `b`",
                           "a: @b",
                           "--- a",
                           "a: |x\n  b",
                           "a: &x 1\nb: &x 2",
                           "a:\n   - b\n- c: d",
                           "{a:}",
                           "a: \"\\q\""})
    EXPECT_EQ(ReadYaml(text), std::nullopt) << text;
}

TEST(GitConfig, ReadsLikeGit) {
  EXPECT_EQ(
      Told(ReadGitConfig("[A \"B.c\"] X = 1 ; no\n; no\ny = \"2 \" # c \\\nz\n[d.E]w=\\\n  v\n")),
      "a.B.c.x=1\na.B.c.y=2 \na.B.c.z=true\nd.e.w=v\n");
  for (const char* text : {"[a\n", "[a b]\n", "[a]\nx = \\q\n", "[a]\nx = \"y\n", "[a]\n1 = 2\n",
                           "=\n", "[a] x y\n", "[]\n", "[a \"b\" ]\n"})
    EXPECT_EQ(ReadGitConfig(text), std::nullopt) << text;
}

TEST(Ini, ReadsLikeEachKindOfTool) {
  EXPECT_EQ(Told(ReadIni("export LD_PRELOAD=x\n")), "LD_PRELOAD=x\n");
  // Lines with both separators are read both ways.
  EXPECT_EQ(Told(ReadIni("@s:registry=u\n")), "@s=registry=u\n@s:registry=u\n");
  EXPECT_EQ(Told(ReadIni("a =\n  b = c:d\n")), "a=\na=b = c:d\n");
  EXPECT_EQ(Told(ReadIni("a =\n  b = c\n", {.indent_continues = false})), "a=\nb=c\n");
  EXPECT_EQ(Told(ReadIni("commands: x\n  y\n")), "commands=x\ncommands=y\n");
  EXPECT_EQ(Told(ReadIni("a = b \\\n# c \\\n  d\n")), "a=b d\n");
  EXPECT_EQ(Told(ReadIni("a = b \\\nc = d\n", {.joins = false})), "a=b \\\nc=d\n");
  EXPECT_EQ(Told(ReadIni("[a]\nb=c\n")), "a.b=c\n");
  EXPECT_EQ(Told(ReadIni("[a] b\nb=c\n", {.sections = false})), "[a]=b\n[a] b=[a] b\nb=c\n");
  EXPECT_EQ(ReadIni("[a\n"), std::nullopt);
}

TEST(Toml, ReadsTablesInlineTablesAndLongStrings) {
  EXPECT_EQ(Told(ReadToml("[[a.b]]\nc = { d = \"e\", f = [1, 2] }\n\"g\" . h = '''\ni\n'''\n")),
            "a.b.c.d=e\na.b.c.f[]=1\na.b.c.f[]=2\na.b.g.h=i\n\n");
  for (const std::string& text :
       {std::string("a = [\n"), std::string("nothing\n"), std::string("[="), std::string("[\n"),
        std::string("a = 1\na = 2\n"), "a" + std::string(2000, '.') + "b = 1\n", [] {
          std::string deep = "x = {a";
          for (int i = 0; i < 100'000; ++i) deep += ".a";
          return deep + " = 1}";
        }()})
    EXPECT_EQ(ReadToml(text), std::nullopt);
}

TEST(Xml, ReadsTextAttributesAndComments) {
  EXPECT_EQ(Told(ReadXml("<a x='1>'><!-- <b>no</b> --><b>yes</b><c/></a>")),
            "a@=x='1>'\na.b=yes\na.c=\n");
  EXPECT_NE(Told(ReadXml("<!ENTITY a 'b'>")).find(kDoubtful), std::string::npos);
  for (const char* text : {"<a>", "<a></b>", "</a>", "<!--", "<a <b>", "<a x='>"})
    EXPECT_EQ(ReadXml(text), std::nullopt) << text;
}

TEST(Make, LinesOfADefinitionAreCommands) {
  const Parts parts = MakeParts("define go\ncurl x\nendef\nS = a.c\n");
  ASSERT_EQ(parts.commands.size(), 3u);
  EXPECT_EQ(parts.commands[1].shown, "curl x");
}

TEST(Sources, NamesHostsRegistriesAndRepositories) {
  EXPECT_EQ(SourceOf("registry+https://Index.example/crates"), "https://index.example");
  EXPECT_EQ(SourceOf("git+https://github.com/a/b.git#123"), "git+https://github.com/a/b");
  EXPECT_EQ(SourceOf("https://github.com/a/b/archive/v1.tgz"), "https://github.com/a/b");
  EXPECT_EQ(SourceOf("https\\://x.example/gradle-8.zip"), "https://x.example");
  EXPECT_EQ(SourceOf("https://good.example@evil.example/a"), "https://good.example@evil.example");
  EXPECT_EQ(SourceOf("git@x.example:a/b"), "ssh://git@x.example:a/b");
  EXPECT_EQ(SourceOf("no url"), "");
}

}  // namespace
}  // namespace cloche::rules
