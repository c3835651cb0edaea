// Plans are compared with the files of tests/golden. After an intended change:
//   CLOCHE_UPDATE_GOLDEN=1 ctest -R policy.Plan
// and then read the difference that git shows.
#include "policy/plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "policy/print.h"
#include "policy/view.h"

namespace cloche {
namespace {

using testing::HasSubstr;

const UserFacts kRoot{.uid = 0, .gid = 0, .groups = {0}, .name = "root", .home = "/root"};
const UserFacts kAnna{
    .uid = 1000, .gid = 1000, .groups = {1000, 27}, .name = "anna", .home = "/home/anna"};

HostFacts Machine(Mode mode) {
  HostFacts facts{.mode = mode,
                  .kernel_major = 6,
                  .kernel_minor = 12,
                  .hostname = "box",
                  .mounts = {{"/sys", "sysfs", "sysfs"},
                             {"/proc", "proc", "proc"},
                             {"/dev", "udev", "devtmpfs"},
                             {"/dev/pts", "devpts", "devpts"},
                             {"/run", "tmpfs", "tmpfs"},
                             {"/", "/dev/sda1", "ext4"},
                             {"/sys/fs/cgroup", "cgroup2", "cgroup2"},
                             {"/run/user/1000", "tmpfs", "tmpfs"}},
                  .other_homes = {"/home/bob"},
                  .cloche_paths = {"/var/lib/cloche", "/run/cloche"},
                  .memory_bytes = uint64_t{16} << 30,
                  .cpus = 8,
                  .cgroup = Cgroup::kV2};
  if (mode == Mode::kRootless) {
    facts.cgroup = Cgroup::kNone;
    facts.other_homes.push_back("/root");
    facts.cloche_paths = {"/home/anna/.local/share/cloche", "/run/user/1000/cloche"};
  }
  return facts;
}

SandboxRequest InProject() {
  return {.cwd = "/home/anna/project/src", .home = "/home/anna", .project = "/home/anna/project"};
}

std::string WhyHidden(const Planned& planned, const std::string& path) {
  const auto found = std::ranges::find(planned.hidden, path, &Absence::path);
  return found == planned.hidden.end() ? "" : found->why;
}

// One line for each op. Of the default hidden list only the number is shown: it has a golden file
// of its own, the explain text.
std::string Compact(const Planned& planned) {
  auto json = PlannedToJson(planned);
  std::string out;
  const auto lines = [&](const char* title, const auto& array) {
    out += std::string(title) + "\n";
    for (const auto& item : array) out += "  " + item.dump() + "\n";
  };
  lines("mounts", json["plan"]["mounts"]);
  size_t hidden = 0;
  auto others = nlohmann::ordered_json::array();
  for (const auto& rule : json["plan"]["files"])
    if (rule["kind"] == "hide" && WhyHidden(planned, rule["path"]) != "--hide")
      ++hidden;
    else
      others.push_back(rule);
  lines("files", others);
  out += "  and " + std::to_string(hidden) + " paths of the default list hidden\n";
  lines("differences", json["differences"]);
  for (const char* key : {"mounts", "files"}) json["plan"].erase(key);
  json.erase("differences");
  json.erase("hidden");
  return out + json.dump(1) + "\n";
}

void ExpectFile(const std::string& name, const std::string& actual) {
  const std::string path = std::string(CLOCHE_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("CLOCHE_UPDATE_GOLDEN")) {
    std::ofstream(path) << actual;
    return;
  }
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "read the head of plan_test.cc if this was intended";
}

void ExpectGolden(const char* name, const Result<Planned>& planned) {
  ASSERT_TRUE(planned) << planned.error().message;
  ExpectFile(std::string("plan_") + name + ".txt", Compact(*planned));
}

void ExpectRefused(const Result<Planned>& planned, Code code, const char* message,
                   const char* cure) {
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, code) << planned.error().message;
  EXPECT_THAT(planned.error().message, HasSubstr(message));
  EXPECT_THAT(planned.error().cure, HasSubstr(cure));
}

const MountOp* Find(const Planned& planned, std::string_view target) {
  const auto& mounts = planned.plan.spec.mounts;
  const auto found = std::ranges::find(mounts, target, &MountOp::target);
  return found == mounts.end() ? nullptr : &*found;
}

bool Hides(const Planned& planned, std::string_view path) {
  return std::ranges::any_of(planned.plan.spec.files, [&](const FileRule& rule) {
    return rule.kind == FileRuleKind::kHide && rule.path == path;
  });
}

bool Covers(const Planned& planned, std::string_view path) {
  const MountOp* op = Find(planned, path);
  return op && op->kind == MountKind::kTmpfs && op->read_only && op->optional;
}

// Side stores, which hold what promotions replaced on other file systems than the home's.
TEST(Plan, SideStoresAreNeverWritableInAnyMode) {
  for (const Mode mode : {Mode::kSystem, Mode::kRootless}) {
    HostFacts facts = Machine(mode);
    facts.mounts.push_back({"/srv/disk", "/dev/sdb1", "ext4"});
    facts.mounts.push_back({"/srv/archive", "/dev/sdc1", "ext4"});
    facts.mounts.back().read_only = true;
    SandboxRequest request = InProject();
    request.ro = {"/opt/data"};
    request.rw = {"/srv"};
    const auto planned = MakePlan(facts, kAnna, request, "sb_1");
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_TRUE(Hides(*planned, "/home/anna/project/.cloche-promotions"));
    for (const char* real : {"/srv", "/srv/disk", "/srv/archive"})
      EXPECT_TRUE(Covers(*planned, std::string(real) + "/.cloche-promotions")) << real;
    request.rw.clear();
    request.ro.clear();
    const auto without = MakePlan(facts, kAnna, request, "sb_1");
    ASSERT_TRUE(without) << without.error().message;
    if (mode == Mode::kSystem) {
      EXPECT_TRUE(Hides(*without, "/srv/disk/.cloche-promotions"));
      EXPECT_TRUE(Hides(*without, "/srv/archive/.cloche-promotions")) << "it is read-only";
    }
    request.rw = {"/home/anna/project"};
    const auto own = MakePlan(facts, kAnna, request, "sb_1");
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_TRUE(Covers(*own, "/home/anna/project/.cloche-promotions"));
    for (const bool writable : {false, true}) {
      SandboxRequest inside = InProject();
      (writable ? inside.rw : inside.ro) = {"/srv/disk/.cloche-promotions/pr_1"};
      ExpectRefused(MakePlan(facts, kAnna, inside, "sb_1"), Code::kDenied, "promotions keep there",
                    "cloche undo");
    }
    SandboxRequest declared = InProject();
    declared.declared.emplace();
    declared.declared->inputs = {"/opt/data"};
    declared.declared->output = "/srv/disk/out";
    const auto only = MakePlan(facts, kAnna, declared, "sb_1");
    ASSERT_TRUE(only) << only.error().message;
    EXPECT_TRUE(Covers(*only, "/srv/disk/out/.cloche-promotions"));
  }
}

TEST(Plan, RootOnSystemHost) {
  SandboxRequest request{.cwd = "/root", .home = "/root"};
  HostFacts facts = Machine(Mode::kSystem);
  facts.other_homes.push_back("/home/anna");
  ExpectGolden("root_system", MakePlan(facts, kRoot, request, "sb_1"));
}

TEST(Plan, OrdinaryCallerOnSystemHost) {
  HostFacts facts = Machine(Mode::kSystem);
  facts.other_homes.push_back("/root");
  const Result<Planned> planned = MakePlan(facts, kAnna, InProject(), "sb_1");
  ExpectGolden("user_system", planned);
  EXPECT_FALSE(planned->plan.spec.root_inside);
}

TEST(Plan, Rootless) {
  ExpectGolden("rootless", MakePlan(Machine(Mode::kRootless), kAnna, InProject(), "sb_1"));
}

TEST(Plan, RootlessRefusesWhereSocketsThatStayAliveAreNotKnown) {
  HostFacts facts = Machine(Mode::kRootless);
  facts.root_directories = {"/dev", "/srv", "/tmp"};
  EXPECT_FALSE(BindsTopDirectory(facts));
  facts.mounts.push_back({"/srv/data", "/dev/sdb1", "ext4"});
  EXPECT_TRUE(BindsTopDirectory(facts));
  facts.sockets = {"/srv/db.sock"};
  const Result<Planned> planned = MakePlan(facts, kAnna, InProject(), "sb_1");
  ASSERT_TRUE(planned);
  EXPECT_EQ(WhyHidden(*planned, "/srv/db.sock"), "socket of a service of the host");
  facts.sockets_known = false;
  EXPECT_FALSE(MakePlan(facts, kAnna, InProject(), "sb_1"));
}

TEST(Plan, RootlessProjectOutsideHome) {
  SandboxRequest request{.cwd = "/srv/work/p", .home = "/home/anna", .project = "/srv/work/p"};
  ExpectGolden("rootless_project_outside",
               MakePlan(Machine(Mode::kRootless), kAnna, request, "sb_1"));
}

TEST(Plan, RefusesAKernelFileSystemAsBase) {
  for (const char* base : {"/proc/1/root", "/dev", "/sys/fs"}) {
    SandboxRequest request = InProject();
    request.base_directory = base;
    ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_x"), Code::kInvalid, base,
                  "realpath");
  }
}

