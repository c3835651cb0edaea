#include "base/clock_trail.h"
#include "change/apply/promote_fixture.h"

// Tests how a promotion finds out what reality had when the sandbox was made, if file times do not
// tell.
namespace cloche::apply {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class Pasts : public Promotes {
 protected:
  Wish AfterAStepBack() {
    Wish wish = RootsWish();
    wish.clock_back_ns = 3600 * kSecond;
    wish.since_ns = SinceWithClock(wish.since_ns, wish.clock_back_ns);
    return wish;
  }
  // Recorded as when a sandbox is made.
  BirthNote NamesOf() {
    return {real_, "", {}, BirthNames::Note(real_, home_, sys::CoarseNanos() + kSecond)};
  }
  Result<PromotionResult> RunWith(Wish wish, BirthNote note) {
    auto store = Store::Open(home_);
    if (!store) return std::unexpected(store.error());
    BirthFiles base(std::move(note));
    return Promote(*store, Layout(), std::move(wish), base, "sb_test", false);
  }
  static std::string_view CaseAt(const PromotionResult& outcome, const fs::path& path) {
    for (const Conflict& each : outcome.conflicts)
      if (each.path == path) return each.tag;
    return "";
  }
};

TEST_F(Pasts, AfterTheClockWasSetBackEveryFileCountsAsMoved) {
  Put(real_ / "edit", "old");
  Put(real_ / "dir/f", "old");
  Put(upper_ / "edit", "new");
  Put(upper_ / "add", "new");
  White(upper_ / "dir");
  const auto before = Seen(real_);
  const auto refused = Run(AfterAStepBack());
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_EQ(refused->conflicts.size(), 2u);
  EXPECT_EQ(CaseAt(*refused, real_ / "edit"), "P-EDIT-EDITED");
  EXPECT_EQ(CaseAt(*refused, real_ / "dir/f"), "P-DELETE-EDITED");
  EXPECT_EQ(refused->conflicts[1].reason,
            "the sandbox edited it; whether reality has changed it cannot be told: the clock was "
            "set back by 3600 s after this sandbox was made");
  EXPECT_EQ(Seen(real_), before);
  Wish chosen = AfterAStepBack();
  chosen.take_theirs = {real_};
  ASSERT_TRUE(Run(chosen));
  EXPECT_EQ(Text(real_ / "edit") + Text(real_ / "add"), "newnew");
  EXPECT_FALSE(fs::exists(real_ / "dir"));
  // The sandbox's own promotion does not count as a change in reality.
  Put(upper_ / "edit", "newer");
  const auto again = Run(AfterAStepBack());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->conflicts.empty());
  EXPECT_EQ(Text(real_ / "edit"), "newer");
}

TEST_F(Pasts, FilesOnAServerWhoseClockIsBehindCountAsMovedToo) {
  Put(real_ / "edit", "old");
  Put(upper_ / "edit", "new");
  struct stat info;
  ASSERT_EQ(stat(real_.c_str(), &info), 0);
  Wish wish = RootsWish();
  wish.lags_ns[info.st_dev] = 600 * kSecond;
  const auto refused = Run(wish);
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->conflicts.size(), 1u);
  EXPECT_NE(refused->conflicts[0].reason.find("file server is 600 s behind"), std::string::npos);
  wish.lags_ns[info.st_dev] = kSecond / 10;
  const auto done = Run(wish);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->conflicts.empty()) << "a little is taken into account";
}

TEST_F(Pasts, AFileBothSidesReplacedExistedIfItsNameWasRecorded) {
  Put(real_ / "both", "old");
  Put(real_ / "gone", "old");
  const BirthNote note = NamesOf();
  ASSERT_TRUE(note.names);
  Wish wish = RootsWish();
  wish.since_ns = sys::CoarseNanos() - kSecond;
  fs::remove(real_ / "both");
  fs::remove(real_ / "gone");
  Put(real_ / "both", "theirs");
  Put(real_ / "fresh", "theirs");
  for (const char* name : {"both", "gone", "fresh"}) Put(upper_ / name, "ours");
  const auto refused = RunWith(wish, note);
  ASSERT_TRUE(refused);
  EXPECT_EQ(CaseAt(*refused, real_ / "both"), "P-EDIT-EDITED");
  EXPECT_EQ(CaseAt(*refused, real_ / "gone"), "P-EDIT-ABSENT");
  EXPECT_EQ(CaseAt(*refused, real_ / "fresh"), "P-ADD-APPEARED");
}

