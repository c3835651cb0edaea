#include "change/apply/birth_names.h"

#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <deque>

#include "base/side_store_name.h"
#include "change/model/base64.h"
#include "change/model/noise.h"
#include "change/model/sha256.h"
#include "change/walk/layer_file.h"
#include "sys/directory.h"
#include "sys/file_times.h"
#include "sys/process.h"

namespace cloche::apply {
namespace {

constexpr size_t kMostNames = 10'000;
constexpr size_t kMostSeen = 30'000;  // directories too

uint64_t NumberOf(const std::string& below) {
  const change::Sha256 hash = change::HashOf(below);
  uint64_t number = 0;
  memcpy(&number, hash.data(), sizeof number);
  return number;
}

std::string Bytes(const std::vector<uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
}

std::optional<std::vector<uint64_t>> Numbers(const std::string& text) {
  const auto bytes = change::FromBase64(text);
  if (!bytes || bytes->size() % sizeof(uint64_t) != 0) return std::nullopt;
  std::vector<uint64_t> numbers(bytes->size() / sizeof(uint64_t));
  if (!bytes->empty()) memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

}  // namespace

std::optional<BirthNames> BirthNames::Note(const std::string& project, const std::string& home,
                                           int64_t since_ns) {
  sys::Fd top(sys::OpenWithoutSymlinks(project.c_str(), O_RDONLY | O_DIRECTORY));
  if (!top.valid()) return std::nullopt;
  struct Directory {
    walk::LayerFile place;
    std::string below;
  };
  BirthNames names;
  size_t seen = 0;
  std::deque<Directory> pending;
  const auto root = std::make_shared<const sys::Fd>(std::move(top));
  const auto self = walk::FindFile(root, ".");
  if (!self) return std::nullopt;
  pending.push_back({*self, ""});
  const auto note_directory = [&](const walk::LayerFile& place, const std::string& below) {
    const bool as_then = sys::Nanos(place.info.st_ctim) < since_ns;
    names.directories_.push_back(
        {NumberOf(below), as_then ? place.info.st_ino : 0, place.info.st_mode & 07777u});
  };
  note_directory(*self, "");
  while (!pending.empty()) {
    const Directory next = std::move(pending.back());
    pending.pop_back();
    const walk::SharedFd directory = walk::OpenDirectory(next.place);
    if (!directory) return std::nullopt;  // a name in there might be missing
    sys::Directory list(directory->get(), ".");
    while (const dirent* entry = list.Next()) {
      if (++seen > kMostSeen) return std::nullopt;
      const std::string name = entry->d_name;
      const std::string below = next.below.empty() ? name : next.below + "/" + name;
      if (name == ".git" || name == kSideStoreName ||
          change::Classify(project + "/" + below, project, home) != change::Group::kReal)
        continue;
      const auto place = walk::FindFile(directory, name);
      if (!place || place->mount_root) continue;
      if (place->IsDirectory()) {
        note_directory(*place, below);
        pending.push_back({*place, below});
        continue;
      }
      (walk::BornSince(*place, since_ns) ? names.young_ : names.old_).push_back(NumberOf(below));
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

std::string BirthNames::Encode() const {
  std::vector<uint64_t> directories, modes;
  for (const Noted& each : directories_) {
    directories.insert(directories.end(), {each.name, each.inode});
    if (each.mode) modes.push_back(*each.mode);
  }
  return change::ToBase64(Bytes(old_)) + ":" + change::ToBase64(Bytes(young_)) + ":" +
         change::ToBase64(Bytes(directories)) + ":" + change::ToBase64(Bytes(modes));
}

std::optional<BirthNames> BirthNames::Decode(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find(':', at);
    parts.push_back(text.substr(at, end == std::string::npos ? end : end - at));
  }
  if (parts.size() < 2) return std::nullopt;
  parts.resize(4);  // older versions recorded no directories, or no modes for them
  auto old = Numbers(parts[0]);
  auto young = Numbers(parts[1]);
  const auto directories = Numbers(parts[2]);
  const auto modes = Numbers(parts[3]);
  if (!old || !young || !directories || directories->size() % 2 != 0 || !modes) return std::nullopt;
  const bool with_modes = modes->size() == directories->size() / 2;
  BirthNames names;
  for (size_t i = 0; i < directories->size(); i += 2) {
    names.directories_.push_back({(*directories)[i], (*directories)[i + 1], std::nullopt});
    if (with_modes) names.directories_.back().mode = static_cast<uint32_t>((*modes)[i / 2]);
  }
  names.old_ = std::move(*old);
  names.young_ = std::move(*young);
  return names;
}

std::optional<bool> BirthNames::Had(const std::string& below) const {
  const uint64_t number = NumberOf(below);
  if (std::ranges::binary_search(old_, number)) return true;
  if (std::ranges::binary_search(young_, number)) return std::nullopt;
  return false;
}

const BirthNames::Noted* BirthNames::Find(const std::string& below) const {
  const uint64_t number = NumberOf(below);
  const auto found = std::ranges::lower_bound(directories_, number, {}, &Noted::name);
  return found == directories_.end() || found->name != number ? nullptr : &*found;
}

std::optional<bool> BirthNames::HadDirectory(const std::string& below) const {
  if (directories_.empty()) return std::nullopt;
  const Noted* found = Find(below);
  if (found && found->inode == 0) return std::nullopt;
  return found != nullptr;
}

std::optional<uint64_t> BirthNames::DirectoryWas(const std::string& below) const {
  const Noted* found = Find(below);
  return found && found->inode != 0 ? std::optional(found->inode) : std::nullopt;
}

std::optional<uint32_t> BirthNames::ModeWas(const std::string& below) const {
  const Noted* found = Find(below);
  return found && found->inode != 0 ? found->mode : std::nullopt;
}

}  // namespace cloche::apply
