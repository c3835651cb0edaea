#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>

#include "base/side_store_name.h"
#include "change/apply/promote_fixture.h"
#include "change/apply/prune.h"
#include "change/apply/side_store.h"

// Wraps the kernel's syncfs to record which filesystem was synced.
static std::vector<dev_t> synced;
extern "C" int syncfs(int fd) noexcept {
  struct stat info {};
  (void)fstat(fd, &info);
  synced.push_back(info.st_dev);
  return static_cast<int>(syscall(SYS_syncfs, fd));
}

// Tests recovery after filesystems have gone and come back, and after others have changed kept
// files.
namespace cloche::apply {
namespace {

bool Sh(const std::string& script) {
  return std::system(("set -e; " + script).c_str()) == 0;  // NOLINT(cert-env33-c)
}

// Uses its own disk in its own mount namespace.
class Recovers : public Promotes {
 protected:
  void SetUp() override {
    Promotes::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    disk_ = top_ / "disk";
    fs::create_directories(disk_);
    ASSERT_TRUE(
        Sh("mount --make-rprivate /; truncate -s 32M " + Image() + "; mkfs.ext4 -q " + Image()));
    Attach();
  }
  void TearDown() override {
    fds_.clear();
    if (!loop_.empty()) (void)Sh("umount " + disk_.string() + "; losetup -d " + loop_);
    Promotes::TearDown();
  }

  std::string Image() const { return top_ / "disk.img"; }
  void Attach() {
    ASSERT_TRUE(Sh("losetup -f --show " + Image() + " > " + (top_ / "loop").string()));
    loop_ = Text(top_ / "loop");
    loop_.pop_back();
    ASSERT_TRUE(Sh("mount " + loop_ + " " + disk_.string()));
  }
  void Unmount() {
    fds_.clear();
    ASSERT_TRUE(Sh("umount " + disk_.string()));
  }
  // Unmounts the disk and mounts it again with another device number.
  void Renumber() {
    struct stat then, now;
    ASSERT_EQ(stat(disk_.c_str(), &then), 0);
    Unmount();
    const std::string old = loop_;
    Attach();
    ASSERT_TRUE(Sh("losetup -d " + old));
    ASSERT_EQ(stat(disk_.c_str(), &now), 0);
    ASSERT_NE(then.st_dev, now.st_dev);
  }
  void RealityOnDisk() { real_ = disk_; }  // replaced files are kept there, the journal elsewhere
  void EverythingOnDisk() {
    real_ = disk_ / "real";
    home_ = disk_ / "home";
    for (const auto& each : {real_, home_}) fs::create_directories(each);
  }
  fs::path SideStores() const { return real_ / kSideStoreName; }
  fs::path StoreOf(const std::string& id) const {
    return home_ / ".local/state/cloche/promotions" / id;
  }
  Result<Promotion> UndoNow(const std::string& id, const std::vector<std::string>& force = {}) {
    auto store = Store::Open(home_);
    if (!store) return std::unexpected(store.error());
    std::vector<std::string> moved;
    auto undone = Undo(*store, id, true, force, moved);
    if (!moved.empty()) return Fail(Code::kConflict, "moved: " + moved[0]);
    return undone;
  }

  // Killed before every change, and once after the last.
  void KillRenumberRecover() {
    MakeStory();
    const auto before = Seen(real_);
    int n = 0;
    for (bool through = false; !through && n < 1000; ++n) {
      through = DiesAt(n, [&] { (void)Run(RootsWish()); });
      ASSERT_NO_FATAL_FAILURE(Renumber());
      if (through) break;
      for (const Recovered& each : RecoverNow()) {
        for (const std::string& problem : each.problems) ADD_FAILURE() << n << ": " << problem;
        EXPECT_EQ(each.what, "reverted");
      }
      ASSERT_EQ(Seen(real_), before) << "killed before change " << n;
    }
    EXPECT_GT(n, 10);
    EXPECT_NE(Seen(real_), before);
    std::string id;
    const auto list = ListPromotions(*Store::Open(home_));
    ASSERT_TRUE(list);
    for (const Promotion& each : *list)
      if (each.state == PromotionState::kDone) id = each.id;
    const auto undone = UndoNow(id);
    ASSERT_TRUE(undone) << undone.error().message;
    EXPECT_EQ(Seen(real_), before);
  }