TEST_F(Pasts, ADirectoryThatRealityDeletedDoesNotComeBackByItself) {
  fs::create_directories(real_ / "anew");
  fs::create_directories(real_ / "now-a-file");
  Put(real_ / "now-a-directory", "old");
  const BirthNote note = NamesOf();
  ASSERT_TRUE(note.names);
  Wish wish = RootsWish();
  wish.since_ns = sys::CoarseNanos() - kSecond;
  for (const char* name : {"anew", "now-a-file", "now-a-directory"}) fs::remove(real_ / name);
  Put(upper_ / "anew/f", "ours");
  Put(upper_ / "now-a-file", "ours");
  Put(upper_ / "now-a-directory/f", "ours");
  Put(upper_ / "new/f", "ours");
  const auto refused = RunWith(wish, note);
  ASSERT_TRUE(refused);
  EXPECT_EQ(CaseAt(*refused, real_ / "anew"), "P-DIRMETA-ABSENT");
  EXPECT_EQ(CaseAt(*refused, real_ / "now-a-file"), "P-EDIT-ABSENT");
  EXPECT_EQ(CaseAt(*refused, real_ / "now-a-directory"), "P-DIRMETA-ABSENT");
  EXPECT_EQ(CaseAt(*refused, real_ / "new"), "");
  EXPECT_EQ(CaseAt(*refused, real_ / "new/f"), "");
  wish.take_theirs = {real_};
  const auto chosen = RunWith(wish, note);
  ASSERT_TRUE(chosen);
  EXPECT_TRUE(chosen->conflicts.empty());
  EXPECT_EQ(Text(real_ / "anew/f") + Text(real_ / "now-a-directory/f"), "oursours");
}

TEST_F(Pasts, AFileBothSidesHadChangedAtARefreshExisted) {
  Put(upper_ / "file", "ours");
  Wish wish = RootsWish();
  wish.moved = {real_ / "file"};
  const auto refused = Run(wish);
  ASSERT_TRUE(refused);
  EXPECT_EQ(CaseAt(*refused, real_ / "file"), "P-EDIT-ABSENT");
  wish.take_theirs = {real_};
  ASSERT_TRUE(Run(wish));
  wish.take_theirs.clear();
  // A deletion by the sandbox itself is not reality's.
  fs::remove(upper_ / "file");
  White(upper_ / "file");
  ASSERT_TRUE(Run(wish));
  ASSERT_FALSE(fs::exists(real_ / "file"));
  fs::remove(upper_ / "file");
  Put(upper_ / "file", "again");
  const auto again = Run(wish);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->conflicts.empty());
  EXPECT_EQ(Text(real_ / "file"), "again");
}

// As cloche-spawn reports it: the inode that overlayfs copied it from.
CopiedFile CopiedFrom(const fs::path& source, const std::string& below) {
  struct stat info {};
  EXPECT_EQ(lstat(source.c_str(), &info), 0);
  return {0, below, info.st_ino};
}

TEST_F(Pasts, AMovedFileIsNewEvenIfRealityDeletedItsOrigin) {
  Put(real_ / "from/f", "old");
  Put(real_ / "from/dir/g", "old");
  const BirthNote note = NamesOf();
  Put(upper_ / "to", "old");
  Put(upper_ / "moved/g", "old");
  fs::create_directories(upper_ / "from");
  White(upper_ / "from/f");
  White(upper_ / "from/dir");
  copied_ = {CopiedFrom(real_ / "from/f", "to"), CopiedFrom(real_ / "from/dir", "moved")};
  fs::remove_all(real_ / "from/f");
  fs::remove_all(real_ / "from/dir");
  const auto done = RunWith(RootsWish(), note);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(CaseAt(*done, real_ / "to"), "");
  EXPECT_EQ(CaseAt(*done, real_ / "moved"), "");
  EXPECT_EQ(Text(real_ / "to"), "old");
}

TEST_F(Pasts, ADirectoryThatAppearedInRealityIsNotWrittenInto) {
  Put(real_ / "elsewhere/f", "theirs");
  Put(real_ / "else", "x");
  const BirthNote note = NamesOf();
  Put(upper_ / "dir/f", "ours");
  copied_ = {CopiedFrom(real_ / "else", "else")};
  fs::rename(real_ / "elsewhere", real_ / "dir");
  const auto refused = RunWith(RootsWish(), note);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_FALSE(CaseAt(*refused, real_ / "dir/f").empty());
  EXPECT_EQ(Text(real_ / "dir/f"), "theirs");
}

TEST_F(Pasts, AfterSeveralUndosTheFileStillCountsAsTheSandboxs) {
  std::vector<std::string> ids;
  Put(real_ / "f", "0");
  for (const char* text : {"1", "2", "3"}) {
    Put(upper_ / "f", text);
    const auto done = Run(RootsWish());
    ASSERT_TRUE(done) << done.error().message;
    ids.push_back(done->promotion.id);
  }
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, ids[2], true, {}, moved));
  ASSERT_TRUE(Undo(*store, ids[1], true, {}, moved));
  ASSERT_TRUE(moved.empty());
  store = Fail(Code::kInternal, "closed");
  ASSERT_EQ(Text(real_ / "f"), "1");
  Put(upper_ / "f", "4");
  const auto again = Run(RootsWish());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(CaseAt(*again, real_ / "f"), "");
  EXPECT_EQ(Text(real_ / "f"), "4");
}