TEST(Plan, DirectoryBase) {
  SandboxRequest request = InProject();
  request.base_directory = "/srv/debian";
  ExpectGolden("dir_rootless", MakePlan(Machine(Mode::kRootless), kAnna, request, "sb_1"));
  const Result<Planned> system = MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_1");
  ASSERT_TRUE(system);
  EXPECT_FALSE(system->plan.spec.root_inside);
  EXPECT_FALSE(system->plan.spec.map_root);
  const Result<Planned> root = MakePlan(Machine(Mode::kSystem), kRoot, request, "sb_1");
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->plan.spec.root_inside);
}

TEST(Plan, ADirectoryBaseHidesWhatACopyOfTheHostHides) {
  const auto hides = [](const Result<Planned>& planned, const char* path) {
    EXPECT_TRUE(planned) << planned.error().message;
    return planned && std::ranges::any_of(planned->plan.spec.files, [&](const FileRule& rule) {
             return rule.kind == FileRuleKind::kHide && rule.path == path;
           });
  };
  for (const Mode mode : {Mode::kSystem, Mode::kRootless}) {
    SandboxRequest request = InProject();
    request.base_directory = "/home/anna";
    const Result<Planned> home = MakePlan(Machine(mode), kAnna, request, "sb_1");
    EXPECT_TRUE(hides(home, "/.ssh"));
    EXPECT_TRUE(hides(home, "/.aws"));
    EXPECT_EQ(WhyHidden(*home, "/**/.env"), "secrets of the project");
    request.base_directory = "/home";
    const Result<Planned> above = MakePlan(Machine(mode), kAnna, request, "sb_1");
    EXPECT_TRUE(hides(above, "/anna/.ssh"));
    EXPECT_TRUE(hides(above, "/bob"));
    // Where the caller stands is not what is shown.
    request.cwd = "/home/anna/.ssh";
    request.project = "";
    EXPECT_TRUE(hides(MakePlan(Machine(mode), kAnna, request, "sb_1"), "/anna/.ssh"));
    request.base_directory = "/etc";
    EXPECT_TRUE(hides(MakePlan(Machine(mode), kRoot, request, "sb_1"), "/shadow"));
    for (const char* hidden : {"/home/anna/.ssh", "/home/anna/.aws/sso"}) {
      request.base_directory = hidden;
      ExpectRefused(MakePlan(Machine(mode), kAnna, request, "sb_1"), Code::kInvalid, hidden,
                    "copy what is needed");
    }
    request.base_directory = mode == Mode::kSystem ? "/var/lib/cloche/x" : "/run/user/1000/cloche";
    ExpectRefused(MakePlan(Machine(mode), kAnna, request, "sb_1"), Code::kDenied, "Cloche", " ");
    // Somebody else's home may hold a base, but no credentials.
    request.base_directory = "/home/bob";
    EXPECT_TRUE(hides(MakePlan(Machine(mode), kAnna, request, "sb_1"), "/.ssh"));
    request.base_directory = "/home/bob/rootfs";
    EXPECT_TRUE(MakePlan(Machine(mode), kAnna, request, "sb_1"));
  }
}

