#include "change/project/project_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::project {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Refusal(const std::string& toml) {
  const auto file = ReadProjectFile(toml);
  return file ? "none" : file.error().message + " | " + file.error().cure;
}

TEST(ProjectFile, AnEmptyFileSaysNothing) {
  const auto file = ReadProjectFile("");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->promote.allow.empty());
  EXPECT_TRUE(file->stages.empty());
}

TEST(ProjectFile, AWholeFileIsReadInItsOrder) {
  const auto file = ReadProjectFile(R"(
[promote]
allow = ["src/**/*.py"]
deny = [".git/", "secrets/"]
read_only = "pyproject.toml"

[[stage]]
name = "local"
verify = ["make test", "make lint"]
apply = "."
check = "make"
approval = "auto"

[[stage]]
name = "live"
deploy = "./deploy"
environment = "production"
approval = "notify"
cancel_window = 2.5
health = ["curl -f localhost"]
health_for = 60
health_every = 1
rollback = "./deploy --back"
affects = "everybody"
)");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->promote.allow, ElementsAre("src/**/*.py"));
  EXPECT_THAT(file->promote.deny, ElementsAre(".git/", "secrets/"));
  EXPECT_THAT(file->promote.read_only, ElementsAre("pyproject.toml"));
  ASSERT_EQ(file->stages.size(), 2u);
  const Stage& local = file->stages[0];
  EXPECT_THAT(local.verify, ElementsAre("make test", "make lint"));
  EXPECT_EQ(local.apply, "");
  EXPECT_EQ(local.approval, Approval::kAuto);
  EXPECT_FALSE(local.HealthOnHost());
  const Stage& live = file->stages[1];
  EXPECT_FALSE(live.apply);
  EXPECT_EQ(live.approval, Approval::kNotify);
  EXPECT_EQ(live.cancel_window, 2.5);
  EXPECT_EQ(live.health_for, 60);
  EXPECT_EQ(live.rollback, "./deploy --back");
  EXPECT_TRUE(live.HealthOnHost());
}

TEST(ProjectFile, MissingKeysHaveDefaults) {
  const auto file = ReadProjectFile("[[stage]]\nname='a'\napply='src'\nhealth='true'\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->stages[0].cancel_window, 5);
  EXPECT_EQ(file->stages[0].health_for, 600);
  EXPECT_EQ(file->stages[0].apply, "src");
}

TEST(ProjectFile, AStageWithoutATierNeedsAPerson) {
  const auto file = ReadProjectFile("[[stage]]\nname='a'\napply='.'\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->stages[0].approval, Approval::kApprove);
}

TEST(ProjectFile, AnUnknownEnvironmentNeedsAPersonWhateverItsTier) {
  for (const char* environment : {"environment='prodution'\n", ""}) {
    const auto file = ReadProjectFile(
        std::string("[[stage]]\nname='a'\ndeploy='x'\napproval='auto'\n") + environment);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->stages[0].approval, Approval::kApprove);
  }
}

TEST(ProjectFile, AStageThatOnlyVerifiesNeedsNoApproval) {
  const auto file = ReadProjectFile("[[stage]]\nname='a'\nverify='true'\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->stages[0].approval, Approval::kAuto);
}

TEST(ProjectFile, EveryMistakeNamesItsLine) {
  EXPECT_THAT(Refusal("[promote]\nalow = []\n"), HasSubstr("cloche.toml:2: promote has no key"));
  EXPECT_THAT(Refusal("[promote]\nallow = []\n"), HasSubstr(":2: allow is empty"));
  EXPECT_THAT(Refusal("\n[stages]\n"), HasSubstr(":2: the file has no key 'stages'"));
  EXPECT_THAT(Refusal("[stage]\nname='a'\n"), HasSubstr("[[stage]], with two brackets"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\nverify='x'\naproval='auto'\n"),
              HasSubstr(":4: a stage has no key 'aproval'"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\napply='.'\napproval='maybe'\n"),
              HasSubstr(":4: approval = 'maybe' is unknown"));
  EXPECT_THAT(Refusal("[[stage]]\nverify='x'\n"), HasSubstr("a stage has no name"));
  EXPECT_THAT(Refusal("[[stage]]\nname='../x'\nverify='x'\n"),
              HasSubstr("cannot be the name of a stage"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\n"), HasSubstr("does nothing"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\nverify=[1]\n"),
              HasSubstr(":3: verify is not a string"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\nverify='  '\n"), HasSubstr(":3: verify is empty"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\nverify='x'\nrollback='y'\n"),
              HasSubstr(":4: rollback has no meaning without deploy"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\napply='.'\nhealth='x'\nhealth_for=-1\n"),
              HasSubstr(":5: health_for is not a number of seconds"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\napply='.'\ncancel_window=nan\n"),
              HasSubstr(":4: cancel_window is not a number of seconds"));
  for (const char* up : {"..", "../x", "a/../b", "~/x"})
    EXPECT_THAT(Refusal(std::string("[[stage]]\nname='a'\napply='") + up + "'\n"),
                HasSubstr("is not a plain path"));
  EXPECT_THAT(Refusal("[[stage]]\nname='a'\nverify='x'\n[[stage]]\nname='a'\nverify='x'\n"),
              HasSubstr("there is a stage a already"));
  EXPECT_THAT(Refusal("x = \n"), HasSubstr("cloche.toml:1: "));
  EXPECT_THAT(Refusal(std::string(kMostFileBytes + 1, '#')), HasSubstr("longer than 64 KiB"));
}

TEST(ProjectFile, SandboxDefaultsAreRead) {
  const auto file = ReadProjectFile(R"([sandbox]
allow = ["packages.example.com:443"]
secrets = []
hide = ["keys"]
limits = { memory = "1.5G", wall = "1h30m", pids = 50 }
)");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->sandbox.allow, std::vector<std::string>{"packages.example.com:443"});
  EXPECT_TRUE(file->sandbox.secrets && file->sandbox.secrets->empty());
  EXPECT_EQ(file->sandbox.hide, std::vector<std::string>{"keys"});
  EXPECT_EQ(file->sandbox.limits.memory, uint64_t{3} << 29);
  EXPECT_EQ(file->sandbox.limits.wall, 5400);
  EXPECT_EQ(file->sandbox.limits.pids, 50u);
  EXPECT_FALSE(ReadProjectFile("[promote]")->sandbox.allow);
  for (const char* text : {"[sandbox]\nrw = ['/']", "[sandbox]\nlimits = { memory = 'much' }",
                           "[sandbox]\nlimits = { pids = 1 }", "[sandbox]\nallow = [1]"}) {
    const auto read = ReadProjectFile(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("cloche.toml:2: "), std::string::npos)
        << read.error().message;
  }
}

TEST(Settings, HoldOnlySandboxDefaults) {
  EXPECT_EQ(ReadSettings("[sandbox]\nhide = '~/x'", "c.toml")->hide,
            std::vector<std::string>{"~/x"});
  EXPECT_FALSE(ReadSettings("[promote]\nallow = ['x']", "c.toml"));
}

TEST(ProjectFile, TimesMayHaveUnits) {
  const auto file = ReadProjectFile("[[stage]]\nname = 'a'\napply = true\ncancel_window = '1m30s'");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->stages[0].cancel_window, 90);
}

TEST(ProjectFile, ItsTextIsEscapedForTheTerminal) {
  EXPECT_EQ(Refusal("\"\\u001b[31m\" = 1\n").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cloche::project