TEST_F(Pasts, AfterAForksUndonePromotionsTheFileStillCountsAsTheSandboxs) {
  Put(real_ / "f", "0");
  Wish wish = RootsWish();
  wish.since_ns = sys::CoarseNanos() - kSecond;
  Wish first = wish;
  first.take_theirs = {real_};
  Put(upper_ / "f", "1");
  ASSERT_TRUE(Run(first));
  Wish fork = wish;
  fork.ancestors["sb_test"] = sys::CoarseNanos() + kSecond;
  BirthFiles nothing;
  std::vector<std::string> ids;
  auto store = Store::Open(home_);
  for (const char* text : {"2", "3"}) {
    Put(upper_ / "f", text);
    const auto done = Promote(*store, Layout(), fork, nothing, "sb_fork", false);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(done->conflicts.empty());
    ids.push_back(done->promotion.id);
  }
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, ids[1], true, {}, moved));
  ASSERT_TRUE(Undo(*store, ids[0], true, {}, moved));
  store = Fail(Code::kInternal, "closed");
  Put(upper_ / "f", "4");
  const auto again = Run(wish);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(CaseAt(*again, real_ / "f"), "");
  EXPECT_EQ(Text(real_ / "f"), "4");
}

TEST_F(Pasts, ADirectoryThatReplacedAFileInRealityIsNotWrittenInto) {
  Put(real_ / "elsewhere/f", "theirs");
  Put(real_ / "dir", "a file");
  const BirthNote note = NamesOf();
  fs::remove(real_ / "dir");
  fs::rename(real_ / "elsewhere", real_ / "dir");
  fs::create_directories(upper_ / "dir");
  White(upper_ / "dir/f");
  copied_ = {CopiedFrom(real_ / "dir", "dir")};  // the sandbox saw it when it deleted the file
  const auto refused = RunWith(RootsWish(), note);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(CaseAt(*refused, real_ / "dir/f"), "P-DELETE-EDITED");
  EXPECT_EQ(Text(real_ / "dir/f"), "theirs");
}

TEST_F(Pasts, ANewNameOfAnUnchangedFileBecomesAHardLinkInReality) {
  Put(real_ / "f", "x");
  Put(upper_ / "f", "x");
  fs::create_hard_link(upper_ / "f", upper_ / "g");
  const auto before = Seen(real_);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->conflicts.empty());
  EXPECT_TRUE(fs::equivalent(real_ / "f", real_ / "g"));
  EXPECT_EQ(Text(real_ / "g"), "x");
  const auto again = Run(RootsWish());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->changes.empty()) << "there is nothing left to do";
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(Seen(real_), before);
}

TEST_F(Pasts, ANewNameOfAFileThatRealityChangedBecomesASeparateFile) {
  Put(real_ / "f", "x");
  Wish wish = RootsWish();
  wish.since_ns = sys::CoarseNanos() - kSecond;
  Put(upper_ / "f", "x");
  fs::create_hard_link(upper_ / "f", upper_ / "g");
  struct stat was {
  }, now{};
  ASSERT_EQ(stat((real_ / "f").c_str(), &was), 0);
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->conflicts.empty());
  ASSERT_EQ(stat((real_ / "f").c_str(), &now), 0);
  EXPECT_EQ(now.st_ino, was.st_ino);
  EXPECT_EQ(Text(real_ / "g"), "x");
}

TEST_F(Pasts, OneNameOfAFileCanBecomeANameOfAnotherFile) {
  Put(real_ / "one", "old");
  fs::create_hard_link(real_ / "one", real_ / "two");
  Put(upper_ / "one", "new");
  fs::create_hard_link(upper_ / "one", upper_ / "three");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->conflicts.empty());
  EXPECT_EQ(Text(real_ / "one") + Text(real_ / "two") + Text(real_ / "three"), "newoldnew");
  EXPECT_EQ(fs::hard_link_count(real_ / "three"), 2u);
}

