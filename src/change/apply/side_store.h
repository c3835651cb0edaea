#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

// What goes to another file system than the store's is prepared, and what was there kept, on that
// file system: one rename does not lead from one to another. Sandboxes do not see the directory
// (src/policy), and nothing is promoted into it.

inline constexpr char kSideStoreIgnore[] = ".gitignore";  // git shows nothing of it

// One file system as it is mounted in one place: a rename does not lead out of it.
struct Mount {
  uint64_t device = 0, mount = 0;
  auto operator<=>(const Mount&) const = default;
};

// Finds or makes the place for each path. The journal hears of a directory before it is made.
class SideStores {
 public:
  SideStores(const std::string& project, Journal& journal, Store::Entry& entry,
             Promotion& promotion);

  // Which one: 0 is the store's own. `directory` is where the path is, or will be.
  Result<uint32_t> For(const Reality& reality, const std::string& path, int directory);

 private:
  Result<uint32_t> Make(const Reality& reality, const std::string& path, const Mount& mount);

  const std::string& project_;
  Journal& journal_;
  Store::Entry& entry_;
  Promotion& promotion_;
  std::map<Mount, uint32_t> known_;
};

// The directory that they lie in.
struct SideStoreDirectory {
  sys::Fd place, directory;  // where it lies; itself
};
// Makes it for a promotion about `directory`, while that is still possible. None: it is where the
// store is, or nothing can be made there.
std::optional<SideStoreDirectory> PrepareSideStore(const std::string& target,
                                                   const std::string& project, int store,
                                                   int directory);
// If it is in nobody's way any more. One that stays is not touched.
void DropIfEmpty(const SideStoreDirectory& place);

// Those that a promotion has.
Status OpenSideStores(const Promotion& promotion, Realities& realities, Store::Entry& entry);
// With all they hold; then the promotion itself. While a file system of it is away, it stays.
Status RemovePromotion(const Store& store, const std::string& id);
// Those that hold nothing any more.
void DropEmptySideStores(const Promotion& promotion);

}  // namespace cloche::apply
