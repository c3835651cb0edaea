#include <sys/resource.h>

#include "change/apply/plan.h"
#include "change/apply/prepare.h"
#include "change/apply/promote_fixture.h"
#include "change/apply/prune.h"

namespace cloche::apply {
namespace {

TEST_F(Promotes, RealityBecomesWhatTheSandboxShowed) {
  MakeStory();
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->conflicts.empty()) << done->conflicts[0].path << done->conflicts[0].reason;
  EXPECT_EQ(done->promotion.state, PromotionState::kDone);
  EXPECT_EQ(Text(real_ / "edit"), "new text");
  EXPECT_FALSE(fs::exists(real_ / "gone"));
  EXPECT_FALSE(fs::exists(real_ / "dir"));
  EXPECT_EQ(Text(real_ / "becomes-dir/inner/file"), "deep");
  EXPECT_EQ(Text(real_ / "becomes-file"), "now a file");
  EXPECT_EQ(fs::read_symlink(real_ / "link"), "kept");
  EXPECT_EQ(Text(real_ / "kept"), "kept");
  struct stat one, two, dir, mode;
  stat((real_ / "one").c_str(), &one);
  stat((real_ / "two").c_str(), &two);
  EXPECT_EQ(one.st_ino, two.st_ino);
  stat((real_ / "becomes-dir").c_str(), &dir);
  EXPECT_EQ(dir.st_mode & 07777, 0750u);
  stat((real_ / "mode").c_str(), &mode);
  EXPECT_EQ(mode.st_mode & 07777, 0755u);
}

TEST_F(Promotes, FilesMissingFromADiskCopyAreDeletedExceptLostAndFound) {
  Put(real_ / "same", "same");
  Put(real_ / "gone", "bye");
  Put(real_ / "dir/gone", "bye");
  Put(real_ / "lost+found/piece", "of the disk");
  Put(upper_ / "same", "same");
  blank_ = true;
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->conflicts.empty()) << done->conflicts[0].path << done->conflicts[0].reason;
  EXPECT_EQ(done->changes.size(), 3u);
  EXPECT_FALSE(fs::exists(real_ / "gone"));
  EXPECT_FALSE(fs::exists(real_ / "dir"));
  EXPECT_EQ(Text(real_ / "same"), "same");
  EXPECT_EQ(Text(real_ / "lost+found/piece"), "of the disk");
}

TEST_F(Promotes, WritingIntoLostAndFoundIsAConflict) {
  Put(real_ / "lost+found/piece", "of the disk");
  Put(upper_ / "lost+found/own", "of the sandbox");
  blank_ = true;
  const auto before = Seen(real_);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->conflicts.empty());
  EXPECT_EQ(Seen(real_), before);
}

// A million changes must fit into memory.
TEST_F(Promotes, AChangeTakesLittleMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "memory is not what it is";
#endif
  constexpr long kMost = 1536, kChanges = 20'000;
  for (long i = 0; i < kChanges; ++i)
    Put(upper_ / ("directory" + std::to_string(i / 100)) / ("file" + std::to_string(i)), "text");
  const pid_t child = fork();
  if (child == 0) {
    rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    const auto done = Run(RootsWish());
    getrusage(RUSAGE_SELF, &after);
    const long each = (after.ru_maxrss - before.ru_maxrss) * 1024 / kChanges;
    std::cout << each << " bytes for each change\n" << std::flush;
    _exit(!done || done->promotion.id.empty() ? 1 : each < kMost ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Promotes, UndoRestoresEverything) {
  MakeStory();
  const auto before = Seen(real_);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(Seen(real_), before);
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  std::vector<std::string> moved;
  const auto undone = Undo(*store, done->promotion.id, true, {}, moved);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(Seen(real_), before);
  EXPECT_FALSE(Undo(*store, done->promotion.id, true, {}, moved)) << "once is enough";
}

TEST_F(Promotes, UndoSaysFirstWhichDirectoriesItTakesAway) {
  MakeStory();
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  const auto now = Seen(real_);
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  std::vector<std::string> moved, takes;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved, &takes));
  EXPECT_EQ(takes, std::vector<std::string>{real_ / "becomes-dir"});
  EXPECT_EQ(Seen(real_), now) << "nothing was undone";
  // Where somebody insists it takes away whatever is there now.
  fs::remove(real_ / "edit");
  Put(real_ / "edit/theirs", "theirs");
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {real_ / "edit"}, moved, &takes));
  EXPECT_EQ(takes, (std::vector<std::string>{real_ / "becomes-dir", real_ / "edit"}));
}

