#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "change/model/change.h"
#include "change/model/sha256.h"

namespace cloche::change {

// What a person approves and a promotion applies, as one hash: every path with its kind and both
// sides. Noise groups, line counts and `differs` are how it is shown, and not in it. The encoding
// that is hashed is in docs/formats/changes.md.
class ChangeSetDigest {
 public:
  ChangeSetDigest();

  // In ascending order of the bytes of `path`, each path once. Refuses what CheckChange refuses,
  // and a new file without a hash: nothing would bind what it holds. After a refusal there is no
  // digest.
  Status Add(const Change& change);

  Result<std::string> Finish();  // "sha256:" and 64 hex digits; once

 private:
  using Groups = std::unordered_map<uint64_t, uint64_t>;

  void Number(uint64_t number);
  void Bytes(std::string_view bytes);
  void Encode(const std::optional<Side>& side, Groups& groups);

  Sha256Stream stream_;
  std::string pending_;    // encoded, not hashed yet
  std::string last_path_;  // "" before the first
  uint64_t count_ = 0;
  bool refused_ = false;
  // The numbers of hard link groups are whatever the walk gave; here they count from 1 in the order
  // of their first path.
  Groups old_groups_;
  Groups new_groups_;
};

}  // namespace cloche::change
