#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "change/apply/promote.h"
#include "change/apply/prune.h"
#include "sys/file.h"

// The fixture for tests of promotions.
namespace cloche::apply {

namespace fs = std::filesystem;

// Where a test stops the world (wrapped_calls.cc).
inline std::function<void()> before_rename;
inline std::function<void()> before_change;  // renames, modes and times

inline void Put(const fs::path& path, const std::string& text, mode_t mode = 0644) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
}

inline std::string Text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Everything a user can see of a tree.
inline std::map<std::string, std::string> Seen(const fs::path& top) {
  std::map<std::string, std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    struct stat info;
    if (lstat(entry.path().c_str(), &info) < 0) continue;
    std::string text = std::to_string(info.st_mode) + " " + std::to_string(info.st_uid) + " " +
                       std::to_string(info.st_nlink);
    if (S_ISREG(info.st_mode))
      text += " " + std::to_string(info.st_mtim.tv_sec) + " " + Text(entry.path());
    if (S_ISLNK(info.st_mode)) text += " " + fs::read_symlink(entry.path()).string();
    seen[entry.path().lexically_relative(top)] = text;
  }
  return seen;
}

// A real tree, a sandbox's upper over it, and a home directory.
class Promotes : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "whiteouts are made by root";
    IgnoreLeaseBreaks();
    char name[] = "/tmp/cloche-promote.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
    real_ = top_ / "real";
    upper_ = top_ / "upper";
    home_ = top_ / "home";
    for (const auto& each : {real_, upper_, home_}) fs::create_directories(each);
  }
  void TearDown() override {
    before_rename = before_change = nullptr;
    if (!top_.empty()) fs::remove_all(top_);
  }

  // Edits, additions, deletions, new and deleted directories, and changes of type.
  void MakeStory() {
    Put(real_ / "edit", "old");
    Put(real_ / "gone", "bye");
    Put(real_ / "dir/a", "a");
    Put(real_ / "dir/b", "b");
    Put(real_ / "becomes-dir", "file");
    Put(real_ / "becomes-file/x", "x");
    Put(real_ / "mode", "same", 0644);
    fs::create_symlink("edit", real_ / "link");
    Put(real_ / "kept", "kept");
    Put(upper_ / "edit", "new text");
    White(upper_ / "gone");
    White(upper_ / "dir");
    Put(upper_ / "becomes-dir/inner/file", "deep", 0640);
    Put(upper_ / "becomes-file", "now a file");
    Put(upper_ / "mode", "same", 0755);
    fs::create_symlink("kept", upper_ / "link");
    Put(upper_ / "one", "shared");
    fs::create_hard_link(upper_ / "one", upper_ / "two");
    chmod((upper_ / "becomes-dir").c_str(), 0750);
    // As overlayfs does when a directory replaces something.
    setxattr((upper_ / "becomes-dir").c_str(), "trusted.overlay.opaque", "y", 1, 0);
  }
  static void White(const fs::path& path) {
    ASSERT_EQ(mknod(path.c_str(), S_IFCHR, makedev(0, 0)), 0);
  }

  StateLayout Layout() {
    StateLayout layout;
    LayoutSlot slot;
    slot.target = real_;
    fds_.clear();
    for (const auto& path : {real_, upper_})
      fds_.emplace_back(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    slot.base = fds_[0].get();
    slot.state = fds_[1].get();
    if (fs::exists(top_ / "mask")) {
      fds_.emplace_back(open((top_ / "mask").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      slot.mask = fds_.back().get();
    }
    layout.slots.push_back(slot);
    if (fs::is_directory(upper_ / "becomes-dir"))
      layout.special.push_back({false, 0, "becomes-dir", true, ""});
    layout.copied = copied_;
    if (blank_) layout.special.push_back({false, 0, "", true, ""});
    return layout;
  }
  Wish RootsWish() {
    Wish wish;
    wish.root = true;
    wish.allow_triggers = true;
    wish.project = real_;
    wish.since_ns = sys::CoarseNanos() + 1'000'000'000;
    return wish;
  }
  Result<PromotionResult> Run(Wish wish) {
    auto store = Store::Open(home_);
    if (!store) return std::unexpected(store.error());
    BirthFiles nothing;
    return Promote(*store, Layout(), std::move(wish), nothing, "sb_test", false);
  }
  // Runs `action` in a child that dies before the n-th rename or change. True: it finished.
  template <typename Action>
  bool DiesAt(int n, Action action, std::function<void()>& hook = before_rename) {
    const pid_t child = fork();
    if (child == 0) {
      int left = n;
      hook = [&left] {
        if (left-- == 0) _exit(99);
      };
      action();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::vector<Recovered> RecoverNow() {
    auto store = Store::Open(home_);
    return store ? Recover(*store, true) : std::vector<Recovered>();
  }

  fs::path top_, real_, upper_, home_;
  std::vector<sys::Fd> fds_;
  std::vector<CopiedFile> copied_;
  bool blank_ = false;  // an empty lower: the upper is a copy
};

}  // namespace cloche::apply