  fs::path disk_;
  std::string loop_;
};

TEST_F(Recovers, FilesKeptOnADiskThatReturnsWithAnotherNumberAreRestored) {
  RealityOnDisk();
  KillRenumberRecover();
}

TEST_F(Recovers, AStoreOnADiskThatReturnsWithAnotherNumberIsReverted) {
  EverythingOnDisk();
  KillRenumberRecover();
}

TEST_F(Recovers, AnInterruptedUndoContinuesUnderAnotherDeviceNumber) {
  RealityOnDisk();
  MakeStory();
  const auto before = Seen(real_);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  Renumber();
  Put(real_ / "edit", "mine now");
  // With force, so that the journal holds device numbers from two mounts.
  EXPECT_FALSE(DiesAt(3, [&] { (void)UndoNow(done->promotion.id, {real_ / "edit"}); }));
  Renumber();
  const auto recovered = RecoverNow();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_TRUE(recovered[0].problems.empty()) << recovered[0].problems[0];
  auto now = Seen(real_);
  std::erase_if(now, [](const auto& each) { return each.first.starts_with(kSideStoreName); });
  EXPECT_EQ(now, before);
}

TEST_F(Recovers, ADifferentDiskAtTheSamePlaceIsNeitherTouchedNorCalledReverted) {
  RealityOnDisk();
  MakeStory();
  EXPECT_FALSE(DiesAt(8, [&] { (void)Run(RootsWish()); }));
  // An exact copy, but its files have other inodes.
  const std::string copy = top_ / "copy", image = top_ / "copy.img";
  ASSERT_TRUE(Sh("cp -a " + disk_.string() + " " + copy + "; truncate -s 32M " + image +
                 "; mkfs.ext4 -q -d " + copy + " " + image + "; mount -o loop " + image + " " +
                 disk_.string()));
  const auto now = Seen(real_);
  const auto recovered = RecoverNow();
  EXPECT_EQ(Seen(real_), now);
  ASSERT_TRUE(Sh("umount " + disk_.string()));
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0].what, "");
  ASSERT_EQ(recovered[0].problems.size(), 1u);
  EXPECT_NE(recovered[0].problems[0].find(real_ / "becomes-file"), std::string::npos)
      << recovered[0].problems[0];
  EXPECT_FALSE(recovered[0].cure.empty());
  EXPECT_EQ(RecoverNow().at(0).what, "reverted") << "with the right one it is";
}

TEST_F(Recovers, WithoutFilesystemIdsAnotherDeviceNumberIsAMismatchAtEveryPath) {
  EverythingOnDisk();
  MakeStory();
  EXPECT_FALSE(DiesAt(8, [&] { (void)Run(RootsWish()); }));
  Renumber();
  // As an earlier version wrote it.
  const std::string journals = (StoreOf("pr_*") / "journal").string();
  ASSERT_TRUE(Sh("sed -i '/^{\"witness\"/d' " + journals));
  const auto now = Seen(real_);
  const auto recovered = RecoverNow();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0].what, "");
  EXPECT_GT(recovered[0].problems.size(), 5u);
  EXPECT_NE(recovered[0].cure.find("put these paths right by hand"), std::string::npos);
  EXPECT_EQ(Seen(real_), now);
}