TEST_F(Pasts, AFileSomebodyCreatedAgainKeepsItsDirectory) {
  Put(real_ / "dir/again", "old");
  Put(real_ / "dir/other", "old");
  fs::create_directories(upper_ / "dir");
  White(upper_ / "dir/again");
  ASSERT_TRUE(Run(RootsWish()));
  Put(real_ / "dir/again", "theirs");
  fs::remove_all(upper_ / "dir");
  White(upper_ / "dir");
  const auto before = Seen(real_);
  const auto refused = Run(RootsWish());
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(CaseAt(*refused, real_ / "dir"), "P-RMDIR-NOT-EMPTY");
  EXPECT_EQ(Seen(real_), before);
  Wish ours = RootsWish();
  ours.keep_ours = {real_ / "dir"};
  const auto kept = Run(ours);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_TRUE(kept->conflicts.empty());
  EXPECT_EQ(Text(real_ / "dir/again"), "theirs");
  EXPECT_FALSE(fs::exists(real_ / "dir/other"));
}

TEST_F(Pasts, AnExcludedFileKeepsItsDirectory) {
  Put(real_ / "dir/f", "old");
  Put(real_ / "dir/g", "old");
  White(upper_ / "dir");
  Wish wish = RootsWish();
  wish.exclude = {real_ / "dir/f"};
  const auto refused = Run(wish);
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_EQ(refused->conflicts.size(), 1u);
  EXPECT_EQ(refused->conflicts[0].tag, "P-RMDIR-NOT-EMPTY");
  EXPECT_EQ(refused->conflicts[0].reason,
            "the sandbox deleted the directory; something in it is left out");
}

TEST_F(Pasts, NamesCreatedDuringRecordingAreUnknown) {
  Put(real_ / "file", "x");
  const auto names = BirthNames::Note(real_, home_, sys::CoarseNanos() - kSecond);
  ASSERT_TRUE(names);
  const auto read = BirthNames::Decode(names->Encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->Had("file"), std::nullopt);
  EXPECT_EQ(read->Had("other"), false);
  EXPECT_EQ(read->ModeWas(""), std::nullopt) << "it was changed then";
}

TEST_F(Pasts, AHiddenFileIsNeverReplacedSilently) {
  Put(real_ / ".secret", "real");
  fs::create_directories(top_ / "mask");
  White(top_ / "mask/.secret");
  Put(upper_ / ".secret", "sandbox");
  const auto refused = Run(RootsWish());
  ASSERT_TRUE(refused) << refused.error().message;
  ASSERT_EQ(refused->conflicts.size(), 1u);
  EXPECT_EQ(refused->conflicts[0].tag, "P-ADD-HIDDEN");
  EXPECT_TRUE(refused->conflicts[0].shown.empty()) << "nor shown";
  EXPECT_EQ(Text(real_ / ".secret"), "real");
  Wish ours = RootsWish();
  ours.keep_ours = {real_ / ".secret"};
  ASSERT_TRUE(Run(ours));
  EXPECT_EQ(Text(real_ / ".secret"), "real");
  Wish theirs = RootsWish();
  theirs.take_theirs = {real_ / ".secret"};
  const auto done = Run(theirs);
  ASSERT_TRUE(done);
  EXPECT_EQ(Text(real_ / ".secret"), "sandbox");
  // The sandbox works on; the file is now its own.
  Put(upper_ / ".secret", "sandbox 2");
  const auto again = Run(RootsWish());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->conflicts.empty());
  EXPECT_EQ(Text(real_ / ".secret"), "sandbox 2");
}

TEST_F(Pasts, ManyUndoneFilesAreMovedAsideAndSwept) {
  for (int i = 0; i < 300; ++i) Put(upper_ / ("f" + std::to_string(i)), "x");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done);
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  size_t told = 0;
  on_progress = [&](size_t, size_t of) { told = of; };
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  on_progress = nullptr;
  EXPECT_EQ(told, 300u);
  const fs::path promotions = home_ / ".local/state/cloche/promotions";
  const fs::path aside = promotions / (".aside." + done->promotion.id);
  EXPECT_TRUE(fs::exists(aside));
  EXPECT_TRUE(fs::is_empty(promotions / done->promotion.id / "files"));
  Sweep(store->directory());
  EXPECT_FALSE(fs::exists(aside));
  EXPECT_EQ(ListPromotions(*store)->size(), 1u) << "its journal stays";
}

TEST_F(Pasts, SweepingKeepsFilesThatOthersPutThere) {
  fs::create_directories(upper_ / "made");
  for (int i = 0; i < 300; ++i) Put(upper_ / ("f" + std::to_string(i)), "x");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done);
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  const fs::path aside =
      home_ / ".local/state/cloche/promotions" / (".aside." + done->promotion.id);
  fs::path made;
  for (const auto& each : fs::directory_iterator(aside))
    if (each.is_directory()) made = each.path();
  ASSERT_FALSE(made.empty());
  Put(made / "log", "written by a server that works there");
  Sweep(store->directory());
  EXPECT_TRUE(fs::exists(made / "log"));
  EXPECT_FALSE(fs::exists(aside / "1"));
}

}  // namespace
}  // namespace cloche::apply
