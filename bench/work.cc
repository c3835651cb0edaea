#include "work.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "program.h"
#include "series.h"

namespace cloche::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 5000;
constexpr int kDirectories = 100;
constexpr size_t kBlobBytes = 100 << 20;

constexpr const char* kCppSource = R"(#include <algorithm>
#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> Index(std::vector<std::string> words) {
  std::map<std::string, std::vector<int>> index;
  std::sort(words.begin(), words.end());
  for (int i = 0; i < static_cast<int>(words.size()); ++i) index[words[i]].push_back(i);
  return index;
}
)";

void Need(bool fine, const std::string& what) {
  if (!fine)
    throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

std::string NewPlace(const std::string& directory, const char* name) {
  std::string place = directory + "/" + name + ".XXXXXX";
  Need(mkdtemp(place.data()) != nullptr, place);
  return place;
}

// Calls action(dir, "f0"), action(dir, "f1"), ...
template <typename Action>
void ForEachFile(const std::string& place, Action action) {
  const int dir = open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Need(dir >= 0, place);
  for (int i = 0; i < kFiles; ++i) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    Need(action(dir, name), place);
  }
  close(dir);
}

// The files stay: ext4 is slow for seconds where much was deleted a moment ago, and the next round
// outside would pay for that.
double SmallFiles(const std::string& directory) {
  const std::string place = NewPlace(directory, "small");
  char data[512] = {'x'};
  const auto size = static_cast<ssize_t>(sizeof data);
  const Stopwatch watch;
  ForEachFile(place, [&](int dir, const char* name) {
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const bool fine = fd >= 0 && write(fd, data, sizeof data) == size;
    return close(fd) == 0 && fine;
  });
  ForEachFile(place, [&](int dir, const char* name) {
    struct stat info {};
    return fstatat(dir, name, &info, 0) == 0;
  });
  ForEachFile(place, [&](int dir, const char* name) {
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    const bool fine = fd >= 0 && read(fd, data, sizeof data) == size;
    return close(fd) == 0 && fine;
  });
  return watch.Ms();
}

// Removes what one SmallFiles left.
double Unlink(const std::string& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string place = entry.path();
    if (!entry.path().filename().native().starts_with("small.")) continue;
    const Stopwatch watch;
    ForEachFile(place, [](int dir, const char* name) { return unlinkat(dir, name, 0) == 0; });
    Need(rmdir(place.c_str()) == 0, place);
    return watch.Ms();
  }
  throw std::runtime_error("unlink: nothing is left to remove in " + directory);
}

double Untar(const std::string& directory) {
  return TimeSpawn({FindProgram("sh"), "-c", R"(tar -C "$0/.." -cf - repo | tar -C "$1" -xf -)",
                    directory, NewPlace(directory, "untar")});
}

double Compile(const std::string& directory) {
  std::string object = directory + "/compiled.XXXXXX";
  const int fd = mkstemp(object.data());
  Need(fd >= 0, object);
  close(fd);
  const double ms =
      TimeSpawn({FindProgram("g++"), "-O1", "-c", "-o", object, directory + "/../index.cc"});
  unlink(object.c_str());
  return ms;
}

double Copy(const std::string& directory) {
  std::string copy = directory + "/copy.XXXXXX";
  const int fd = mkstemp(copy.data());
  Need(fd >= 0, copy);
  close(fd);
  const double ms = TimeSpawn({FindProgram("cp"), "--reflink=never", directory + "/../blob", copy});
  unlink(copy.c_str());
  return ms;
}

// So many files in directories of 1,000, all alike: git keeps one of them.
double Tree(const std::string& place, int files) {
  const Stopwatch watch;
  fs::create_directories(place);
  for (int made = 0; made < files;) {
    const std::string folder = fmt::format("{}/d{}", place, made / 1000);
    Need(mkdir(folder.c_str(), 0755) == 0, folder);
    const int dir = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Need(dir >= 0, folder);
    for (int i = 0; i < 1000 && made < files; ++i, ++made) {
      const int fd =
          openat(dir, fmt::format("f{}", i).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      Need(fd >= 0 && write(fd, "x\n", 2) == 2 && close(fd) == 0, folder);
    }
    close(dir);
  }
  return watch.Ms();
}

}  // namespace

void PrepareWork(const std::string& directory) {
  std::ofstream(directory + "/index.cc") << kCppSource;
  {
    std::ofstream blob(directory + "/blob", std::ios::binary);
    std::string block(1 << 20, '\0');
    for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 2654435761u >> 13);
    for (size_t written = 0; written < kBlobBytes; written += block.size()) blob << block;
  }
  const std::string repo = directory + "/repo";
  for (int i = 0; i < kFiles; ++i) {
    const std::string folder = fmt::format("{}/d{}", repo, i % kDirectories);
    fs::create_directories(folder);
    std::ofstream(fmt::format("{}/f{}.txt", folder, i)) << fmt::format("file {}\n", i);
  }
  const std::string git = FindProgram("git");
  TimeSpawn({git, "-C", repo, "init", "-q"});
  TimeSpawn({git, "-C", repo, "add", "."});
  TimeSpawn({git, "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit",
             "-q", "-m", "all of it"});
}

double DoWork(const std::string& name, const std::string& directory) {
  if (name == "small-files") return SmallFiles(directory);
  if (name == "unlink") return Unlink(directory);
  if (name == "untar") return Untar(directory);
  if (name == "compile") return Compile(directory);
  if (name == "copy") return Copy(directory);
  if (name == "git-status")
    return TimeSpawn({FindProgram("git"), "-C", directory + "/../repo", "status", "--porcelain"});
  if (name.starts_with("tree-")) return Tree(directory, std::stoi(name.substr(5)));
  throw std::runtime_error("no such work: " + name);
}

}  // namespace cloche::bench
