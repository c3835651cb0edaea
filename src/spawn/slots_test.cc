#include "spawn/slots.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace cloche::spawn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class SlotsTest : public testing::Test {
 protected:
  SlotsTest() {
    char name[] = "/tmp/cloche-slots.XXXXXX";
    root_ = mkdtemp(name);
    upper_ = sys::Fd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~SlotsTest() override { fs::remove_all(root_); }

  // Overlays at these places; a leading "-": nothing is mounted there.
  void Mount(const std::vector<std::string>& targets) {
    spec_.mounts.clear();
    sources_.clear();
    for (const std::string& each : targets) {
      const bool there = !each.starts_with('-');
      spec_.mounts.push_back(
          {.kind = MountKind::kOverlay, .source = "", .target = there ? each : each.substr(1)});
      Source source;
      if (there) source.fd = sys::Fd(open("/", O_PATH | O_CLOEXEC));
      source.directory = there;
      sources_.push_back(std::move(source));
    }
  }

  Slots Find() {
    auto slots = Slots::Of(upper_.get(), spec_, sources_);
    EXPECT_TRUE(slots.has_value());
    return slots.value_or(Slots());
  }
  std::vector<std::string> Launch() {
    Slots slots = Find();
    EXPECT_TRUE(slots.Complete(upper_.get(), spec_, sources_).has_value());
    for (const std::string& each : slots.names())
      if (!each.empty()) fs::create_directories(root_ / each / "u");
    return slots.names();
  }
  void Change(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
  }

  fs::path root_;
  sys::Fd upper_;
  SandboxSpec spec_;
  std::vector<Source> sources_;
};

TEST_F(SlotsTest, UnmountingOneKeepsTheSlotsOfOthers) {
  Mount({"/", "/a", "/b"});
  EXPECT_THAT(Launch(), ElementsAre("0", "1", "2"));
  Mount({"/", "/b"});
  EXPECT_THAT(Launch(), ElementsAre("0", "2"));
  Mount({"/", "/-", "/b", "/a"});
  EXPECT_THAT(Launch(), ElementsAre("0", "3", "2", "1"));
}

TEST_F(SlotsTest, ChangesOfUnmountedOverlaysAreReported) {
  Mount({"/", "/a", "/b"});
  Launch();
  Mount({"/", "-/a"});
  EXPECT_THAT(Find().away(), IsEmpty());
  Change("1/u/x");
  EXPECT_THAT(Find().away(), ElementsAre("/a"));
}

TEST_F(SlotsTest, AnOverlayThatWasNeverMountedHidesNothing) {
  Mount({"/", "-/gone"});
  Launch();
  Change("0/u/x");
  EXPECT_THAT(Find().away(), IsEmpty());
}

TEST_F(SlotsTest, ChangesBelowANewMountAreReported) {
  Mount({"/"});
  Launch();
  fs::create_directories(root_ / "0/u/srv/empty");
  Change("0/u/srv/full/x");
  fs::create_symlink("/etc", root_ / "0/u/link");
  Mount({"/", "/srv/empty", "/srv/none"});
  EXPECT_THAT(Find().away(), IsEmpty());
  Mount({"/", "/srv/full", "/link/below"});
  EXPECT_THAT(Find().away(), ElementsAre("/srv/full", "/link/below"));
}

TEST_F(SlotsTest, UnnamedSlotsAreFoundByNumber) {
  fs::create_directories(root_ / "0/u");
  fs::create_directories(root_ / "1/u");
  Mount({"/", "/a"});
  EXPECT_THAT(Launch(), ElementsAre("0", "1"));
  Mount({"/", "/new", "/a"});
  EXPECT_THAT(Launch(), ElementsAre("0", "2", "1"));
}

}  // namespace
}  // namespace cloche::spawn
