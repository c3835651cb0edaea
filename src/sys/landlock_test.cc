#include "sys/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "sys/kernel_abi.h"

namespace cloche::sys {
namespace {

// Exit status of `body` in a child, inside the domain or (as a control) without one.
int StatusOf(const LandlockDomain* domain, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (domain != nullptr && EnterLandlock(*domain).operation != nullptr) _exit(200);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int ErrnoOf(long value) { return value < 0 ? errno : 0; }

class Landlock : public testing::TestWithParam<LandlockDomain (*)(int)> {
 protected:
  void SetUp() override {
    if (LandlockAbi() < 2) GTEST_SKIP() << "this kernel has no Landlock of ABI 2";
    domain_ = GetParam()(LandlockAbi());
    char name[] = "/tmp/cloche-landlock-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  LandlockDomain domain_;
  std::string directory_;
};

INSTANTIATE_TEST_SUITE_P(BothDomains, Landlock,
                         testing::Values(&FullLandlockDomain, &DeviceLandlockDomain),
                         [](const auto& tested) {
                           return tested.param == &FullLandlockDomain ? "Full" : "Device";
                         });

TEST_P(Landlock, DeviceNodesCannotBeMade) {
  // 0:0 is the one device that needs no capability, so the control works for everybody.
  const auto make = [this] {
    const std::string path = directory_ + "/node";
    const int error = ErrnoOf(mknod(path.c_str(), S_IFCHR | 0600, makedev(0, 0)));
    unlink(path.c_str());
    return error;
  };
  EXPECT_EQ(StatusOf(nullptr, make), 0);
  EXPECT_EQ(StatusOf(&domain_, make), EACCES);
}

TEST_P(Landlock, OrdinaryWorkIsUnchanged) {
  const int status = StatusOf(&domain_, [this] {
    const std::string& top = directory_;
    if (mkdir((top + "/a").c_str(), 0755) != 0 || mkdir((top + "/b").c_str(), 0755) != 0) return 1;
    const int file = open((top + "/a/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (file < 0 || write(file, "text", 4) != 4) return 2;
    if (truncate((top + "/a/file").c_str(), 2) != 0) return 3;
    if (rename((top + "/a/file").c_str(), (top + "/b/file").c_str()) != 0) return 4;
    if (link((top + "/b/file").c_str(), (top + "/a/linked").c_str()) != 0) return 5;
    if (symlink("file", (top + "/b/symbolic").c_str()) != 0) return 6;
    if (mkfifo((top + "/fifo").c_str(), 0600) != 0) return 7;
    sockaddr_un address{AF_UNIX, {}};
    (top + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    const auto* name = reinterpret_cast<const sockaddr*>(&address);
    if (bind(server, name, sizeof address) != 0 || listen(server, 1) != 0) return 8;
    if (connect(socket(AF_UNIX, SOCK_STREAM, 0), name, sizeof address) != 0) return 9;
    if (system("ls / >/dev/null && cat /proc/self/status >/dev/null") != 0) return 10;
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    return kill(child, SIGKILL) == 0 ? 0 : 11;
  });
  EXPECT_EQ(status, 0);
}

TEST_P(Landlock, ProcessesOutsideCannotBeSignalled) {
  if (LandlockAbi() < 6) GTEST_SKIP() << "scopes need Landlock ABI 6, here " << LandlockAbi();
  const auto signal_parent = [] { return ErrnoOf(kill(getppid(), 0)); };
  EXPECT_EQ(StatusOf(nullptr, signal_parent), 0);
  EXPECT_EQ(StatusOf(&domain_, signal_parent), EPERM);
}

TEST_P(Landlock, DriversOutsideTheListTakeNoIoctl) {
  if (LandlockAbi() < 5) GTEST_SKIP() << "IOCTL_DEV needs Landlock ABI 5, here " << LandlockAbi();
  const char* device = nullptr;
  for (const char* path :
       {"/dev/loop-control", "/dev/fuse", "/dev/kvm", "/dev/rtc0", "/dev/hwrng"}) {
    struct stat found {};
    if (lstat(path, &found) == 0 && S_ISCHR(found.st_mode) && access(path, R_OK) == 0) {
      device = path;
      break;
    }
  }
  if (device == nullptr) GTEST_SKIP() << "no device here that could be opened";
  const auto request = [&] {
    const int fd = open(device, O_RDONLY | O_CLOEXEC);
    int number = 0;
    return fd < 0 ? 100 : ErrnoOf(ioctl(fd, TIOCGPTN, &number));
  };
  const int outside = StatusOf(nullptr, request);
  EXPECT_NE(outside, EACCES);
  EXPECT_NE(outside, 100);
  EXPECT_EQ(StatusOf(&domain_, request), EACCES);
}

TEST_P(Landlock, TerminalsWork) {
  const int status = StatusOf(&domain_, [] {
    const int controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (controller < 0 || unlockpt(controller) != 0) return 1;
    const int terminal = ioctl(controller, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    if (terminal < 0 || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) return 2;
    winsize size{};
    const int reopened = open("/dev/tty", O_RDWR | O_CLOEXEC);
    return ioctl(reopened, TIOCGWINSZ, &size) == 0 ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST_P(Landlock, FailureNamesTheOperation) {
  const int status = StatusOf(nullptr, [] {
    LandlockDomain impossible;
    impossible.handled_fs = 1ull << 63;
    const LandlockFailure failure = EnterLandlock(impossible);
    if (failure.operation == nullptr) return 1;
    return std::string(failure.operation) == "landlock_create_ruleset" ? failure.error : 2;
  });
  EXPECT_EQ(status, EINVAL);
}

TEST(LandlockRights, GrowWithTheAbi) {
  EXPECT_EQ(FullLandlockDomain(0).handled_fs, 0u);
  EXPECT_EQ(FullLandlockDomain(1).handled_fs, 0x1fffu);
  EXPECT_EQ(FullLandlockDomain(2).handled_fs, 0x3fffu);
  EXPECT_EQ(FullLandlockDomain(4).handled_fs, 0x7fffu);
  EXPECT_EQ(FullLandlockDomain(8).handled_fs, 0xffffu);
  EXPECT_EQ(FullLandlockDomain(9).handled_fs, 0x1ffffu);
  EXPECT_EQ(FullLandlockDomain(5).scoped, 0u);
  EXPECT_EQ(FullLandlockDomain(6).scoped, 3u);
  EXPECT_EQ(FullLandlockDomain(6).restrict_flags, 0u);
  EXPECT_EQ(DeviceLandlockDomain(4).handled_fs,
            kLandlockFsMakeChar | kLandlockFsMakeBlock | kLandlockFsRefer);
}

}  // namespace
}  // namespace cloche::sys