TEST(Plan, Declared) {
  SandboxRequest request = InProject();
  request.declared = DeclaredView{{"/home/anna/project", "/data/in"}, "/home/anna/project/out", {}};
  ExpectGolden("declared", MakePlan(Machine(Mode::kRootless), kAnna, request, "sb_1"));
}

HostFacts OddMounts(int kernel_minor) {
  HostFacts facts = Machine(Mode::kSystem);
  facts.kernel_minor = kernel_minor;
  facts.mounts.push_back({"/boot/efi", "/dev/sda2", "vfat"});
  facts.mounts.push_back({"/mnt/nas", "nas:/x", "nfs4"});
  facts.mounts.push_back({"/mnt/nas/inner", "/dev/sdb1", "ext4"});
  facts.mounts.push_back({"/tmp", "tmpfs", "tmpfs"});
  facts.mounts.push_back({"/data", "/dev/sdc1", "xfs"});
  facts.mounts.push_back({"/data/frozen", "/dev/sdd1", "ext4", true});
  facts.mounts.push_back({"/home/bob", "/dev/sde1", "ext4"});
  facts.mounts.push_back({"/var/lib/cloche/pool", "/dev/loop0", "btrfs"});
  facts.mounts.push_back({"/etc/hosts", "/dev/sda1", "ext4", false, true});
  facts.mounts.push_back({"/old", "/dev/sdf1", "ext2"});
  return facts;
}

