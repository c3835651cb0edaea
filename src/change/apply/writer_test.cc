#include <linux/capability.h>

#include "change/apply/promote_fixture.h"
#include "sys/process.h"

// Somebody writes to a file in reality while a promotion or an undo takes it away.
namespace cloche::apply {
namespace {

class Writers : public Promotes {
 protected:
  void SetUp() override {
    Promotes::SetUp();
    for (const char* name : {"a", "b"}) {
      Put(real_ / name, std::string("old ") + name);
      Put(upper_ / name, std::string("new ") + name);
    }
  }
  // Runs `action` before the n-th rename, counted from 1.
  static void Before(int n, std::function<void()> action) {
    before_rename = [left = n, action = std::move(action)]() mutable {
      if (--left == 0) action();
    };
  }
  // Acts like a process that has found the file and opens it for writing. Non-blocking, because a
  // real one would wait.
  void TryToOpen(const fs::path& path) {
    const sys::Fd file(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_FALSE(file.valid());
    EXPECT_EQ(errno, EWOULDBLOCK);
  }
  Status UndoNow(const std::string& id) {
    auto store = Store::Open(home_);
    std::vector<std::string> moved;
    const auto undone = Undo(*store, id, true, {}, moved);
    EXPECT_TRUE(moved.empty());
    return undone ? Status() : std::unexpected(undone.error());
  }
  // The kept files of all promotions.
  std::vector<fs::path> Kept() const {
    std::vector<fs::path> kept;
    for (const auto& each : fs::recursive_directory_iterator(home_))
      if (each.path().parent_path().filename() == "files") kept.push_back(each.path());
    return kept;
  }
};

TEST_F(Writers, AProcessThatOpensAFileDuringItsRenameWritesToReality) {
  const auto before = Seen(real_);
  Before(2, [&] { TryToOpen(real_ / "b"); });
  const auto done = Run(RootsWish());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kConflict);
  EXPECT_NE(done.error().message.find("/b: reality has changed it in between"), std::string::npos)
      << done.error().message;
  EXPECT_EQ(Seen(real_), before) << "all of it is taken back";
  before_rename = nullptr;
  EXPECT_TRUE(Run(RootsWish()));
  EXPECT_EQ(Text(real_ / "b"), "new b");
}

TEST_F(Writers, AFileThatIsOpenForWritingIsAConflictBeforeAnythingIsTouched) {
  White(upper_ / "c");
  Put(real_ / "c", "old c");
  const auto before = Seen(real_);
  for (const char* name : {"b", "c"}) {
    const sys::Fd writer(open((real_ / name).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    before_rename = [] { FAIL() << "something was touched"; };
    const auto done = Run(RootsWish());
    before_rename = nullptr;
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->conflicts.size(), 1u);
    EXPECT_EQ(done->conflicts[0].path, real_ / name);
    EXPECT_NE(done->conflicts[0].reason.find("open for writing"), std::string::npos);
    EXPECT_NE(done->conflicts[0].cure.find("fuser"), std::string::npos);
    EXPECT_EQ(Seen(real_), before);
  }
  EXPECT_TRUE(Run(RootsWish())) << "nobody has it open any more";
}

TEST_F(Writers, AProcessThatOpensAFileBeforeItsRenameIsNoticed) {
  const auto before = Seen(real_);
  sys::Fd writer;
  Before(1, [&] { writer = sys::Fd(open((real_ / "b").c_str(), O_WRONLY | O_CLOEXEC)); });
  const auto done = Run(RootsWish());
  ASSERT_TRUE(writer.valid());
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("open for writing"), std::string::npos);
  EXPECT_EQ(Seen(real_), before);
}

TEST_F(Writers, WritesToAKeptFileDuringThePromotionReturnToReality) {
  Before(2, [&] {
    for (const fs::path& each : Kept())
      if (Text(each) == "old a") std::ofstream(each, std::ios::app) << " and mine";
  });
  const auto done = Run(RootsWish());
  ASSERT_FALSE(done);
  EXPECT_EQ(Text(real_ / "a"), "old a and mine");
  EXPECT_EQ(Text(real_ / "b"), "old b");
}

TEST_F(Writers, AModeOrOwnerChangeDuringTheRenameIsKept) {
  Before(2, [&] { chmod((real_ / "b").c_str(), 0600); });
  ASSERT_FALSE(Run(RootsWish()));
  struct stat info;
  ASSERT_EQ(stat((real_ / "b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(Text(real_ / "a") + Text(real_ / "b"), "old aold b");
}

TEST_F(Writers, AnAttributeChangeDuringTheRenameIsKept) {
  Before(1, [&] { setxattr((real_ / "a").c_str(), "user.mine", "1", 1, 0); });
  ASSERT_FALSE(Run(RootsWish()));
  char value[8];
  EXPECT_EQ(getxattr((real_ / "a").c_str(), "user.mine", value, sizeof value), 1);
}

TEST_F(Writers, WithoutALeaseTheContentIsCompared) {
  const pid_t child = fork();
  if (child == 0) {
    // Only owners can take leases.
    for (const char* name : {"a", "b"})
      if (chown((real_ / name).c_str(), 12345, 12345) < 0) _exit(2);
    uint64_t kept = 0;
    for (const int each : {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_SYS_ADMIN})
      kept |= uint64_t{1} << each;
    if (sys::SetCapabilities(kept) < 0) _exit(3);
    Before(2, [&] {
      struct stat info;
      const std::string path = real_ / "b";
      (void)stat(path.c_str(), &info);
      const sys::Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (pwrite(file.get(), "OLD", 3, 0) != 3) _exit(4);
      const timespec times[2] = {info.st_atim, info.st_mtim};
      if (futimens(file.get(), times) < 0) _exit(5);  // looks as old as before
    });
    if (Run(RootsWish())) _exit(6);
    _exit(Text(real_ / "b") == "OLD b" && Text(real_ / "a") == "old a" ? 0 : 7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Writers, AnUndoDuringWhichSomebodyWritesUndoesNothing) {
  Put(upper_ / "made", "made");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  const auto promoted = Seen(real_);
  for (const char* name : {"a", "b", "made"}) {
    // Undo goes backwards: "made" comes first.
    const int turn = 3 - (name == std::string("made") ? 2 : name == std::string("b") ? 1 : 0);
    Before(turn, [&] { TryToOpen(real_ / name); });
    const Status undone = UndoNow(done->promotion.id);
    before_rename = nullptr;
    ASSERT_FALSE(undone) << name;
    EXPECT_NE(undone.error().message.find("nothing was undone"), std::string::npos)
        << undone.error().message;
    EXPECT_EQ(Seen(real_), promoted) << name;
    EXPECT_TRUE(RecoverNow().empty()) << "it is finished";
  }
  const Status undone = UndoNow(done->promotion.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(Text(real_ / "a") + Text(real_ / "b"), "old aold b");
  EXPECT_FALSE(fs::exists(real_ / "made"));
}

TEST_F(Writers, DeletingAllNamesOfAFileDoesNotCountAsChangingIt) {
  fs::create_hard_link(real_ / "a", real_ / "l");
  White(upper_ / "l");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "a"), "new a");
  EXPECT_FALSE(fs::exists(real_ / "l"));
}

TEST_F(Writers, ChangesThroughTheSecondNameOfAFileAreKept) {
  fs::create_hard_link(real_ / "a", real_ / "l");
  White(upper_ / "l");  // comes first
  Before(2, [&] { chmod((real_ / "a").c_str(), 0600); });
  ASSERT_FALSE(Run(RootsWish()));
  struct stat info;
  ASSERT_EQ(stat((real_ / "l").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(Text(real_ / "a"), "old a");
}

}  // namespace
}  // namespace cloche::apply