TEST_F(Promotes, AnUndoThatTakesNoDirectoryAwayIsDoneAtOnce) {
  Put(real_ / "edit", "old");
  Put(upper_ / "edit", "new");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  std::vector<std::string> moved, takes;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved, &takes));
  EXPECT_TRUE(takes.empty());
  EXPECT_EQ(Text(real_ / "edit"), "old");
}

TEST_F(Promotes, AnUndoneChangeIsAsOldAsBefore) {
  MakeStory();
  usleep(50'000);  // file times are coarse
  Wish wish = RootsWish();
  wish.since_ns = sys::CoarseNanos();
  usleep(50'000);
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->conflicts.empty()) << done->conflicts[0].path;
  {
    auto store = Store::Open(home_);
    ASSERT_TRUE(store);
    std::vector<std::string> moved;
    ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  }
  // Also where one step removed something and another created something.
  const auto again = Run(wish);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->conflicts.empty()) << again->conflicts[0].path;
}

TEST_F(Promotes, UndoRefusesWhereRealityMovedOn) {
  MakeStory();
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done);
  Put(real_ / "edit", "mine now");
  Put(real_ / "gone", "back again");
  const auto now = Seen(real_);
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  const auto undone = Undo(*store, done->promotion.id, true, {}, moved);
  ASSERT_TRUE(undone);
  EXPECT_EQ(moved.size(), 2u);
  EXPECT_EQ(Seen(real_), now) << "nothing was undone";
}

TEST_F(Promotes, AChangeInRealityIsAConflictAndNothingIsApplied) {
  MakeStory();
  Wish wish = RootsWish();
  wish.since_ns = 1;
  const auto before = Seen(real_);
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->conflicts.empty());
  EXPECT_EQ(Seen(real_), before);
}

TEST_F(Promotes, OnlyWhatWasShownIsApplied) {
  MakeStory();
  Wish wish = RootsWish();
  auto store = Store::Open(home_);
  BirthFiles nothing;
  const auto shown = Promote(*store, Layout(), wish, nothing, "sb_test", true);
  ASSERT_TRUE(shown);
  store = Fail(Code::kInternal, "");  // releases the lock
  wish.digest = shown->promotion.digest;
  Put(upper_ / "edit", "something else");
  const auto before = Seen(real_);
  EXPECT_FALSE(Run(wish));
  EXPECT_EQ(Seen(real_), before);
  Put(upper_ / "edit", "new text");
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "edit"), "new text");
}

TEST_F(Promotes, ASecondPromotionFromTheSameSandboxIsNotAConflict) {
  Put(real_ / "file", "1");
  Put(upper_ / "file", "2");
  Wish wish = RootsWish();
  ASSERT_TRUE(Run(wish)->conflicts.empty());
  wish.since_ns = 1;  // reality has changed since: by our own promotion
  Put(upper_ / "file", "3");
  const auto again = Run(wish);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->conflicts.empty());
  EXPECT_EQ(Text(real_ / "file"), "3");
}

TEST_F(Promotes, TooManyChangesAreRefused) {
  for (const char* name : {"a", "b", "c", "d"}) Put(upper_ / "many" / name, "new");
  Wish wish = RootsWish();
  wish.most = 4;  // the directory counts, too
  const auto refused = Run(wish);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_FALSE(fs::exists(real_ / "many"));
  wish.exclude = {(real_ / "many/d").string()};
  EXPECT_TRUE(Run(wish));
  EXPECT_TRUE(fs::exists(real_ / "many/c"));
}

rules::Glob GlobOf(const std::string& pattern) { return *rules::Glob::Parse(pattern); }

TEST_F(Promotes, PatternsIncludeAndExclude) {
  Put(upper_ / "a.log", "1");
  Put(upper_ / "deep/b.log", "1");
  Put(upper_ / "deep/c.txt", "1");
  Wish wish = RootsWish();
  wish.exclude_globs = {GlobOf("*.log")};
  ASSERT_TRUE(Run(wish));
  EXPECT_TRUE(fs::exists(real_ / "deep/c.txt"));
  EXPECT_FALSE(fs::exists(real_ / "a.log") || fs::exists(real_ / "deep/b.log"));
  Put(upper_ / "deep/d.txt", "1");
  wish = RootsWish();
  wish.paths = {};
  wish.path_globs = {GlobOf(real_.string() + "/d*/*.log")};
  ASSERT_TRUE(Run(wish));
  EXPECT_TRUE(fs::exists(real_ / "deep/b.log"));
  EXPECT_FALSE(fs::exists(real_ / "a.log") || fs::exists(real_ / "deep/d.txt"));
}

