#include "race/spec.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::race {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Spec MustRead(std::string_view text) {
  auto spec = ReadSpec(text, "race.toml");
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? *spec : Spec{};
}

std::string Complaint(std::string_view text) {
  const auto spec = ReadSpec(text, "race.toml");
  if (!spec) {
    EXPECT_EQ(spec.error().code, Code::kInvalid);
    EXPECT_NE(spec.error().cure, "");
    return spec.error().message;
  }
  const Status checked = CheckSpec(*spec);
  if (checked) return "none";
  EXPECT_NE(checked.error().cure, "");
  return checked.error().message;
}

std::vector<std::string> Names(const Spec& spec) {
  std::vector<std::string> names;
  for (const Lane& lane : spec.lanes) names.push_back(lane.name);
  return names;
}

TEST(SpecFile, EveryKeyIsRead) {
  const Spec spec = MustRead(R"(
setup = "make deps"
check = ["make test", "make lint"]
jobs = 2
best_of = 2
[score]
command = "./measure"
key = "latency"
lower_is_better = true
[limits]
memory = "512M"
wall = 90
cpu = 1.5
[lane.patch]
run = "git apply fix.patch"
[lane.deps]
run = "npm update x"
[lane.deps.limits]
memory = "256M"
wall = "1h"
)");
  EXPECT_THAT(spec.setup, ElementsAre(ShellCommand("make deps")));
  EXPECT_THAT(spec.checks, ElementsAre(ShellCommand("make test"), ShellCommand("make lint")));
  EXPECT_EQ(spec.jobs, 2u);
  EXPECT_EQ(spec.enough, 2u);
  ASSERT_TRUE(spec.score);
  EXPECT_EQ(spec.score->command.text, "./measure");
  EXPECT_EQ(spec.score->key, "latency");
  EXPECT_TRUE(spec.score->lower_is_better);
  EXPECT_EQ(spec.limits.memory, uint64_t{512} << 20);
  EXPECT_EQ(spec.limits.wall, 90);
  EXPECT_EQ(spec.limits.cpu, 1.5);
  EXPECT_THAT(Names(spec), ElementsAre("patch", "deps")) << "in the order of the file";
  const Limits deps = LaneLimits(spec, spec.lanes[1]);
  EXPECT_EQ(deps.memory, uint64_t{256} << 20);
  EXPECT_EQ(deps.wall, 3600);
  EXPECT_EQ(deps.cpu, 1.5) << "limits that a lane omits are inherited";
  EXPECT_TRUE(CheckSpec(spec)) << "a command's time may be longer in one lane";
}

TEST(SpecFile, AShellRunsACommandLine) {
  EXPECT_THAT(MustRead("[lane.a]\nrun = 'x | y'").lanes[0].run.argv,
              ElementsAre("sh", "-c", "x | y"));
}

TEST(SpecFile, CopiesOfALaneAreNumbered) {
  EXPECT_THAT(Names(MustRead("[lane.agent]\nrun = 'x'\ncopies = 3")),
              ElementsAre("agent-1", "agent-2", "agent-3"));
}

TEST(SpecFile, AScoreMayBeAPlainCommand) {
  const Spec spec = MustRead("score = 'wc -c x'");
  ASSERT_TRUE(spec.score);
  EXPECT_FALSE(spec.score->lower_is_better);
}

TEST(SpecFile, FirstPassIsBestOfOne) { EXPECT_EQ(MustRead("first_pass = true").enough, 1u); }

