#include "promote/key_values.h"

#include <gtest/gtest.h>

#include "promote/judges.h"

namespace cloche::promote {
namespace {

std::string Told(const std::optional<KeyValues>& values) {
  if (!values) return "(unreadable)";
  std::string text;
  for (const auto& [key, value] : *values) text += key + "=" + value + "\n";
  return text;
}

TEST(Json, KeysThatAreThereTwiceCommentsAndTrailingCommas) {
  EXPECT_EQ(Told(ReadJson(R"({"a": {"b": 1, "b": [2, {"c": null}],}, // x
                              /* y */ "d": true})")),
            "a.b=1\na.b[]=2\na.b[].c=null\nd=true\n");
  EXPECT_EQ(Told(ReadJson("{\"a\": \"// no comment ,}\"}")), "a=// no comment ,}\n");
  EXPECT_EQ(ReadJson("{"), std::nullopt);
  EXPECT_EQ(ReadJson(std::string(100, '[') + std::string(100, ']')), std::nullopt);
}

TEST(Yaml, ListsBlocksAndFlow) {
  EXPECT_EQ(Told(ReadYaml("a:\n- b: 1\n  c: |\n    x: y\n    # z\n  d: 2\ne: 3\n")),
            "a[].b=1\na[].c=x: y\na[].d=2\ne=3\n");
  EXPECT_EQ(Told(ReadYaml("s:\n  - |\n    [ -f x ] || {\n    y: z\n  - w\n")),
            "s[]=[ -f x ] || {\ns[]=y: z\ns[]=w\n");
  EXPECT_EQ(Told(ReadYaml("a: {b: [c, {d: \"]\"}],\n  e: f}\ng: h\n")),
            "a.b[]=c\na.b[].d=]\na.e=f\ng=h\n");
  EXPECT_EQ(Told(ReadYaml("a: one\n  two\n!!str &x b : 'c' # d\n")), "a=one\na=two\nb=c\n");
}

TEST(Yaml, WhatItCannotReadForSureIsDoubtful) {
  for (const char* text : {"\"r\\u0075n\": x", "? run\n: x", "%TAG ! x", "\trun: x", "*a : x"})
    EXPECT_NE(Told(ReadYaml(text)).find(kDoubtful), std::string::npos) << text;
  EXPECT_EQ(ReadYaml("a: [b"), std::nullopt);
}

TEST(Ini, GitAndOthers) {
  EXPECT_EQ(Told(ReadIni("[a \"B.c\"] x = 1\n; no\ny = \"2\"\n[d]\nz\n")),
            "a.B.c.x=1\na.B.c.y=2\nd.z=z\n");
  EXPECT_EQ(Told(ReadIni("export LD_PRELOAD=x\n")), "LD_PRELOAD=x\n");
  // Both readings of what has both signs.
  EXPECT_EQ(Told(ReadIni("@s:registry=u\n")), "@s=registry=u\n@s:registry=u\n");
  EXPECT_EQ(Told(ReadIni("a =\n  b = c:d\n")), "a=\na=b = c:d\nb=c:d\n");
  EXPECT_EQ(Told(ReadIni("commands: x\n  y\n")), "commands=x\ncommands=y\n");
  EXPECT_EQ(Told(ReadIni("a = b \\\n  c\n")), "a=b c\n");
}

TEST(Toml, TablesInlineTablesAndLongStrings) {
  EXPECT_EQ(Told(ReadToml("[[a.b]]\nc = { d = \"e\", f = [1, 2] }\n\"g\" . h = '''\ni\n'''\n")),
            "a.b.c.d=e\na.b.c.f[]=1\na.b.c.f[]=2\na.b.g.h='\na.b.g.h=i\na.b.g.h='''\n");
  EXPECT_EQ(ReadToml("a = [\n"), std::nullopt);
  EXPECT_EQ(ReadToml("nothing\n"), std::nullopt);
}

TEST(Xml, TextAttributesAndComments) {
  EXPECT_EQ(Told(ReadXml("<a x='1'><!-- <b>no</b> --><b>yes</b><c/></a>")), "a@=x='1'\na.b=yes\n");
  EXPECT_NE(Told(ReadXml("<!ENTITY a 'b'>")).find(kDoubtful), std::string::npos);
}

TEST(Make, LinesOfADefinitionAreCommands) {
  const Parts parts = MakeParts("define go\ncurl x\nendef\nS = a.c\n", false);
  ASSERT_EQ(parts.commands.size(), 2u);
  EXPECT_EQ(parts.commands[1].same, "curl x");
}

TEST(Sources, HostsRegistriesAndRepositories) {
  EXPECT_EQ(SourceOf("registry+https://Index.example/crates"), "https://index.example");
  EXPECT_EQ(SourceOf("git+https://github.com/a/b.git#123"), "git+https://github.com/a/b");
  EXPECT_EQ(SourceOf("https://github.com/a/b/archive/v1.tgz"), "https://github.com/a/b");
  EXPECT_EQ(SourceOf("https\\://x.example/gradle-8.zip"), "https://x.example");
  EXPECT_EQ(SourceOf("https://good.example@evil.example/a"), "https://good.example@evil.example");
  EXPECT_EQ(SourceOf("git@x.example:a/b"), "ssh://git@x.example:a/b");
  EXPECT_EQ(SourceOf("no url"), "");
}

}  // namespace
}  // namespace cloche::promote