TEST(Plan, SubmountsOnAnOldKernel) {
  ExpectGolden("submounts_6_1", MakePlan(OddMounts(1), kRoot, {.cwd = "/root"}, "sb_1"));
}

TEST(Plan, SubmountsOnANewKernel) {
  ExpectGolden("submounts_6_12", MakePlan(OddMounts(12), kRoot, {.cwd = "/root"}, "sb_1"));
}

TEST(Plan, GrantsOnSystemHost) {
  SandboxRequest request = InProject();
  request.ro = {"/data", "/home/anna/.kube"};
  request.rw = {"/home/anna/project/out"};
  request.hide = {"/opt/secret", "/home/anna/project/private"};
  HostFacts facts = Machine(Mode::kSystem);
  facts.mounts.push_back({"/data/deep", "/dev/sdb1", "ext4"});
  ExpectGolden("grants_system", MakePlan(facts, kAnna, request, "sb_1"));
}

TEST(Plan, GrantsRootless) {
  SandboxRequest request = InProject();
  request.ro = {"/home/anna/project/vendor"};
  request.rw = {"/srv/out"};
  request.hide = {"/opt/secret", "/home/anna/project/private"};
  request.limits.disk = uint64_t{1} << 30;
  ExpectGolden("grants_rootless", MakePlan(Machine(Mode::kRootless), kAnna, request, "sb_1"));
}

TEST(Plan, ExplainShowsAllOfItAsTextAndAsJson) {
  HostFacts facts = Machine(Mode::kSystem);
  facts.other_homes.push_back("/root");
  const Result<Planned> planned = MakePlan(facts, kAnna, InProject(), "sb_1");
  ASSERT_TRUE(planned);
  ExpectFile("explain_user_system.txt", PlannedToText(*planned));
  SandboxRequest request = InProject();
  request.base_directory = "/srv/debian";
  const Result<Planned> small = MakePlan(Machine(Mode::kRootless), kAnna, request, "sb_1");
  ASSERT_TRUE(small);
  ExpectFile("explain_dir_rootless.json", PlannedToJson(*small).dump(1) + "\n");
}

TEST(Plan, TheSpecDoesNotDependOnTheSandbox) {
  SandboxRequest request = InProject();
  const Result<Planned> one = MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_1");
  request.name = "other";
  request.limits.pids = 7;
  request.cwd = "/home/anna/project";
  const Result<Planned> two = MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_2");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(EncodeSpec(one->plan.spec), EncodeSpec(two->plan.spec));
}