TEST(SpecFile, AMistakeIsToldWithItsLine) {
  EXPECT_EQ(Complaint("\n\nchek = 'x'"), "read race.toml:3: the file has no key 'chek'");
  EXPECT_THAT(Complaint("[lane.a]\nrun = 'x'\ncheck = 'y'"),
              HasSubstr("race.toml:3: lane a has no key 'check'"));
  EXPECT_THAT(Complaint("[limits]\nmemroy = '1G'"), HasSubstr(":2: limits has no key 'memroy'"));
  EXPECT_THAT(Complaint("[limits]\ncpu = 1\nmemory = 'lots'"), HasSubstr(":3: memory: "));
  EXPECT_THAT(Complaint("[limits]\ncpu = 1\nmemory = 12"), HasSubstr(":3: "));
  EXPECT_THAT(Complaint("[limits]\nmemory = true"), HasSubstr(":2: memory: "));
  EXPECT_THAT(Complaint("[limits]\nwall = -5"), HasSubstr(":2: wall: "));
  EXPECT_THAT(Complaint("[score]\ncommand = 'x'\nlower = true"), HasSubstr(":3: score has no key"));
  EXPECT_THAT(Complaint("\n[score]\nkey = 'x'"), HasSubstr(":2: score has no command"));
  EXPECT_THAT(Complaint("\n[lane.a]\ncopies = 2"), HasSubstr(":2: lane a has no run"));
  EXPECT_THAT(Complaint("\n[lane.a]\nrun = ' '"), HasSubstr(":3: run is empty"));
  EXPECT_THAT(Complaint("\n[lane.a]\nrun = [1]"), HasSubstr(":3: run is not a string"));
  EXPECT_THAT(Complaint("check = ['a',\n 7]"), HasSubstr(":2: check is not a string"));
  EXPECT_THAT(Complaint("check = \"a\\u0000b\""), HasSubstr(":1: check holds a NUL"));
  EXPECT_THAT(Complaint("jobs = 0"), HasSubstr(":1: jobs is not a number"));
  EXPECT_THAT(Complaint("jobs = 9999999999"), HasSubstr(":1: jobs is not a number"));
  EXPECT_THAT(Complaint("first_pass = 1"), HasSubstr(":1: first_pass is neither"));
  EXPECT_THAT(Complaint("best_of = 2\nfirst_pass = true"), HasSubstr(":2: first_pass and best_of"));
  EXPECT_THAT(Complaint("lane = 3"), HasSubstr(":1: lane is not a table"));
  EXPECT_THAT(Complaint("[lane]\na = 'x'"), HasSubstr(":2: lane a is not a table"));
  EXPECT_THAT(Complaint("limits = 3"), HasSubstr(":1: limits is not a table"));
}

TEST(SpecFile, RefusesInvalidTomlAndNamesTheLine) {
  EXPECT_THAT(Complaint("check = 'x'\nchek"), HasSubstr("race.toml:2: "));
  EXPECT_THAT(Complaint("[lane.a]\nrun='x'\n[lane.a]\nrun='y'"), HasSubstr("race.toml:3: "));
  EXPECT_THAT(Complaint("a = '\xff\xfe'"), HasSubstr("race.toml:1: "));
  EXPECT_THAT(Complaint(std::string(5000, '[')), HasSubstr("race.toml:1: "));
  EXPECT_THAT(Complaint(std::string(kMostFileBytes + 1, '#')), HasSubstr("longer than"));
}

TEST(SpecFile, HostileNamesAreRefused) {
  for (const char* name :
       {"A", "a b", "../x", "a/b", "<script>", "\\u001b[31m", "\\u202e", "winner", "none", "",
        "a.b", "-_-", "12345678901234567890123456789012345678901"})
    EXPECT_THAT(Complaint(std::string("[lane.\"") + name + "\"]\nrun='x'"), HasSubstr(":1: lane"))
        << name;
  EXPECT_EQ(Complaint("[lane.1234567890123456789012345678901234567890]\nrun='x'"), "none");
}

TEST(Spec, NeedsALane) { EXPECT_THAT(Complaint("check = 'x'"), HasSubstr("there is no lane")); }

TEST(Spec, LanesAreCounted) {
  std::string text;
  for (const char* name : {"a", "b"}) text += fmt::format("[lane.{}]\nrun='x'\ncopies=200\n", name);
  EXPECT_THAT(Complaint(text), HasSubstr("400 lanes are too many"));
}

