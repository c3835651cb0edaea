#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "promote/triggers.h"

// Changes that went through without an alarm when somebody tried to have something run later.
namespace cloche::promote {
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

}  // namespace
}  // namespace cloche::promote