TEST(Plan, DecoysArePlacedOnlyWhereSomethingIsHidden) {
  SandboxRequest request = InProject();
  request.canaries = {true, MakeDecoys(std::string(kDecoyRandom, 'r'))};
  const auto laid = [&](Mode mode) {
    std::vector<std::string> paths;
    const auto planned = MakePlan(Machine(mode), kAnna, request, "sb_x");
    EXPECT_TRUE(planned);
    for (const DecoyPlace& each : planned->decoys) paths.push_back(each.path);
    size_t rules = 0;
    for (const FileRule& rule : planned->plan.spec.files)
      rules += rule.kind == FileRuleKind::kDecoy || rule.kind == FileRuleKind::kDecoyInstead;
    EXPECT_EQ(rules, paths.size());
    return paths;
  };
  const std::vector<std::string> all = {
      "/home/anna/.aws/credentials", "/home/anna/.ssh/id_ed25519",
      "/home/anna/.git-credentials", "/home/anna/.config/gh/hosts.yml",
      "/home/anna/.npmrc",           "/home/anna/project/.env"};
  EXPECT_EQ(laid(Mode::kSystem), all);
  EXPECT_EQ(laid(Mode::kRootless), all);
  request.ro = {"/home/anna/.aws"};
  request.project = "";
  const std::string here = "/home/anna/project/src/.env";  // cwd stands in for the project
  EXPECT_EQ(laid(Mode::kSystem), (std::vector<std::string>{all[1], all[2], all[3], all[4], here}));
}

TEST(Plan, RootlessDecoysNeedAKernelThatCanHideWhatIsBelow) {
  SandboxRequest request = InProject();
  request.canaries.wanted = true;
  HostFacts facts = Machine(Mode::kRootless);
  facts.kernel_minor = 5;
  EXPECT_FALSE(MakePlan(facts, kAnna, request, "sb_x"));
  facts.mode = Mode::kSystem;
  EXPECT_TRUE(MakePlan(facts, kAnna, request, "sb_x"));
}

TEST(Plan, SurvivesTheWire) {
  const Result<Planned> planned = MakePlan(OddMounts(12), kRoot, {.cwd = "/root"}, "sb_1");
  ASSERT_TRUE(planned);
  const Result<LaunchPlan> decoded = DecodePlan(EncodePlan(planned->plan));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, planned->plan);
}

TEST(Plan, DropRootGivesUpRootInside) {
  const Result<Planned> planned =
      MakePlan(Machine(Mode::kSystem), kRoot, {.cwd = "/root", .drop_root = true}, "sb_1");
  ASSERT_TRUE(planned);
  EXPECT_FALSE(planned->plan.spec.root_inside);
}

TEST(Plan, WritingForRealIsRefusedWhereTheHostTakesOrders) {
  for (const char* path :
       {"/", "/etc", "/etc/cron.d", "/usr/local/bin", "/proc/1", "/sys", "/dev/shm", "/boot",
        "/home/anna", "/home", "/var/lib/cloche", "/var/lib", "/run/x", "/home/anna/.ssh",
        "/home/anna/.config", "/home/anna/.ssh/config"}) {
    for (const char* base : {"", "/srv/debian"}) {
      SandboxRequest request = InProject();
      request.rw = {path};
      request.base_directory = base;
      SCOPED_TRACE(path);
      ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_1"), Code::kDenied, path,
                    " ");
    }
    SandboxRequest declared = InProject();
    declared.declared = DeclaredView{{}, path, {}};
    ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, declared, "sb_1"), Code::kDenied,
                  "output", " ");
  }
}

TEST(Plan, ReadOnlyBindsDoNotUncoverHiddenPaths) {
  const struct {
    const char* path;
    const char* message;
  } cases[] = {{"/", "everything"},
               {"/home/anna", "below it is hidden"},
               {"/home/anna/.ssh/known_hosts", "lies in /home/anna/.ssh"},
               {"/etc", "below it is hidden"},
               {"/run/docker.sock", "has its own"},
               {"/home/bob", "below it is hidden"}};
  for (const auto& each : cases) {
    SandboxRequest request = InProject();
    request.ro = {each.path};
    ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_1"), Code::kInvalid,
                  each.message, " ");
  }
}

TEST(Plan, ADirectoryInAnotherHomeCanBeNamed) {
  SandboxRequest request = InProject();
  request.ro = {"/home/bob/shared"};
  const Result<Planned> planned = MakePlan(Machine(Mode::kSystem), kAnna, request, "sb_1");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_FALSE(Hides(*planned, "/home/bob"));
  EXPECT_TRUE(Hides(*planned, "/home/bob/.ssh"));
}

