#include "change/rules/corpus.h"

#include <gtest/gtest.h>

#include "change/rules/credentials.h"

namespace cloche::rules {
namespace {

std::string Told(const std::vector<Trigger>& triggers) {
  std::string text;
  for (const Trigger& trigger : triggers) {
    text += std::string(trigger.id) + (trigger.severity == Severity::kAlarm ? "!" : "") + ": ";
    for (const std::string& line : trigger.effective) text += line + " | ";
  }
  return text;
}

bool Alarms(const std::vector<Trigger>& triggers) {
  return std::ranges::any_of(triggers,
                             [](const Trigger& t) { return t.severity == Severity::kAlarm; });
}

TEST(Corpus, NoOrdinaryCommitAlarms) {
  const auto commits = corpus::Read("ordinary");
  EXPECT_GE(commits.size(), 20u);
  for (const auto& commit : commits)
    for (const auto& file : commit.files) {
      const auto triggers = FindTriggers(file.Change(), corpus::kRoots);
      EXPECT_FALSE(Alarms(triggers)) << commit.name << ": " << Told(triggers);
    }
}

TEST(Corpus, EveryHostileCommitAlarmsAndShowsWhy) {
  const auto commits = corpus::Read("hostile");
  EXPECT_GE(commits.size(), 20u);
  for (const auto& commit : commits) {
    bool alarmed = false;
    for (const auto& file : commit.files) {
      const auto triggers = FindTriggers(file.Change(), corpus::kRoots);
      alarmed = alarmed || Alarms(triggers);
      for (const Trigger& trigger : triggers)
        EXPECT_TRUE(trigger.severity != Severity::kAlarm || !trigger.effective.empty())
            << commit.name;
    }
    EXPECT_TRUE(alarmed) << commit.name;
  }
}

TEST(Corpus, NothingInItIsACredential) {
  for (const char* kind : {"ordinary", "hostile"})
    for (const auto& commit : corpus::Read(kind))
      for (const auto& file : commit.files)
        EXPECT_TRUE(FindCredentials(file.path, file.before, file.after.value_or("")).empty())
            << commit.name;
}

TEST(Corpus, UnchangedContentDoesNotAlarm) {
  for (const char* kind : {"ordinary", "hostile"})
    for (const auto& commit : corpus::Read(kind))
      for (const auto& file : commit.files) {
        auto same = file;
        same.before = same.after;
        same.old_mode = same.new_mode;
        FileChange change = same.Change();
        change.same_content = false;
        EXPECT_FALSE(Alarms(FindTriggers(change, corpus::kRoots))) << commit.name;
      }
}

}  // namespace
}  // namespace cloche::rules