TEST_F(Recovers, ChangesToKeptFilesAreFoundBeforeTheyAreRestored) {
  RealityOnDisk();
  Put(real_ / "edit", "old");
  Put(real_ / "gone", "bye");
  Put(upper_ / "edit", "new");
  White(upper_ / "gone");
  const std::map<std::string, std::string> attacks = {
      {"written in place", "printf evil > $kept"},
      {"written in place, and its time set back",
       "touch -r $kept t; printf evi > $kept; "
       "touch -r t $kept; rm t"},
      {"replaced", "mv $kept away; printf evil > $kept"},
      {"removed", "mv $kept away"},
      {"made a symlink", "mv $kept away; ln -s /etc/passwd $kept"}};
  for (const char* name : {"edit", "gone"}) {
    for (const auto& [what, attack] : attacks) {
      const auto done = Run(RootsWish());
      ASSERT_TRUE(done) << done.error().message;
      ASSERT_TRUE(done->conflicts.empty());
      const std::string path = real_ / name;
      const auto step = std::ranges::find(done->promotion.steps, path, &Step::path);
      ASSERT_NE(step, done->promotion.steps.end());
      const fs::path kept = SideStores() / done->promotion.id / std::to_string(step->number);
      ASSERT_TRUE(Sh("cd " + top_.string() + "; kept=" + kept.string() + "; " + attack));
      const auto undone = UndoNow(done->promotion.id);
      ASSERT_FALSE(undone) << name << " " << what;
      EXPECT_EQ(undone.error().code, Code::kConflict) << what;
      EXPECT_NE(undone.error().message.find(path), std::string::npos) << undone.error().message;
      EXPECT_EQ(Text(real_ / "edit"), "new") << "nothing was put back: " << what;
      EXPECT_FALSE(fs::exists(real_ / "gone")) << what;
      // Restored by hand.
      Put(real_ / "edit", "old");
      Put(real_ / "gone", "bye");
      fs::remove_all(SideStores());
      fs::remove_all(StoreOf(done->promotion.id));
      fs::remove_all(top_ / "away");
    }
  }
}

TEST_F(Recovers, KeptFilesAreComparedAfterACrashToo) {
  RealityOnDisk();
  Put(real_ / "a", "old");
  Put(real_ / "b", "old");
  Put(upper_ / "a", "new");
  Put(upper_ / "b", "new");
  EXPECT_FALSE(DiesAt(1, [&] { (void)Run(RootsWish()); }));
  ASSERT_EQ(Text(real_ / "a"), "new");
  const fs::path kept = fs::directory_iterator(SideStores())->path() / "1";
  ASSERT_EQ(Text(kept), "old");
  fs::remove(kept);
  Put(kept, "evil");  // perhaps with the same inode
  const auto recovered = RecoverNow();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0].what, "");
  ASSERT_EQ(recovered[0].problems.size(), 1u);
  EXPECT_NE(recovered[0].problems[0].find(real_ / "a"), std::string::npos);
  EXPECT_EQ(Text(real_ / "a"), "new");
}

// Without a filesystem journal, only what we sync reaches the disk. The image holds what a power
// cut would leave.
TEST_F(Recovers, APowerCutAfterTheAnswerLosesNothingWithoutAFilesystemJournal) {
  Unmount();
  ASSERT_TRUE(Sh("mkfs.ext2 -q -F " + loop_ + "; mount " + loop_ + " " + disk_.string()));
  EverythingOnDisk();
  Put(real_ / "d/edit", "old");
  Put(real_ / "d/gone", "bye");
  Put(upper_ / "d/edit", "new");
  Put(upper_ / "d/added", "more");
  White(upper_ / "d/gone");
  ASSERT_TRUE(Sh("sync -f " + disk_.string()));
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  const std::string cut = top_ / "cut.img", at = top_ / "cut";
  fs::create_directories(at);
  ASSERT_TRUE(Sh("cp " + Image() + " " + cut + "; e2fsck -fy " + cut +
                 " > /dev/null || [ $? = 1 ]; " + "mount -o loop " + cut + " " + at));
  const fs::path left = fs::path(at) / "real/d";
  EXPECT_EQ(Text(left / "edit"), "new");
  EXPECT_EQ(Text(left / "added"), "more");
  EXPECT_FALSE(fs::exists(left / "gone"));
  const fs::path files =
      fs::path(at) / "home/.local/state/cloche/promotions" / done->promotion.id / "files";
  std::set<std::string> kept;
  if (fs::exists(files))
    for (const auto& each : fs::directory_iterator(files)) kept.insert(Text(each.path()));
  EXPECT_EQ(kept, (std::set<std::string>{"old", "bye"})) << "and it can be undone";
  ASSERT_TRUE(Sh("umount " + at));
}