TEST(Plan, ContradictionsAreRefused) {
  SandboxRequest request = InProject();
  request.ro = request.rw = {"/srv/x"};
  ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "s"), Code::kInvalid, "/srv/x",
                "once");
  request = InProject();
  request.hide = {"/home/anna"};
  ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "s"), Code::kInvalid,
                "commands start", "");
  request = InProject();
  request.hide = {"/srv/x/y"};
  request.rw = {"/srv/x"};
  ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "s"), Code::kInvalid, "bound",
                "bind");
  request = InProject();
  request.hide = {"/proc"};
  ExpectRefused(MakePlan(Machine(Mode::kSystem), kAnna, request, "s"), Code::kInvalid, "its own",
                "");
}

TEST(Plan, StartingWhereNothingIsCopiedIsRefused) {
  for (const char* cwd : {"/run/user/1000/x", "/dev/mapper", "/sys/kernel"})
    for (const Mode mode : {Mode::kSystem, Mode::kRootless})
      ExpectRefused(MakePlan(Machine(mode), kAnna, {.cwd = cwd}, "s"), Code::kUnavailable, cwd,
                    "disk");
  ExpectRefused(MakePlan(OddMounts(12), kRoot, {.cwd = "/mnt/nas/x"}, "s"), Code::kUnavailable,
                "/mnt/nas/x", "ext4");
  ExpectRefused(MakePlan(OddMounts(1), kRoot, {.cwd = "/tmp/x"}, "s"), Code::kUnavailable, "/tmp/x",
                "");
  EXPECT_TRUE(MakePlan(OddMounts(1), kRoot, {.cwd = "/tmp"}, "s"));
  EXPECT_TRUE(MakePlan(OddMounts(12), kRoot, {.cwd = "/tmp/x"}, "s"));
  ExpectRefused(MakePlan(Machine(Mode::kSystem), kRoot, {.cwd = "/var/lib/cloche/x"}, "s"),
                Code::kDenied, "Cloche", "another");
}

TEST(Plan, ARootThatCannotBeMappedIsRefused) {
  HostFacts facts = Machine(Mode::kSystem);
  facts.in_container = true;
  facts.mounts.push_back({"/", "overlay", "overlay"});
  ExpectRefused(MakePlan(facts, kRoot, {}, "s"), Code::kUnavailable, "overlay",
                "outside of the container");
}

TEST(Plan, AReadOnlyMountThatHoldsTheProjectGetsACopy) {
  HostFacts facts = Machine(Mode::kSystem);
  facts.mounts.push_back({"/srv", "/dev/sdb1", "ext4", true});
  const Result<Planned> with = MakePlan(facts, kRoot, {.cwd = "/srv/p", .project = "/srv/p"}, "s");
  const Result<Planned> without = MakePlan(facts, kRoot, {.cwd = "/root"}, "s");
  ASSERT_TRUE(with && without);
  EXPECT_FALSE(Find(*with, "/srv")->read_only);
  EXPECT_TRUE(Find(*without, "/srv")->read_only);
}

TEST(Plan, RootlessCannotCopyAcrossMounts) {
  HostFacts facts = Machine(Mode::kRootless);
  facts.mounts.push_back({"/home/anna/cloud", "sshfs", "fuse.sshfs"});
  ExpectRefused(MakePlan(facts, kAnna, InProject(), "s"), Code::kUnavailable, "/home/anna/cloud",
                "unmount /home/anna/cloud");
  facts = Machine(Mode::kRootless);
  facts.mounts.push_back({"/tmp/x", "tmpfs", "tmpfs"});
  const Result<Planned> planned = MakePlan(facts, kAnna, InProject(), "s");
  ASSERT_TRUE(planned);
  EXPECT_EQ(Find(*planned, "/tmp")->kind, MountKind::kTmpfs);
  const Result<Planned> below =
      MakePlan(facts, kAnna, {.cwd = "/tmp/p", .home = "/home/anna", .project = "/tmp/p"}, "s");
  ASSERT_TRUE(below) << below.error().message;
  EXPECT_EQ(Find(*below, "/tmp")->kind, MountKind::kTmpfs);
  EXPECT_EQ(Find(*below, "/tmp/p")->kind, MountKind::kOverlay);
  EXPECT_LT(Find(*below, "/tmp"), Find(*below, "/tmp/p"));
  ExpectRefused(
      MakePlan(facts, kAnna, {.cwd = "/tmp/x", .home = "/home/anna", .project = "/tmp"}, "s"),
      Code::kUnavailable, "/tmp/x (tmpfs) is mounted below it", "unmount /tmp/x");
  facts = Machine(Mode::kRootless);
  facts.mounts.push_back({"/home/anna", "/dev/sdb1", "ext4"});
  EXPECT_TRUE(MakePlan(facts, kAnna, InProject(), "s"));
}