TEST_F(Promotes, PathsAndPatternsThatMatchNothingAreReported) {
  Put(upper_ / "a.log", "1");
  Wish wish = RootsWish();
  wish.exclude = {(real_ / "a.log").string(), (real_ / "typo").string()};
  wish.exclude_globs = {GlobOf("*.log"), GlobOf("*.lgo")};
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->unmatched, (std::vector<std::string>{(real_ / "typo").string(), "*.lgo"}));
}

TEST_F(Promotes, SetuidBitsDevicesPipesAndOtherAttributesAreNotPromoted) {
  Put(upper_ / "setuid", "x", 04755);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  struct stat info;
  stat((real_ / "setuid").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_FALSE(done->notes.empty());
  mkfifo((upper_ / "pipe").c_str(), 0644);
  const auto refused = Run(RootsWish());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->conflicts.empty());
  EXPECT_FALSE(fs::exists(real_ / "pipe"));
}

TEST_F(Promotes, ASymlinkPlacedDuringAPromotionIsNotFollowed) {
  Put(real_ / "safe/file", "safe");
  Put(real_ / "a/file", "old");
  Put(real_ / "b/file", "old");
  Put(upper_ / "a/file", "new");
  Put(upper_ / "b/added", "new");
  // When the first file is put in place, somebody swaps the second file's directory. Nothing exists
  // there yet whose inode could reveal it.
  bool swapped = false;
  before_rename = [&] {
    if (swapped) return;
    swapped = true;
    fs::rename(real_ / "b", real_ / "b2");
    fs::create_symlink("safe", real_ / "b");
  };
  EXPECT_FALSE(Run(RootsWish()));
  EXPECT_TRUE(swapped);
  EXPECT_FALSE(fs::exists(real_ / "safe/added"));
  EXPECT_EQ(Text(real_ / "safe/file"), "safe");
  EXPECT_EQ(Text(real_ / "a/file"), "old") << "all or nothing";
  EXPECT_EQ(Text(real_ / "b2/file"), "old");
}

TEST_F(Promotes, AnUnavailableGroupIsReported) {
  Put(upper_ / "file", "x");
  ASSERT_EQ(chown((upper_ / "file").c_str(), 1234, 4321), 0);
  Wish wish = RootsWish();
  wish.root = false;
  wish.uid = 1234;
  wish.gid = 1234;
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  BirthFiles nothing;
  const auto shown = Promote(*store, Layout(), wish, nothing, "sb_test", true);
  ASSERT_TRUE(shown) << shown.error().message;
  ASSERT_EQ(shown->notes.size(), 1u);
  EXPECT_NE(shown->notes[0].find("group 4321"), std::string::npos) << shown->notes[0];
  wish.groups = {4321};
  EXPECT_TRUE(Promote(*store, Layout(), wish, nothing, "sb_test", true)->notes.empty());
}

TEST_F(Promotes, TriggersNeedTheirOwnConfirmation) {
  Put(upper_ / ".git/hooks/post-commit", "#!/bin/sh\nevil\n", 0755);
  Wish wish = RootsWish();
  wish.allow_triggers = false;
  const auto stopped = Run(wish);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_FALSE(stopped->alarms.empty());
  EXPECT_TRUE(stopped->promotion.id.empty());
  EXPECT_FALSE(fs::exists(real_ / ".git"));
  wish.allow_triggers = true;
  const auto done = Run(wish);
  ASSERT_TRUE(done);
  EXPECT_TRUE(fs::exists(real_ / ".git/hooks/post-commit"));
}

TEST_F(Promotes, OldPromotionsArePrunedUnlessUnfinished) {
  // Sixty from 1970, one of them unfinished.
  const fs::path store = home_ / ".local/state/cloche/promotions";
  for (int i = 0; i < 60; ++i) {
    const fs::path entry = store / ("pr_00000000" + std::to_string(10 + i) + "_aaaaaa");
    fs::create_directories(entry / "files");
    Put(entry / "journal",
        std::string("{\"promotion\":1}\n{\"state\":\"") + (i == 3 ? "undoing" : "done") + "\"}\n");
  }
  for (const char* each : {"", "cloche", "cloche/promotions"})
    chmod((home_ / ".local/state" / each).c_str(), 0700);
  Put(upper_ / "file", "new");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(fs::exists(store / done->promotion.id / "journal"));
  const auto opened = Store::Open(home_);
  ASSERT_TRUE(opened);
  Prune(*opened, NowMs());
  size_t left = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(store)) ++left;
  EXPECT_EQ(left, 51u) << "the newest fifty, and the one that is not finished";
  EXPECT_TRUE(fs::exists(store / "pr_0000000013_aaaaaa"));
  EXPECT_FALSE(fs::exists(store / "pr_0000000010_aaaaaa"));
  EXPECT_TRUE(fs::exists(store / "pr_0000000069_aaaaaa"));
}

