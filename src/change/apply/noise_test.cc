#include "change/apply/promote_fixture.h"
#include "change/apply/scope.h"

namespace cloche::apply {
namespace {

class Noise : public Promotes {
 protected:
  void SetUp() override {
    Promotes::SetUp();
    if (IsSkipped()) return;
    Put(real_ / "app/a.py", "a = 1");
    Put(real_ / "app/__pycache__/a.pyc", "old code");
    Put(upper_ / "app/a.py", "a = 2");
    Put(upper_ / "app/__pycache__/a.pyc", "evil code");
    Put(upper_ / "app/__pycache__/b.pyc", "evil code");
    Put(upper_ / ".pytest_cache/v/last", "x");
  }
  Wish Named(std::vector<std::string> paths) {
    Wish wish = RootsWish();
    for (const std::string& each : paths) wish.paths.push_back(real_ / each);
    return wish;
  }
};

TEST_F(Noise, NoiseIsNotPromoted) {
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "app/a.py"), "a = 2");
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "old code");
  EXPECT_FALSE(fs::exists(real_ / "app/__pycache__/b.pyc"));
  EXPECT_FALSE(fs::exists(real_ / ".pytest_cache"));
  EXPECT_EQ(done->changes.size(), 1u);
  ASSERT_EQ(done->left_out.size(), 1u);
  EXPECT_EQ(done->left_out.at("caches"), 3u);
  const auto again = Run(RootsWish());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->changes.empty());
  EXPECT_TRUE(again->conflicts.empty());
}

TEST_F(Noise, ABuildObjectIsNoiseAndAnAlarmWhenNamed) {
  Put(real_ / "app/a.o", "old code");
  Put(upper_ / "app/a.o", "evil code");
  auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "app/a.o"), "old code");
  Wish wish = Named({"app/a.o"});
  wish.allow_triggers = false;
  done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->alarms.size(), 1u);
  EXPECT_EQ(Text(real_ / "app/a.o"), "old code");
}

TEST_F(Noise, NamingADirectoryAboveACacheDoesNotIncludeTheCache) {
  const auto done = Run(Named({"app"}));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "app/a.py"), "a = 2");
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "old code");
  EXPECT_EQ(done->left_out.at("caches"), 2u);
}

TEST_F(Noise, ACacheNamedItselfIsPromotedWithAnAlarm) {
  Wish wish = Named({"app/__pycache__"});
  wish.allow_triggers = false;
  const auto asked = Run(wish);
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->alarms.size(), 2u) << "compiled code has no source to look at";
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "old code");
  wish.allow_triggers = true;
  ASSERT_TRUE(Run(wish));
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "evil code");
  EXPECT_EQ(Text(real_ / "app/a.py"), "a = 1") << "it was not asked for";
  // A file that is equal on both sides does not count as left out.
  const auto rest = Run(RootsWish());
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->left_out.at("caches"), 1u);
}

TEST_F(Noise, OneFileInACacheCanBeNamed) {
  ASSERT_TRUE(Run(Named({"app/__pycache__/b.pyc"})));
  EXPECT_EQ(Text(real_ / "app/__pycache__/b.pyc"), "evil code");
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "old code");
}

TEST_F(Noise, WithNoiseIncludesAllOfIt) {
  Wish wish = RootsWish();
  wish.with_noise = true;
  const auto done = Run(wish);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->left_out.empty());
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "evil code");
  EXPECT_EQ(Text(real_ / ".pytest_cache/v/last"), "x");
}

TEST_F(Noise, NoiseIsDeletedWithItsDirectory) {
  fs::remove_all(upper_ / "app");
  White(upper_ / "app");
  const auto before = Seen(real_);
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->conflicts.empty()) << done->conflicts[0].path;
  EXPECT_FALSE(fs::exists(real_ / "app"));
  auto store = Store::Open(home_);
  std::vector<std::string> moved;
  ASSERT_TRUE(Undo(*store, done->promotion.id, true, {}, moved));
  EXPECT_EQ(Seen(real_), before);
}

TEST_F(Noise, NoiseIsDeletedWhenItsDirectoryBecomesAFile) {
  fs::remove_all(upper_ / "app");
  Put(upper_ / "app", "now a file");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(done->conflicts.empty()) << done->conflicts[0].path;
  EXPECT_EQ(Text(real_ / "app"), "now a file");
}

TEST_F(Noise, DeletingOnlyNoiseIsLeftOut) {
  fs::remove_all(upper_ / "app/__pycache__");
  White(upper_ / "app/__pycache__");
  const auto done = Run(RootsWish());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(real_ / "app/__pycache__/a.pyc"), "old code");
}

TEST(NoiseOf, AgreesWithDiffUnlessItsDirectoryIsNamed) {
  using change::Group;
  Wish wish;
  wish.project = "/tmp/p";
  wish.home = "/home/u";
  EXPECT_EQ(NoiseOf(wish, "/tmp/p/a"), Group::kReal);
  EXPECT_EQ(NoiseOf(wish, "/tmp/other"), Group::kTemporary);
  EXPECT_EQ(NoiseOf(wish, "/etc/motd"), Group::kSystem);
  wish.paths = {"/"};
  EXPECT_EQ(NoiseOf(wish, "/etc/motd"), Group::kReal);
  EXPECT_EQ(NoiseOf(wish, "/tmp/p/a"), Group::kReal);
  EXPECT_EQ(NoiseOf(wish, "/tmp/other"), Group::kTemporary);
  EXPECT_EQ(NoiseOf(wish, "/home/u/.cache/x"), Group::kCaches);
  wish.paths = {"/tmp", "/home/u/.npm"};
  EXPECT_EQ(NoiseOf(wish, "/tmp/other"), Group::kReal);
  EXPECT_EQ(NoiseOf(wish, "/home/u/.npm/x"), Group::kReal);
  EXPECT_EQ(NoiseOf(wish, "/home/u/.npm/_logs/x"), Group::kLogs);
  EXPECT_EQ(NoiseOf(wish, "/tmp/x/__pycache__/a"), Group::kCaches);
}

}  // namespace
}  // namespace cloche::apply
