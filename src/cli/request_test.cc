#include "cli/request.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/parse.h"
#include "cli/report.h"

namespace cloche::cli {
namespace {

const Surroundings kAround = {.cwd = "/home/u/src",
                              .home = "/home/u",
                              .project = "/home/u/src",
                              .base_commit = "",
                              .project_file = "",
                              .wishes = {},
                              .settings = {},
                              .environment = {"LANG=C"}};

// The request that `cloche run WORDS...` would send.
Result<Body> FromWords(std::vector<std::string> words) {
  SandboxFlags sandbox;
  CommandFlags command;
  const auto add_flags = [&](CLI::App& app) { AddSandboxFlags(app, sandbox); };
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  if (ParseWithCommand({"cloche run", "", ""}, argv, add_flags, command.argv))
    return Fail(Code::kInvalid, "usage");
  return RunRequest(sandbox, command, false, kAround);
}

TEST(RunRequest, HoldsTheCommandAndWhereTheCallerStands) {
  const Body body = *FromWords({"--", "make", "-j", "--", "[a,b]"});
  EXPECT_EQ(body["argv"], Body({"make", "-j", "--", "[a,b]"}));
  EXPECT_EQ(body["cwd"], "/home/u/src");
  EXPECT_EQ(body["home"], "/home/u");
  EXPECT_EQ(body["project"], "/home/u/src");
  EXPECT_EQ(body["env"], Body({"LANG=C"}));
  EXPECT_FALSE(body.contains("limits"));
  EXPECT_FALSE(body.contains("keep"));
}

TEST(RunRequest, TheCommandBeginsAtTheFirstWordThatIsNotAnOption) {
  const Body body =
      *FromWords({"--memory", "64M", "--drop-root", "sh", "-c", "--memory", "--name"});
  EXPECT_EQ(body["argv"], Body({"sh", "-c", "--memory", "--name"}));
  EXPECT_EQ(body["limits"]["memory"], 67108864);
  EXPECT_EQ(body["drop_root"], true);
}

TEST(RunRequest, EveryLimitHasItsUnit) {
  const Body body = *FromWords({"--cpu",     "1.5",        "--memory=512M",
                                "--disk",    "1G",         "--inodes",
                                "9",         "--pids",     "8",
                                "--files",   "7",          "--output",
                                "1M",        "--wall",     "60s",
                                "--idle",    "5m",         "--life",
                                "1h",        "--commands", "3",
                                "--denials", "2",          "--",
                                "true"});
  const Body expected = {{"cpu", 1.5},        {"memory", 536870912}, {"disk", 1073741824},
                         {"inodes", 9},       {"pids", 8},           {"files", 7},
                         {"output", 1048576}, {"wall", 60.0},        {"idle", 300.0},
                         {"life", 3600.0},    {"commands", 3},       {"denials", 2}};
  EXPECT_EQ(body["limits"].size(), expected.size());
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(body["limits"][name], value) << name;
}

TEST(RunRequest, ABadLimitNamesItsFlag) {
  for (const char* bad : {"--memory=-1", "--wall=soon", "--pids=1.5", "--cpu=-2"}) {
    const auto body = FromWords({bad, "--", "true"});
    ASSERT_FALSE(body) << bad;
    EXPECT_EQ(body.error().code, Code::kInvalid);
    const std::string flag = std::string(bad).substr(0, std::string(bad).find('='));
    EXPECT_TRUE(body.error().message.starts_with(flag)) << body.error().message;
  }
}

TEST(RunRequest, PathsBecomeAbsoluteWithoutGuessingAtSymlinks) {
  const Body body = *FromWords({"--ro", "data", "--ro", "/a//b/./", "--rw", "../other", "--hide",
                                "..", "--hide", "x/../y", "--", "true"});
  EXPECT_EQ(body["ro"], Body({"/home/u/src/data", "/a/b"}));
  EXPECT_EQ(body["rw"], Body({"/home/u/other"}));
  EXPECT_EQ(body["hide"], Body({"/home/u", "/home/u/src/x/../y"}));
}

TEST(RunRequest, DeclaredHoldsInputsAndOutput) {
  const Body body =
      *FromWords({"--declared", "--input", "a", "--input", "[b]", "--out", "o", "--", "true"});
  EXPECT_EQ(body["declared"]["inputs"], Body({"/home/u/src/a", "/home/u/src/[b]"}));
  EXPECT_EQ(body["declared"]["output"], "/home/u/src/o");
  EXPECT_FALSE(FromWords({"--input", "a", "--", "true"}));
}

TEST(RunRequest, LabelsAndBasesAreChecked) {
  EXPECT_EQ((*FromWords({"--label", "a=b=c", "--", "x"}))["labels"]["a"], "b=c");
  EXPECT_FALSE(FromWords({"--label", "nope", "--", "x"}));
  EXPECT_EQ((*FromWords({"--base", "dir:root", "--", "x"}))["base"], "dir:/home/u/src/root");
  EXPECT_FALSE(FromWords({"--base", "docker:x", "--", "x"}));
  EXPECT_FALSE(FromWords({"--name", "../x", "--", "x"}));
  EXPECT_FALSE(FromWords({"--on-violation", "panic", "--", "x"}));
  EXPECT_FALSE(FromWords({"--nonsense", "--", "x"}));
  EXPECT_FALSE(FromWords({}));
}

TEST(Environment, SecretsNeverLeaveUnlessAskedForByName) {
  const std::vector<std::string> all = {"LANG=C", "AWS_SECRET_ACCESS_KEY=abc"};
  const auto plain = ChooseEnvironment(all, {});
  EXPECT_EQ(plain->kept, std::vector<std::string>{"LANG=C"});
  EXPECT_EQ(plain->dropped_secrets, std::vector<std::string>{"AWS_SECRET_ACCESS_KEY"});
  const auto asked = ChooseEnvironment(all, {"AWS_SECRET_ACCESS_KEY", "MINE=1", "LANG=de"});
  const std::set<std::string> kept(asked->kept.begin(), asked->kept.end());
  EXPECT_EQ(kept, (std::set<std::string>{"AWS_SECRET_ACCESS_KEY=abc", "LANG=de", "MINE=1"}));
  EXPECT_FALSE(ChooseEnvironment(all, {"=x"}));
}

TEST(CommandRequest, SaysHowTheCommandIsConnected) {
  CommandFlags flags;
  flags.argv = {"vi"};
  flags.pty = WindowSize{50, 132};
  flags.read_stdin = true;
  flags.fresh = true;
  flags.limits = {{"wall", "2s"}, {"output", ""}};
  const Body body = *CommandRequest(flags, kAround);
  EXPECT_EQ(body["pty"]["rows"], 50);
  EXPECT_EQ(body["pty"]["columns"], 132);
  EXPECT_EQ(body["stdin"], true);
  EXPECT_EQ(body["fresh"], true);
  EXPECT_EQ(body["wall"], 2.0);
  EXPECT_FALSE(body.contains("output"));
  EXPECT_FALSE(body.contains("background"));
}

TEST(ParseWithCommand, OptionsMayStandOnBothSidesOfTheSandbox) {
  for (std::vector<std::string> words :
       {std::vector<std::string>{"web", "--fresh", "--", "ls", "-l"},
        {"--fresh", "web", "--", "ls", "-l"},
        {"--fresh", "web", "ls", "-l"}}) {
    CommandFlags command;
    std::string ref;
    const auto add_flags = [&](CLI::App& app) { AddCommandFlags(app, command); };
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    EXPECT_FALSE(ParseWithCommand({"cloche exec", "", ""}, argv, add_flags, command.argv, &ref));
    EXPECT_EQ(ref, "web");
    EXPECT_TRUE(command.fresh);
    EXPECT_EQ(command.argv, (std::vector<std::string>{"ls", "-l"}));
  }
}

TEST(Project, IsTheNearestMarkedDirectoryBelowHome) {
  const auto with = [](const std::set<std::string>& files) {
    return [files](const std::string& path) { return files.contains(path); };
  };
  EXPECT_EQ(FindProject("/home/u/p/q", "/home/u", with({"/home/u/p/.git"})), "/home/u/p");
  EXPECT_EQ(
      FindProject("/home/u/p/q", "/home/u", with({"/home/u/p/.git", "/home/u/p/q/cloche.toml"})),
      "/home/u/p/q");
  EXPECT_EQ(FindProject("/home/u/p", "/home/u", with({"/home/u/.git"})), "");
  EXPECT_EQ(FindProject("/srv/x", "/home/u", with({"/.git"})), "");
  EXPECT_EQ(FindProject("/", "/home/u", with({"/.git"})), "");
}

TEST(Target, ARefIsAlwaysOneSegment) {
  EXPECT_EQ(*SandboxTarget("sb_1a"), "/v1/sandboxes/sb_1a");
  EXPECT_EQ(*SandboxTarget("../x y\n", "/stop"), "/v1/sandboxes/%2E%2E%2Fx%20y%0A/stop");
  EXPECT_FALSE(SandboxTarget(""));
  EXPECT_EQ(QueryString({{"a", ""}, {"label", "k=v&x"}, {"all", "1"}}), "?label=k%3Dv%26x&all=1");
}

TEST(Report, DescribesChangesIfAny) {
  const Json changed = {{"changes", {{"added", 0}, {"changed", 3}, {"deleted", 1}}}};
  EXPECT_EQ(DescribeResult(changed, AfterCommand::kDiscarded, false, false),
            "cloche: 3 files changed, 1 deleted; discarded (keep with --keep)\n");
  EXPECT_EQ(DescribeResult(changed, AfterCommand::kDiscarded, true, false), "");
  EXPECT_EQ(DescribeResult(changed, AfterCommand::kStays, false, false), "");
  const Json nothing = {{"changes", {{"added", 0}, {"changed", 0}, {"deleted", 0}}}};
  EXPECT_EQ(DescribeResult(nothing, AfterCommand::kDiscarded, false, false), "");
  const Json kept = {{"sandbox", "sb_7"}, {"changes", {{"added", 1}, {"kept", true}}}};
  EXPECT_EQ(DescribeResult(kept, AfterCommand::kDiscarded, false, false),
            "cloche: kept as sb_7, 1 file added; go on with: cloche exec sb_7 -- CMD\n");
}

TEST(Report, ALimitIsToldEvenWhenQuietAndCannotForgeLines) {
  const Json result = {{"limit", {{"message", "killed: memory limit 512 MiB\n\x1b[2J"}}}};
  EXPECT_EQ(DescribeResult(result, AfterCommand::kStays, true, false),
            "cloche: killed: memory limit 512 MiB\\x0a\\x1b[2J\n");
}

}  // namespace
}  // namespace cloche::cli
