#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Opens for writing and writes nothing.
void WritableKernelFiles(Attempt& attempt) {
  const auto open_it = [&](const std::string& path) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat info {};
    // Masked by /dev/null: what is written there goes nowhere.
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISCHR(info.st_mode))
      attempt.Refused();
    else
      attempt.Try(path, fd);
    if (fd >= 0) close(fd);
  };
  for (const char* path : {"/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/proc/mtrr",
                           "/proc/1/mem", "/proc/irq/default_smp_affinity", "/proc/acpi/wakeup",
                           "/proc/dynamic_debug/control", "/sys/kernel/uevent_helper",
                           "/sys/power/state", "/proc/fs/nfsd/versions", "/proc/1/oom_score_adj"})
    if (access(path, F_OK) == 0) open_it(path);
  Walk("/proc/sys", 10, [&](const std::string& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) open_it(path);
  });
}

// Words are process ids of the host.
void KernelSecrets(Attempt& attempt) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    if (!IsNumber(entry.path().filename())) continue;
    for (const char* name : {"/cmdline", "/environ", "/maps"})
      attempt.Data(ReadAll(entry.path().string() + name, 16 * 1024));
  }
  for (const std::string& pid : attempt.words) attempt.Data(ReadAll("/proc/" + pid + "/cmdline"));
  for (const char* path :
       {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/slabinfo",
        "/proc/vmallocinfo", "/proc/kpagecount", "/proc/interrupts", "/proc/key-users"})
    if (!ReadAll(path, 4096).empty()) attempt.Got(path);
  std::ifstream symbols("/proc/kallsyms");
  for (std::string address; symbols >> address;) {
    if (address.find_first_not_of('0') == std::string::npos) break;
    attempt.Got("/proc/kallsyms");
    break;
  }
}

// A sandbox has its own control groups and a copy of how the CPUs hang together, to look at.
void WalkSys(Attempt& attempt) {
  std::error_code error;
  const auto only = [&](const std::string& directory, std::initializer_list<const char*> names) {
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename();
      if (std::ranges::none_of(names, [&](const char* each) { return name == each; }))
        attempt.Got(entry.path());
    }
  };
  only("/sys", {"devices", "fs"});
  only("/sys/devices", {"system"});
  only("/sys/devices/system", {"cpu"});
  only("/sys/fs", {"cgroup"});
  for (const char* told : {"vulnerabilities", "microcode", "cpu0/microcode", "cpu0/cpufreq"})
    if (fs::exists(std::string("/sys/devices/system/cpu/") + told, error)) attempt.Got(told);
  Walk("/sys/fs/cgroup", 1, [&](const std::string& path) {
    if (path.ends_with("/release_agent")) attempt.Got(path);  // only the host's own root has one
  });
  Walk("/sys", 6, [&](const std::string& path) {
    if (access(path.c_str(), W_OK) == 0) attempt.Got("writable: " + path);
  });
}

void OpenFds(Attempt& attempt) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (!IsNumber(entry->d_name)) continue;
    const int fd = atoi(entry->d_name);
    if (fd == dirfd(directory)) continue;
    struct stat info {};
    if (fstat(fd, &info) != 0) continue;
    std::error_code error;
    const std::string target = fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
    if (fd > 2 || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode))
      attempt.Got(fmt::format("fd {} is {}", fd, target));
  }
  closedir(directory);
}

// Words are process ids of the host; 1 is tried inside, where it is our init.
void OtherMemory(Attempt& attempt) {
  for (const std::string& pid : attempt.words) {
    if (pid == std::to_string(getpid())) continue;
    for (const char* name : {"mem", "environ", "root", "cwd/.", "fd", "ns/mnt"}) {
      const std::string path = "/proc/" + pid + "/" + name;
      const int flags = strcmp(name, "mem") == 0 ? O_RDWR : O_RDONLY;
      const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
      attempt.Try(path, fd);
      if (fd >= 0) close(fd);
    }
  }
}

void CheckStatus(Attempt& attempt, const std::string& path, const char* who) {
  constexpr unsigned long kRootInside = 0xa80405fb;  // Docker's default without NET_RAW
  const unsigned long most = getuid() == 0 ? kRootInside : 0;
  std::ifstream status(path);
  bool no_new_privileges = false, filtered = false;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Cap")) {
      const unsigned long held = strtoul(line.c_str() + line.find('\t'), nullptr, 16);
      if ((held & ~most) != 0) attempt.Got(fmt::format("{}: {}", who, line));
    }
    if (line == "NoNewPrivs:\t1") no_new_privileges = true;
    if (line == "Seccomp:\t2") filtered = true;
  }
  if (!no_new_privileges) attempt.Got(fmt::format("{}: no_new_privs is off", who));
  if (!filtered) attempt.Got(fmt::format("{}: no seccomp filter", who));
}

void Privileges(Attempt& attempt) {
  CheckStatus(attempt, "/proc/self/status", "main thread");
  std::thread([&] { CheckStatus(attempt, "/proc/thread-self/status", "second thread"); }).join();
  InChild([](Attempt& child) { CheckStatus(child, "/proc/self/status", "child"); }, attempt);
}

constexpr Attack kAttacks[] = {
    {"writable-kernel-files", WritableKernelFiles},
    {"kernel-secrets", KernelSecrets},
    {"walk-sys", WalkSys},
    {"open-fds", OpenFds},
    {"other-memory", OtherMemory},
    {"privileges", Privileges},
};

}  // namespace

std::span<const Attack> ProcAttacks() { return kAttacks; }

}  // namespace cloche::probe