TEST_F(Promotes, AnUndonePromotionKeepsNoCopies) {
  MakeStory();
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  EXPECT_TRUE(
      fs::is_empty(home_ / ".local/state/cloche/promotions" / done->promotion.id / "files"));
}

TEST_F(Promotes, UndoRestoresTheTimesOfDirectories) {
  MakeStory();
  const auto time = fs::file_time_type(std::chrono::seconds(1000));
  for (const char* each : {"dir", "becomes-file", "."}) fs::last_write_time(real_ / each, time);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(fs::last_write_time(real_), time);
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  for (const char* each : {"dir", "becomes-file", "."})
    EXPECT_EQ(fs::last_write_time(real_ / each), time) << each;
}

TEST_F(Promotes, APromotionKilledWhileItsDirectoryIsMadeIsCleanedUp) {
  fs::create_directories(home_ / ".local/state/cloche/promotions/pr_0000000010_aaaaaa");
  chmod((home_ / ".local/state/cloche/promotions").c_str(), 0700);
  Put(upper_ / "file", "new");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(RecoverNow().size(), 1u);
  EXPECT_FALSE(fs::exists(home_ / ".local/state/cloche/promotions/pr_0000000010_aaaaaa"));
}

TEST_F(Promotes, AFileThatAppearsMidwayIsPutBackOrItsKeptNameIsReported) {
  Put(real_ / "file", "old");
  White(upper_ / "file");
  // Between the last check and the rename somebody puts another file there; when we put that back,
  // the place is taken again.
  int changes = 0;
  before_rename = [&] {
    ++changes;
    if (changes > 2) return;
    fs::remove(real_ / "file");
    Put(real_ / "file", "stranger " + std::to_string(changes));
  };
  const auto done = Run(RootsWish());
  before_rename = nullptr;
  ASSERT_FALSE(done);
  EXPECT_EQ(Text(real_ / "file"), "stranger 2");
  const std::string& said = done.error().message;
  const size_t at = said.find(".local/state/cloche/promotions/");
  ASSERT_NE(at, std::string::npos) << said;
  const std::string place = said.substr(at, said.find_first_of("; ", at) - at);
  EXPECT_EQ(Text(home_ / place), "stranger 1") << place;
}

TEST_F(Promotes, AnUnreachablePathAfterACrashIsReportedAndRetried) {
  Put(real_ / "dir/old", "old");
  Put(upper_ / "dir/a", "new");
  Put(upper_ / "dir/b", "new");
  EXPECT_FALSE(DiesAt(1, [&] { (void)Run(RootsWish()); }));
  ASSERT_TRUE(fs::exists(real_ / "dir/a"));
  fs::rename(real_ / "dir", real_ / "elsewhere");
  fs::create_symlink("elsewhere", real_ / "dir");
  const auto stuck = RecoverNow();
  ASSERT_EQ(stuck.size(), 1u);
  EXPECT_FALSE(stuck[0].problems.empty());
  EXPECT_TRUE(fs::exists(real_ / "elsewhere/a")) << "not through a symlink";
  fs::remove(real_ / "dir");
  fs::rename(real_ / "elsewhere", real_ / "dir");
  EXPECT_TRUE(RecoverNow().at(0).problems.empty());
  EXPECT_FALSE(fs::exists(real_ / "dir/a"));
}

TEST_F(Promotes, FilesWrittenAfterACrashAreKept) {
  Put(real_ / "a", "old");
  Put(upper_ / "a", "new");
  Put(upper_ / "b", "new");
  Put(upper_ / "c", "new");
  EXPECT_FALSE(DiesAt(2, [&] { (void)Run(RootsWish()); }));
  ASSERT_EQ(Text(real_ / "a"), "new");
  ASSERT_EQ(Text(real_ / "b"), "new");
  for (const char* name : {"a", "b"}) std::ofstream(real_ / name, std::ios::app) << " and mine";
  const auto recovered = RecoverNow();
  ASSERT_EQ(recovered.size(), 1u);
  EXPECT_EQ(recovered[0].problems.size(), 2u);
  EXPECT_EQ(Text(real_ / "a"), "new and mine");
  EXPECT_EQ(Text(real_ / "b"), "new and mine");
}

