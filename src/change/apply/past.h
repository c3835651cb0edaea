#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "change/apply/plan.h"
#include "change/apply/survey.h"
#include "change/apply/verdict.h"
#include "change/walk/merge.h"

namespace cloche::apply {

// Finds out what was there when the sandbox was made: from ctimes, from what overlayfs records when
// it copies a file up, from git, and from earlier promotions.
class Past {
 public:
  Past(const StateLayout& layout, const Wish& wish, BirthFiles& base, Survey& survey);

  void Look(const walk::Entry& entry, const std::string& target, Situation& situation);
  // With --to, the sandbox never saw the target. It saw what the project has, or had.
  void LookElsewhere(const walk::Entry& entry, const std::optional<walk::LayerFile>& original,
                     Situation& situation);
  // Why its ctime does not show whether reality has changed it; "" if it does.
  std::string WhyUnsure(const walk::LayerFile& place) const;
  // It was created here since then; false if that cannot be known.
  bool CameSince(const walk::LayerFile& place) const;
  // An earlier promotion of this sandbox put something into the directory, or removed something.
  bool HoldsPromoted(const std::string& directory) const;
  // The record of what a promotion left there, if nobody has changed it since.
  const Promoted* Known(const std::string& path, const struct stat& info) const;
  // The record of what this sandbox promoted there, unless it was undone; reality may differ now.
  const Promoted* Made(const std::string& path) const;
  // The last promotion of this sandbox that touched the path deleted it.
  bool TookAway(const std::string& path) const;

 private:
  static void SeeText(const BirthFile& file, Situation& situation);
  bool WasThere(const std::string& path);
  bool WasDeleted(const std::string& path);
  std::optional<uint32_t> ModeSeen(const walk::Entry& entry, const change::Change& change) const;
  bool Swapped(const std::string& target, const std::string& path);
  bool OnlyEntered(const std::string& path, const struct stat& info) const;
  bool Moved(const std::string& path, const struct stat& info) const;
  int64_t BackFor(const struct stat& info) const;

  const StateLayout& layout_;
  const Wish& wish_;
  BirthFiles& base_;
  Survey& survey_;
  std::unordered_map<std::string, uint64_t> copied_;  // path -> inode it was copied from
  // Changed paths by overlay and inode: a file is never moved out of its overlay.
  std::optional<std::multimap<std::pair<std::string, uint64_t>, std::string>> origins_;
  std::unordered_map<std::string, bool> swapped_;  // directories
  std::unordered_set<std::string> refreshed_;      // both sides had changed it at the refresh
};

}  // namespace cloche::apply
