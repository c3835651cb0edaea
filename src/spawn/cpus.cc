#include "spawn/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "sys/directory.h"
#include "sys/file.h"

namespace cloche::spawn {
namespace {

constexpr const char* kHost = "/sys/devices/system/cpu";
constexpr size_t kMaskWords = 128;  // 8192 CPUs, the most a kernel supports
constexpr size_t kWordBits = 8 * sizeof(unsigned long);

constexpr const char* kOfAll[] = {"possible", "present", "kernel_max", "offline"};
constexpr const char* kTopology[] = {
    "core_id",       "physical_package_id", "thread_siblings", "thread_siblings_list",
    "core_siblings", "core_siblings_list",  "core_cpus",       "core_cpus_list",
    "package_cpus",  "package_cpus_list"};
constexpr const char* kCache[] = {"level",
                                  "type",
                                  "size",
                                  "coherency_line_size",
                                  "number_of_sets",
                                  "ways_of_associativity",
                                  "shared_cpu_list",
                                  "shared_cpu_map"};

std::vector<unsigned long> OwnMask() {
  std::vector<unsigned long> mask(kMaskWords);
  const long size = syscall(SYS_sched_getaffinity, 0, kMaskWords * sizeof mask[0], mask.data());
  if (size < 0) mask.assign(kMaskWords, 0);
  return mask;
}

std::vector<uint32_t> NumbersOf(const std::vector<unsigned long>& mask) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < mask.size() * kWordBits; ++i)
    if ((mask[i / kWordBits] >> (i % kWordBits) & 1) != 0) numbers.push_back(i);
  return numbers;
}

std::string ListOf(const std::vector<uint32_t>& numbers) {
  std::string list;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    list += (list.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) list += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return list;
}

OrFailure<void> Make(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return Failed(SpawnStep::kMounts, "make a view of the CPUs", errno, path);
}

OrFailure<void> Put(const std::string& path, const std::string& text) {
  const sys::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444));
  if (file.valid() &&
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return Failed(SpawnStep::kMounts, "make a view of the CPUs", errno, path);
}

// Skips files that the host does not have.
template <size_t N>
OrFailure<void> Copy(const std::string& from, const std::string& to,
                     const char* const (&names)[N]) {
  if (access(from.c_str(), F_OK) < 0) return {};
  if (auto made = Make(to); !made) return made;
  for (const char* name : names) {
    std::string text;
    if (sys::ReadFileAt(AT_FDCWD, (from + "/" + name).c_str(), text) < 0) continue;
    if (auto put = Put(to + "/" + name, text); !put) return put;
  }
  return {};
}

}  // namespace

CpuSet Cpus::Choose(uint32_t count, uint32_t slot) {
  CpuSet set;
  set.mask = OwnMask();
  const std::vector<uint32_t> ours = NumbersOf(set.mask);
  if (count == 0 || count >= ours.size()) return set;
  set.all = false;
  set.mask.assign(kMaskWords, 0);
  std::vector<uint32_t> chosen;
  const size_t first = size_t{slot} * count % ours.size();
  for (size_t i = 0; i < count; ++i) chosen.push_back(ours[(first + i) % ours.size()]);
  std::ranges::sort(chosen);
  for (uint32_t each : chosen) set.mask[each / kWordBits] |= 1ul << (each % kWordBits);
  set.list = ListOf(chosen);
  return set;
}

OrFailure<std::string> Cpus::Tree() {
  const std::string path = scratch_ + "/cpus";
  if (!made_)
    if (auto made = MakeTree(path); !made) return std::unexpected(made.error());
  made_ = true;
  return path;
}

OrFailure<void> Cpus::MakeTree(const std::string& path) const {
  if (auto copied = Copy(kHost, path, kOfAll); !copied) return copied;
  if (auto made = Make(path); !made) return made;
  const std::vector<uint32_t> ours = NumbersOf(OwnMask());
  if (auto put = Put(path + "/online", ListOf(ours) + "\n"); !put) return put;
  sys::Directory all(AT_FDCWD, kHost);
  while (const dirent* entry = all.Next()) {
    const std::string name = entry->d_name;
    if (name.size() < 4 || !name.starts_with("cpu") ||
        name.find_first_not_of("0123456789", 3) != std::string::npos)
      continue;
    const std::string from = std::string(kHost) + "/" + name, to = path + "/" + name;
    if (auto made = Make(to); !made) return made;
    if (auto copied = Copy(from + "/topology", to + "/topology", kTopology); !copied) return copied;
    if (access((from + "/cache").c_str(), F_OK) < 0) continue;
    if (auto made = Make(to + "/cache"); !made) return made;
    for (int index = 0; index < 8; ++index) {
      const std::string cache = "/cache/index" + std::to_string(index);
      if (auto copied = Copy(from + cache, to + cache, kCache); !copied) return copied;
    }
  }
  return {};
}

OrFailure<std::string> Cpus::Online(const CpuSet& cpus) {
  const std::string path = scratch_ + "/online-" + cpus.list;
  if (access(path.c_str(), F_OK) == 0) return path;
  if (auto put = Put(path, cpus.list + "\n"); !put) return std::unexpected(put.error());
  return path;
}

}  // namespace cloche::spawn