TEST_F(Recovers, FilesKeptElsewhereAreOnDiskBeforeTheStoreSaysSo) {
  RealityOnDisk();
  Put(real_ / "edit", "old");
  Put(upper_ / "edit", "new");
  struct stat disk, store;
  ASSERT_EQ(stat(disk_.c_str(), &disk), 0);
  ASSERT_EQ(stat(home_.c_str(), &store), 0);
  synced.clear();
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(synced, (std::vector<dev_t>{disk.st_dev, store.st_dev, disk.st_dev, store.st_dev}));
}

TEST_F(Recovers, DirectoryAttributesAreSetAgainAfterACrash) {
  EverythingOnDisk();
  Put(real_ / "d/old", "old");
  Put(upper_ / "d/new", "new");
  ASSERT_EQ(setxattr((upper_ / "d").c_str(), "user.note", "after", 5, 0), 0);
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (upper_ / "d").c_str(), times, 0), 0);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  // The last journal lines and the last metadata are not on disk yet: names are written in order,
  // other metadata need not be.
  const fs::path journal = StoreOf(done->promotion.id) / "journal";
  const std::string lines = Text(journal), last = R"({"state":"done")";
  ASSERT_NE(lines.find(last), std::string::npos);
  std::ofstream(journal) << lines.substr(0, lines.find(last));
  ASSERT_EQ(removexattr((real_ / "d").c_str(), "user.note"), 0);
  const timespec other[2] = {{2000, 0}, {2000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (real_ / "d").c_str(), other, 0), 0);
  const auto recovered = RecoverNow();
  EXPECT_TRUE(recovered.empty()) << "it was applied";
  EXPECT_EQ(Text(real_ / "d/new"), "new");
  char note[16] = {};
  EXPECT_EQ(getxattr((real_ / "d").c_str(), "user.note", note, sizeof note), 5);
  struct stat info;
  ASSERT_EQ(stat((real_ / "d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtim.tv_sec, 1000);
}

TEST_F(Recovers, PruningWaitsForAMissingFilesystem) {
  RealityOnDisk();
  Put(real_ / "edit", "old");
  Put(upper_ / "edit", "new");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  // Make it the oldest of many.
  const fs::path store = StoreOf("").parent_path();
  const std::string old = "pr_0000000001_aaaaaa";
  fs::rename(StoreOf(done->promotion.id), store / old);
  fs::rename(SideStores() / done->promotion.id, SideStores() / old);
  for (int i = 10; i < 60; ++i) {
    const fs::path entry = store / ("pr_00000000" + std::to_string(i) + "_aaaaaa");
    fs::create_directories(entry / "files");
    Put(entry / "journal", "{\"promotion\":1}\n{\"state\":\"done\"}\n");
  }
  Unmount();
  Prune(*Store::Open(home_), NowMs());
  EXPECT_TRUE(fs::exists(store / old)) << "or nobody knows of its side_store any more";
  ASSERT_TRUE(Sh("mount " + loop_ + " " + disk_.string()));
  ASSERT_TRUE(fs::exists(SideStores() / old / "1"));
  Prune(*Store::Open(home_), NowMs());
  EXPECT_FALSE(fs::exists(store / old));
  EXPECT_FALSE(fs::exists(SideStores()));
}

TEST_F(Recovers, ASideStoreThatStaysDoesNotChangeItsParentDirectory) {
  const sys::Fd store(open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const sys::Fd directory(open(disk_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto place = PrepareSideStore(disk_, disk_, store.get(), directory.get());
  ASSERT_TRUE(place);
  fs::create_directories(disk_ / kSideStoreName / "pr_1");
  struct stat before, after;
  ASSERT_EQ(stat(disk_.c_str(), &before), 0);
  usleep(20'000);  // so that file times advance
  DropIfEmpty(*place);
  ASSERT_TRUE(PrepareSideStore(disk_, disk_, store.get(), directory.get()));
  ASSERT_EQ(stat(disk_.c_str(), &after), 0);
  EXPECT_EQ(IdentityOf(after), IdentityOf(before));
  fs::remove(disk_ / kSideStoreName / "pr_1");
  ASSERT_EQ(stat(disk_.c_str(), &before), 0);
  DropIfEmpty(*place);
  EXPECT_FALSE(fs::exists(disk_ / kSideStoreName));
  ASSERT_EQ(stat(disk_.c_str(), &after), 0);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec) << "one that goes leaves no trace";
}

// The side store of a project whose path starts like the mount's.
TEST_F(Recovers, ASideStoreIsMadeOnlyAtTheTopOrInTheProject) {
  RealityOnDisk();
  Put(real_ / "b/x/edit", "old");
  Put(upper_ / "b/x/edit", "new");
  Put(real_ / kSideStoreName, "at the top is none");
  Wish wish = RootsWish();
  wish.project = real_.string() + "-b/x";  // cut after the mount's length: b/x
  wish.with_noise = true;                  // relative to this project, all of /tmp is noise
  const auto done = Run(wish);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("neither at its top nor in the project"), std::string::npos)
      << done.error().message;
  EXPECT_FALSE(fs::exists(real_ / "b/x" / kSideStoreName));
  EXPECT_EQ(Text(real_ / "b/x/edit"), "old");
}

// Two filesystems can use the same inode numbers.
TEST_F(Recovers, TheSameInodeOnAnotherFilesystemIsAnotherFile) {
  const fs::path other = top_ / "other", other_upper = top_ / "other_upper";
  for (const auto& each : {other, other_upper}) fs::create_directories(each);
  ASSERT_TRUE(
      Sh("mount -t tmpfs none " + real_.string() + "; mount -t tmpfs none " + other.string()));
  Put(real_ / "file", "old");
  Put(other / "file", "old");
  struct stat one, two;
  ASSERT_EQ(stat((real_ / "file").c_str(), &one), 0);
  ASSERT_EQ(stat((other / "file").c_str(), &two), 0);
  ASSERT_EQ(one.st_ino, two.st_ino);
  // The sandbox changed both; reality has deleted one of them since.
  Put(upper_ / "file", "new");
  Put(other_upper / "file", "new");
  fs::remove(real_ / "file");
  StateLayout layout = Layout();
  LayoutSlot slot;
  slot.target = other;
  for (const auto& path : {other, other_upper})
    fds_.emplace_back(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  slot.base = fds_[2].get();
  slot.state = fds_[3].get();
  layout.slots.push_back(slot);
  layout.copied = {{0, "file", one.st_ino}, {1, "file", two.st_ino}};
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  BirthFiles nothing;
  Wish wish = RootsWish();
  wish.project = top_;
  const auto shown = Promote(*store, layout, wish, nothing, "sb_test", true);
  fds_.clear();
  ASSERT_TRUE(Sh("umount " + real_.string() + " " + other.string()));
  ASSERT_TRUE(shown) << shown.error().message;
  ASSERT_EQ(shown->conflicts.size(), 1u) << "it is gone, and was there";
  EXPECT_EQ(shown->conflicts[0].path, (real_ / "file").string());
}

TEST_F(Promotes, ASecondPromotionWaitsForTheLockButNotForever) {
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  const auto late = Store::Open(home_, 50);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  EXPECT_FALSE(late.error().cure.empty());
  const auto busy = Store::OpenIfFree(home_);
  ASSERT_TRUE(busy);
  EXPECT_FALSE(busy->has_value());
  store = Fail(Code::kInternal, "");  // releases the lock
  EXPECT_TRUE(Store::OpenIfFree(home_)->has_value());
}

}  // namespace
}  // namespace cloche::apply
