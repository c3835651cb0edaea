#include "promoter/names.h"

#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <deque>

#include "base/annex_name.h"
#include "diff/base64.h"
#include "diff/noise.h"
#include "diff/sha256.h"
#include "differ/place.h"
#include "sys/directory.h"
#include "sys/file_times.h"
#include "sys/process.h"

namespace cloche::promoter {
namespace {

constexpr size_t kMostNames = 10'000;
constexpr size_t kMostSeen = 30'000;  // directories too

uint64_t NumberOf(const std::string& below) {
  const diff::Sha256 hash = diff::HashOf(below);
  uint64_t number = 0;
  memcpy(&number, hash.data(), sizeof number);
  return number;
}

std::string Bytes(const std::vector<uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
}

std::optional<std::vector<uint64_t>> Numbers(const std::string& text) {
  const auto bytes = diff::FromBase64(text);
  if (!bytes || bytes->size() % sizeof(uint64_t) != 0) return std::nullopt;
  std::vector<uint64_t> numbers(bytes->size() / sizeof(uint64_t));
  if (!bytes->empty()) memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

}  // namespace

std::optional<Names> Names::Note(const std::string& project, const std::string& home,
                                 int64_t since_ns) {
  sys::Fd top(sys::OpenWithoutSymlinks(project.c_str(), O_RDONLY | O_DIRECTORY));
  if (!top.valid()) return std::nullopt;
  struct Directory {
    differ::Place place;
    std::string below;
  };
  Names names;
  size_t seen = 0;
  std::deque<Directory> pending;
  const auto root = std::make_shared<const sys::Fd>(std::move(top));
  const auto self = differ::Look(root, ".");
  if (!self) return std::nullopt;
  pending.push_back({*self, ""});
  const auto note_directory = [&](const differ::Place& place, const std::string& below) {
    if (sys::Nanos(place.info.st_ctim) < since_ns)
      names.directories_.push_back(
          {NumberOf(below), place.info.st_ino, place.info.st_mode & 07777u});
  };
  note_directory(*self, "");
  while (!pending.empty()) {
    const Directory next = std::move(pending.back());
    pending.pop_back();
    const differ::SharedFd directory = differ::OpenDirectory(next.place);
    if (!directory) return std::nullopt;  // a name in there might be missing
    sys::Directory list(directory->get(), ".");
    while (const dirent* entry = list.Next()) {
      if (++seen > kMostSeen) return std::nullopt;
      const std::string name = entry->d_name;
      const std::string below = next.below.empty() ? name : next.below + "/" + name;
      if (name == ".git" || name == kAnnexName ||
          diff::Classify(project + "/" + below, project, home) != diff::Group::kReal)
        continue;
      const auto place = differ::Look(directory, name);
      if (!place || place->mount_root) continue;
      if (place->IsDirectory()) {
        note_directory(*place, below);
        pending.push_back({*place, below});
        continue;
      }
      (differ::BornSince(*place, since_ns) ? names.young_ : names.old_).push_back(NumberOf(below));
      if (names.old_.size() + names.young_.size() > kMostNames) return std::nullopt;
    }
    if (list.error() != 0) return std::nullopt;
  }
  if (names.directories_.size() > kMostNames) names.directories_.clear();
  std::ranges::sort(names.directories_, {}, &Noted::name);
  std::ranges::sort(names.old_);
  std::ranges::sort(names.young_);
  return names;
}

std::string Names::Encode() const {
  std::vector<uint64_t> directories, modes;
  for (const Noted& each : directories_) {
    directories.insert(directories.end(), {each.name, each.inode});
    if (each.mode) modes.push_back(*each.mode);
  }
  return diff::ToBase64(Bytes(old_)) + ":" + diff::ToBase64(Bytes(young_)) + ":" +
         diff::ToBase64(Bytes(directories)) + ":" + diff::ToBase64(Bytes(modes));
}

std::optional<Names> Names::Decode(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find(':', at);
    parts.push_back(text.substr(at, end == std::string::npos ? end : end - at));
  }
  if (parts.size() < 2) return std::nullopt;
  parts.resize(4);  // older versions noted no directories, or no modes of them
  auto old = Numbers(parts[0]);
  auto young = Numbers(parts[1]);
  const auto directories = Numbers(parts[2]);
  const auto modes = Numbers(parts[3]);
  if (!old || !young || !directories || directories->size() % 2 != 0 || !modes) return std::nullopt;
  const bool with_modes = modes->size() == directories->size() / 2;
  Names names;
  for (size_t i = 0; i < directories->size(); i += 2) {
    names.directories_.push_back({(*directories)[i], (*directories)[i + 1], std::nullopt});
    if (with_modes) names.directories_.back().mode = static_cast<uint32_t>((*modes)[i / 2]);
  }
  names.old_ = std::move(*old);
  names.young_ = std::move(*young);
  return names;
}

std::optional<bool> Names::Had(const std::string& below) const {
  const uint64_t number = NumberOf(below);
  if (std::ranges::binary_search(old_, number)) return true;
  if (std::ranges::binary_search(young_, number)) return std::nullopt;
  return false;
}

const Names::Noted* Names::Find(const std::string& below) const {
  const uint64_t number = NumberOf(below);
  const auto found = std::ranges::lower_bound(directories_, number, {}, &Noted::name);
  return found == directories_.end() || found->name != number ? nullptr : &*found;
}

std::optional<uint64_t> Names::DirectoryWas(const std::string& below) const {
  const Noted* found = Find(below);
  return found ? std::optional(found->inode) : std::nullopt;
}

std::optional<uint32_t> Names::ModeWas(const std::string& below) const {
  const Noted* found = Find(below);
  return found ? found->mode : std::nullopt;
}

}  // namespace cloche::promoter
