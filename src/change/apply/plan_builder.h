#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "change/apply/links.h"
#include "change/apply/plan.h"
#include "change/apply/verdict.h"
#include "change/model/digest.h"
#include "change/model/noise.h"
#include "change/walk/compare.h"

namespace cloche::apply {

// Collects the decisions in the order of their paths: what to do, what prevents it, and what a
// person must see first.
class PlanBuilder {
 public:
  explicit PlanBuilder(const Wish& wish) : wish_(wish) {}

  // Finds the links that lead to files: a link can make a change run later.
  Status FindLinks(const StateLayout& layout);

  // Makes the path what `compared` says.
  struct Change {
    walk::Compared compared;
    Wanted wanted;
    bool merged = false;    // both sides changed it, in different places
    bool hidden = false;    // reality's file there must not be shown
    bool may_stay = false;  // a directory that goes: the caller chose to keep what is in its way
  };
  Status Want(Change change);
  void Refuse(const rules::Case& which, const Situation& situation, const std::string& merged = "");
  void Refuse(Conflict conflict) { plan_.conflicts.push_back(std::move(conflict)); }
  // Something stays in reality that the sandbox does not have, so a directory above it cannot go.
  enum class Why : uint8_t { kNotTheSandboxes, kLeftOut };
  void Stays(const std::string& path, Why why);
  void Note(std::string note) { plan_.notes.push_back(std::move(note)); }
  void LeaveOut(change::Group group) { ++plan_.left_out[std::string(change::GroupName(group))]; }

  // The number of paths decided so far.
  size_t size() const { return plan_.wanted.size() + plan_.conflicts.size(); }
  // Nothing exists yet below a directory that this promotion creates.
  bool MakesParentOf(const std::string& path) const;

  Result<Plan> Finish();

 private:
  void CheckNewSide(change::Change& change);
  void CheckPlace(const change::Change& change);
  Status AddToDigest(const change::Change& change);
  void KeepTexts(const std::string& path, Texts texts);
  Status CheckEmptied();
  Status Drop(const std::vector<size_t>& dropped);

  const Wish& wish_;
  Plan plan_;
  Links links_to_;
  change::ChangeSetDigest digest_;
  bool whole_ = true;
  std::unordered_set<std::string> made_;  // directories
  struct Going {
    size_t wanted;
    bool to_file, may_stay;
    std::optional<Why> kept;
  };
  std::map<std::string, Going> going_;  // directories
  size_t texts_kept_ = 0;
};

}  // namespace cloche::apply