TEST(Plan, RootlessHidesTheRealHomeThoughHomePointsElsewhere) {
  SandboxRequest request{.cwd = "/tmp/h", .home = "/tmp/h"};
  const Result<Planned> planned = MakePlan(Machine(Mode::kRootless), kAnna, request, "s");
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(Hides(*planned, "/home/anna/.ssh"));
  ASSERT_TRUE(Find(*planned, "/home/anna"));
  EXPECT_TRUE(Find(*planned, "/home/anna")->optional);
}

TEST(Plan, RootlessHidesAlsoWhatItWouldCopy) {
  for (const char* path : {"/tmp", "/var"}) {
    SandboxRequest request = InProject();
    request.hide = {path};
    const Result<Planned> planned = MakePlan(Machine(Mode::kRootless), kAnna, request, "s");
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_TRUE(Find(*planned, path));
    EXPECT_EQ(Find(*planned, path)->kind, MountKind::kTmpfs);
    EXPECT_TRUE(Find(*planned, path)->optional);  // absent: nothing to hide
    EXPECT_EQ(Find(*planned, "/var/tmp") != nullptr, path == std::string_view("/tmp"));
  }
}

TEST(Plan, LimitsThatCannotBeKeptAreRefusedWhenAskedForAndSaidWhenNot) {
  const HostFacts facts = Machine(Mode::kRootless);
  SandboxRequest request = InProject();
  request.limits.memory = 64 << 20;
  ExpectRefused(MakePlan(facts, kAnna, request, "s"), Code::kUnavailable, "memory", "Delegate=yes");
  request = InProject();
  request.limits.cpu = 1.5;
  ExpectRefused(MakePlan(facts, kAnna, request, "s"), Code::kUnavailable, "cpu", "Delegate=yes");
  HostFacts old = facts;
  old.kernel_minor = 1;
  request = InProject();
  request.limits.disk = 1 << 30;
  ExpectRefused(MakePlan(old, kAnna, request, "s"), Code::kUnavailable, "6.6", "as root");

  const Result<Planned> defaults = MakePlan(facts, kAnna, InProject(), "s");
  ASSERT_TRUE(defaults);
  EXPECT_THAT(defaults->not_enforced, testing::Contains("memory: no delegated cgroup here"));
  EXPECT_EQ(defaults->plan.limits, KernelLimits{});
  EXPECT_EQ(defaults->limits.pids, 1024u);

  HostFacts delegated = facts;
  delegated.cgroup = Cgroup::kV2;
  request = InProject();
  request.limits.memory = 64 << 20;
  request.limits.cpu = 1.5;
  const Result<Planned> kept = MakePlan(delegated, kAnna, request, "s");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->plan.limits.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(kept->plan.limits.cpu_millis, 1500u);
  EXPECT_EQ(kept->plan.limits.pids, 1024u);
}

TEST(Plan, FilesAreCountedInMemory) {
  SandboxRequest request = InProject();
  request.limits.inodes = 5000;
  const Result<Planned> counted = MakePlan(Machine(Mode::kSystem), kAnna, request, "s");
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_TRUE(counted->plan.in_memory);
  EXPECT_EQ(counted->plan.limits.inodes, 5000u);
  EXPECT_EQ(counted->plan.limits.disk_bytes, uint64_t{8} << 30) << "half of the memory";

  HostFacts old = Machine(Mode::kSystem);
  old.kernel_minor = 1;
  ExpectRefused(MakePlan(old, kAnna, request, "s"), Code::kUnavailable, "6.3", "--inodes");
  request = InProject();
  request.in_memory = true;
  EXPECT_TRUE(MakePlan(Machine(Mode::kSystem), kAnna, request, "s")->plan.in_memory);
  EXPECT_FALSE(MakePlan(Machine(Mode::kSystem), kAnna, InProject(), "s")->plan.in_memory);
}

}  // namespace
}  // namespace cloche