TEST_F(Promotes, FilesKeepAccessAndModificationTime) {
  Put(upper_ / "f", "new");
  const timespec times[2] = {{time(nullptr) + 60, 0}, {1'000'000'000, 5}};  // not changed by reads
  ASSERT_EQ(utimensat(AT_FDCWD, (upper_ / "f").c_str(), times, 0), 0);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  struct stat info;
  ASSERT_EQ(stat((real_ / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_atim.tv_sec, times[0].tv_sec);
  EXPECT_EQ(info.st_mtim.tv_sec, times[1].tv_sec);
  EXPECT_EQ(info.st_mtim.tv_nsec, times[1].tv_nsec);
}

TEST_F(Promotes, DirectoriesFromBefore1970KeepTheirTime) {
  Put(upper_ / "d/f", "new");
  const timespec times[2] = {{-2, 500'000'000}, {-2, 500'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, (upper_ / "d").c_str(), times, 0), 0);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  struct stat info;
  ASSERT_EQ(stat((real_ / "d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtim.tv_sec, -2);
  EXPECT_EQ(info.st_mtim.tv_nsec, 500'000'000);
}

TEST_F(Promotes, KilledBeforeAnyChangeLeavesTheOldStateOrTheNew) {
  MakeStory();
  const auto before = Seen(real_);
  int survived = 0;
  for (bool through = false; !through && survived < 1000; ++survived) {
    through = DiesAt(
        survived, [&] { (void)Run(RootsWish()); }, before_change);
    if (through) break;
    const auto recovered = RecoverNow();
    for (const Recovered& each : recovered)
      for (const std::string& problem : each.problems) ADD_FAILURE() << survived << ": " << problem;
    ASSERT_EQ(Seen(real_), before) << "killed before change " << survived;
  }
  EXPECT_GT(survived, 10);
  EXPECT_NE(Seen(real_), before);
  std::cout << "killed at each of " << survived << " changes of a promotion\n";
}

TEST_F(Promotes, AnUndoThatWasKilledIsFinishedByTheNextCommand) {
  MakeStory();
  const auto before = Seen(real_);
  for (int n = 0; n < 1000; ++n) {
    const auto done = Run(RootsWish());
    ASSERT_TRUE(done) << done.error().message;
    const auto undo = [&] {
      auto store = Store::Open(home_);
      std::vector<std::string> moved;
      (void)Undo(*store, done->promotion.id, true, {}, moved);
    };
    const bool through = DiesAt(n, undo, before_change);
    (void)RecoverNow();
    ASSERT_EQ(Seen(real_), before) << "killed before change " << n;
    if (through) {
      std::cout << "killed at each of " << n << " changes of an undo\n";
      return;
    }
  }
}

// Hard links are shown as such. A name that joined them later would get their content unreviewed.
TEST_F(Promotes, AHardLinkThatWasNotShownIsAConflict) {
  for (const auto& [first, second] : {std::pair("a", "b"), std::pair("c", "d")}) {
    Put(upper_ / first, first);
    fs::create_hard_link(upper_ / first, upper_ / second);
  }
  auto store = Store::Open(home_);
  ASSERT_TRUE(store);
  BirthFiles nothing;
  const Wish wish = RootsWish();
  auto plan = MakePlan(Layout(), wish, nothing);
  ASSERT_TRUE(plan) << plan.error().message;
  fs::remove(upper_ / "d");
  fs::create_hard_link(upper_ / "a", upper_ / "d");
  auto entry = store->Make();
  ASSERT_TRUE(entry);
  auto journal = Journal::Create(entry->directory.get());
  ASSERT_TRUE(journal);
  Realities realities;
  Promotion promotion;
  std::vector<Conflict> conflicts;
  const PrepareInto into{*journal, *entry, realities, promotion};
  const Status prepared =
      PrepareFiles(plan->changes, std::move(plan->wanted), wish, into, conflicts);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kConflict);
  EXPECT_TRUE(prepared.error().message.ends_with("d: the sandbox has just changed it"));
}

}  // namespace
}  // namespace cloche::apply
