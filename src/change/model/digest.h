#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "change/model/change.h"
#include "change/model/sha256.h"

namespace cloche::change {

// One hash over everything a person approves and a promotion applies: every path with its kind and
// both sides. It leaves out noise groups, line counts and `differs`, which are only for display.
// docs/formats/changes.md describes the hashed encoding.
class ChangeSetDigest {
 public:
  ChangeSetDigest();

  // Call in ascending byte order of `path`, once per path. Refuses what CheckChange refuses, and a
  // new file without a hash, because nothing would bind its content. After a refusal there is no
  // digest.
  Status Add(const Change& change);

  Result<std::string> Finish();  // "sha256:" and 64 hex digits; call once

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
  // The walk numbers hard link groups arbitrarily; here they count from 1 in order of first path.
  Groups old_groups_;
  Groups new_groups_;
};

}  // namespace cloche::change