TEST(Spec, ALaneMayHaveLessThanEverybodyNotMore) {
  EXPECT_THAT(Complaint("limits.memory='1G'\nlane.a.run='x'\nlane.a.limits.memory='2G'"),
              HasSubstr("lane a: its memory limit is above"));
  EXPECT_THAT(Complaint("limits.commands=5\nlane.a.run='x'\nlane.a.limits.commands=0"),
              HasSubstr("above"))
      << "0 means no limit";
  EXPECT_EQ(Complaint("limits.memory='1G'\nlane.a.run='x'\nlane.a.limits.memory='1G'"), "none");
}

TEST(Spec, MoreWinnersThanLanesAreRefused) {
  EXPECT_THAT(Complaint("best_of=2\nlane.a.run='x'"), HasSubstr("more than there are lanes"));
}

TEST(SpecFlags, AddLanesAndChecksAndReplaceTheRest) {
  Spec spec = MustRead("check='a'\nscore='s'\njobs=1\nlimits.memory='1G'\nlane.one.run='x'");
  SpecFlags flags;
  flags.approaches = {"two=git revert HEAD=1"};
  flags.checks = {"b"};
  flags.score = "t";
  flags.score_key = "k";
  flags.lower_is_better = true;
  flags.jobs = 4;
  flags.first_pass = true;
  flags.limits.memory = 5u << 20;
  ASSERT_TRUE(AddFlags(spec, flags));
  ASSERT_TRUE(CheckSpec(spec));
  EXPECT_THAT(Names(spec), ElementsAre("one", "two"));
  EXPECT_EQ(spec.lanes[1].run.text, "git revert HEAD=1");
  EXPECT_THAT(spec.checks, ElementsAre(ShellCommand("a"), ShellCommand("b")));
  EXPECT_EQ(spec.score->command.text, "t");
  EXPECT_EQ(spec.score->key, "k");
  EXPECT_TRUE(spec.score->lower_is_better);
  EXPECT_EQ(spec.jobs, 4u);
  EXPECT_EQ(spec.enough, 1u);
  EXPECT_EQ(spec.limits.memory, 5u << 20);
}

TEST(SpecFlags, CopiesRunTheirWordsWithoutAShell) {
  Spec spec;
  ASSERT_TRUE(AddFlags(spec, {.copies = 2, .agent = {"agent", "it's $HOME", ""}}));
  EXPECT_THAT(Names(spec), ElementsAre("copy-1", "copy-2"));
  EXPECT_THAT(spec.lanes[0].run.argv, ElementsAre("agent", "it's $HOME", ""));
  EXPECT_EQ(spec.lanes[0].run.text, R"(agent 'it'\''s $HOME' '')");
}

TEST(SpecFlags, NonsenseIsRefusedWithACure) {
  const auto complaint = [](const SpecFlags& flags) {
    Spec spec;
    Status status = AddFlags(spec, flags);
    if (status) status = CheckSpec(spec);
    if (status) return std::string("none");
    EXPECT_NE(status.error().cure, "");
    return status.error().message;
  };
  EXPECT_THAT(complaint({.approaches = {"x"}}), HasSubstr("not NAME=COMMAND"));
  EXPECT_THAT(complaint({.approaches = {"x="}}), HasSubstr("not NAME=COMMAND"));
  EXPECT_THAT(complaint({.approaches = {"=x"}}), HasSubstr("not a name"));
  EXPECT_THAT(complaint({.approaches = {"a=1", "a=2"}}), HasSubstr("two of this name"));
  EXPECT_THAT(complaint({.copies = 2}), HasSubstr("no command"));
  EXPECT_THAT(complaint({.agent = {"x"}}), HasSubstr("how many"));
  EXPECT_THAT(complaint({.copies = 100000000, .agent = {"x"}}), HasSubstr("too many"));
  EXPECT_THAT(complaint({.approaches = {"a=1"}, .lower_is_better = true}), HasSubstr("score"));
  EXPECT_THAT(complaint({.approaches = {"a=1"}, .first_pass = true, .best_of = 1}),
              HasSubstr("one of them"));
  EXPECT_THAT(complaint({.approaches = {"a=1"}, .best_of = 0}), HasSubstr("--best-of 0"));
  EXPECT_THAT(complaint({.approaches = {"a=1"}, .jobs = 0}), HasSubstr("--jobs 0"));
}

}  // namespace
}  // namespace cloche::race
