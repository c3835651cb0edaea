#include "spawn/check.h"

#include <errno.h>
#include <gtest/gtest.h>

namespace cloche::spawn {
namespace {

sys::PeerIdentity Peer(uint32_t uid) {
  sys::PeerIdentity peer;
  peer.uid = uid;
  peer.gid = uid;
  peer.group_count = 1;
  peer.groups[0] = uid;
  return peer;
}

LaunchPlan Plan(uint32_t uid) {
  LaunchPlan plan;
  plan.sandbox_id = "sb_abc234";
  plan.spec.caller = {uid, uid, {uid}};
  plan.spec.root_inside = uid == 0;
  plan.spec.hostname = "here";
  plan.spec.mounts = {{.kind = MountKind::kOverlay, .source = "/", .target = "/"},
                      {.kind = MountKind::kProc, .source = "", .target = "/proc"},
                      {.kind = MountKind::kDev, .source = "", .target = "/dev"}};
  return plan;
}

// Inserts before the last two, which are the sandbox's own /proc and /dev.
MountOp& Add(LaunchPlan& plan, MountOp op) {
  return *plan.spec.mounts.insert(plan.spec.mounts.end() - 2, std::move(op));
}

int Refusal(const LaunchPlan& plan, const sys::PeerIdentity& peer, Mode mode = Mode::kSystem) {
  auto checked = CheckPlan(plan, peer, mode);
  return checked ? 0 : checked.error().error;
}

TEST(CheckPlan, OrdinaryPlansPass) {
  EXPECT_EQ(Refusal(Plan(0), Peer(0)), 0);
  EXPECT_EQ(Refusal(Plan(1000), Peer(1000)), 0);
}

TEST(CheckPlan, CallersCannotPassForSomebodyElse) {
  EXPECT_EQ(Refusal(Plan(0), Peer(1000)), EPERM);
  EXPECT_EQ(Refusal(Plan(1001), Peer(1000)), EPERM);
  LaunchPlan more_groups = Plan(1000);
  more_groups.spec.caller.groups.push_back(27);
  EXPECT_EQ(Refusal(more_groups, Peer(1000)), EPERM);
}

TEST(CheckPlan, RootInsideRequiresACallerWhoIsRoot) {
  LaunchPlan plan = Plan(1000);
  plan.spec.root_inside = true;
  EXPECT_EQ(Refusal(plan, Peer(1000)), EPERM);
  plan.spec.mode = Mode::kRootless;
  EXPECT_EQ(Refusal(plan, Peer(1000), Mode::kRootless), EPERM);
}

TEST(CheckPlan, MappedRootRequiresABaseThatIsNotTheHost) {
  LaunchPlan plan = Plan(1000);
  plan.spec.mode = Mode::kRootless;
  plan.spec.map_root = true;
  EXPECT_EQ(Refusal(plan, Peer(1000), Mode::kRootless), EPERM);
  plan.spec.base_is_host = false;
  EXPECT_EQ(Refusal(plan, Peer(1000), Mode::kRootless), 0);
  plan.spec.mode = Mode::kSystem;
  EXPECT_EQ(Refusal(plan, Peer(1000)), EPERM);
}

TEST(CheckPlan, TheSystemIsNeverBoundWritable) {
  for (const char* path : {"/", "/etc", "/etc/cron.d", "/usr/local/bin", "/boot"}) {
    LaunchPlan plan = Plan(0);
    MountOp& op = Add(plan, {.kind = MountKind::kBind, .source = path, .target = "/mnt"});
    EXPECT_EQ(Refusal(plan, Peer(0)), EPERM) << path;
    op.read_only = true;
    EXPECT_EQ(Refusal(plan, Peer(0)), 0) << path;
  }
}

TEST(CheckPlan, TheHostsKernelFilesystemsAreNotSources) {
  for (const char* path : {"/proc", "/proc/1/root", "/sys/fs", "/dev"})
    for (MountKind kind : {MountKind::kBind, MountKind::kOverlay}) {
      LaunchPlan plan = Plan(0);
      Add(plan, {.kind = kind, .source = path, .target = "/mnt", .read_only = true});
      EXPECT_EQ(Refusal(plan, Peer(0)), EPERM) << path;
    }
}

// Two spellings of one path could get two different answers.
TEST(CheckPlan, OnlyTheShortestSpellingOfAPathPasses) {
  for (const char* path :
       {"/a/../b", "/..", "a", "", "/a/./b", "//", "//etc", "/etc/", "/a//b", "/."}) {
    LaunchPlan plan = Plan(0);
    Add(plan, {.kind = MountKind::kTmpfs, .source = "", .target = path});
    EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL) << path;
    plan = Plan(0);
    Add(plan, {.kind = MountKind::kBind, .source = path, .target = "/mnt"});
    EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL) << path;
    plan = Plan(0);
    plan.spec.files.push_back({FileRuleKind::kHide, path, ""});
    EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL) << path;
  }
}

TEST(CheckPlan, ASandboxHasItsOwnProcAndDev) {
  for (size_t missing : {1, 2}) {
    LaunchPlan plan = Plan(0);
    plan.spec.mounts.erase(plan.spec.mounts.begin() + static_cast<long>(missing));
    EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL);
  }
}

TEST(CheckPlan, NothingCoversTheSandboxsOwnProcAndDev) {
  LaunchPlan plan = Plan(0);
  plan.spec.mounts.push_back({.kind = MountKind::kTmpfs, .source = "", .target = "/proc"});
  EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL);
  plan = Plan(0);
  Add(plan, {.kind = MountKind::kProc, .source = "", .target = "/proc"});
  EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL);
}

TEST(CheckPlan, TheSandboxsOwnSysIsAtItsPlaceAndOnce) {
  const MountOp sys{.kind = MountKind::kSys, .source = "", .target = "/sys"};
  LaunchPlan plan = Plan(0);
  Add(plan, sys);
  EXPECT_EQ(Refusal(plan, Peer(0)), 0);
  Add(plan, {.kind = MountKind::kTmpfs, .source = "", .target = "/sys/fs"});
  EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL);
  plan = Plan(0);
  Add(plan, sys).target = "/etc";
  EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL);
}

TEST(CheckPlan, DecoysAreFewAndSmall) {
  LaunchPlan plan = Plan(0);
  plan.spec.files.push_back({FileRuleKind::kDecoy, "/root/.npmrc", std::string(4096, 'x')});
  EXPECT_EQ(Refusal(plan, Peer(0)), 0);
  plan.spec.files.push_back({FileRuleKind::kDecoyInstead, "/root/.env", std::string(4097, 'x')});
  EXPECT_EQ(Refusal(plan, Peer(0)), E2BIG);
  plan.spec.files.assign(33, {FileRuleKind::kDecoy, "/root/.npmrc", ""});
  EXPECT_EQ(Refusal(plan, Peer(0)), E2BIG);
}

TEST(CheckPlan, OnlyWellFormedIdsPass) {
  for (const char* id : {"", "sb_", "x", "sb_../x", "sb_A", "../../etc"}) {
    LaunchPlan plan = Plan(0);
    plan.sandbox_id = id;
    EXPECT_EQ(Refusal(plan, Peer(0)), EINVAL) << id;
  }
}

}  // namespace
}  // namespace cloche::spawn
