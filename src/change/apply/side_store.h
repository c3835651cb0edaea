#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "change/apply/prepare.h"

namespace cloche::apply {

// A rename cannot cross filesystems, so a change for another filesystem than the store's is
// prepared there, and the file it replaces is kept there. Sandboxes do not see the directory
// (src/policy), and nothing is promoted into it.

inline constexpr char kSideStoreIgnore[] = ".gitignore";  // hides it from git

// A filesystem as mounted in one place: a rename cannot leave it.
struct Mount {
  uint64_t device = 0, mount = 0;
  auto operator<=>(const Mount&) const = default;
};

// Finds or creates the place for each path. Records a directory in the journal before creating it.
class SideStores {
 public:
  SideStores(const std::string& project, Journal& journal, Store::Entry& entry,
             Promotion& promotion);

  // The number of the side store; 0 is the store itself. `directory` is where the path is or will
  // be.
  Result<uint32_t> For(const Reality& reality, const std::string& path, int directory);

 private:
  Result<uint32_t> Make(const Reality& reality, const std::string& path, const Mount& mount);

  const std::string& project_;
  Journal& journal_;
  Store::Entry& entry_;
  Promotion& promotion_;
  std::map<Mount, uint32_t> known_;
};

// The directory that contains side stores.
struct SideStoreDirectory {
  sys::Fd place, directory;  // its parent, and itself
};
// Creates it for a promotion into `directory`, while that is still possible. nullopt: it is on the
// store's filesystem, or cannot be created there.
std::optional<SideStoreDirectory> PrepareSideStore(const std::string& target,
                                                   const std::string& project, int store,
                                                   int directory);
// Leaves it alone if others still use it.
void DropIfEmpty(const SideStoreDirectory& place);

// Opens a promotion's side stores.
Status OpenSideStores(const Promotion& promotion, Realities& realities, Store::Entry& entry);
// Removes its side stores with all they hold, then the promotion. If one of its filesystems is
// missing, the promotion stays.
Status RemovePromotion(const Store& store, const std::string& id);
// Removes those that hold nothing any more.
void DropEmptySideStores(const Promotion& promotion);

}  // namespace cloche::apply
