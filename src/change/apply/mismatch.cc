#include "change/apply/mismatch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include "base/side_store_name.h"
#include "base/text.h"
#include "change/apply/filesystem_id.h"

namespace cloche::apply {
namespace {

// Probably the same file, on a filesystem that has another device number now.
bool MayBe(const Identity& a, const Identity& b) {
  return a.exists() && a.inode == b.inode && a.device != b.device;
}

class Mismatches {
 public:
  Mismatches(const Promotion& promotion, const Store::Entry& entry, const Realities& realities)
      : promotion_(promotion), entry_(entry), realities_(realities) {}

  std::vector<std::string> Find() {
    for (size_t i = 0; i < promotion_.steps.size(); ++i) {
      const Step& step = promotion_.steps[i];
      const auto at = realities_.at(step.target).Find(step.path);
      const Identity real = at ? IdentityAt(at->directory->get(), at->name) : Identity();
      if (step.kind == StepKind::kSetDir)
        CheckNumber(step.path, real, step.prepared.exists() ? step.prepared : step.before);
      else
        Check(step, i, real, at.has_value());
    }
    for (const Parent& each : promotion_.parents) {
      struct stat info;
      const auto directory = realities_.at(each.target).Directory(each.path);
      if (directory && fstat((*directory)->get(), &info) == 0)
        CheckNumber(each.path, IdentityOf(info), each.before);
    }
    return std::move(found_);
  }

 private:
  void CheckNumber(const std::string& path, const Identity& now, const Identity& then) {
    if (MayBe(now, then))
      found_.push_back(EscapeForTerminal(path) +
                       ": its file system has another number than it had");
  }

  void Check(const Step& step, size_t index, const Identity& real, bool reachable) {
    const Identity kept = IdentityAt(entry_.Of(step), std::to_string(step.number));
    const auto mismatch = [&](const char* what) {
      found_.push_back(fmt::format("{}: what is kept of it as {} {}", EscapeForTerminal(step.path),
                                   KeptName(step, entry_, std::to_string(step.number)), what));
    };
    if (!SameFile(real, step.prepared) && !SameFile(real, step.before) &&
        (MayBe(real, step.prepared) || MayBe(real, step.before)))
      return CheckNumber(step.path, real, MayBe(real, step.prepared) ? step.prepared : step.before);
    const bool done = promotion_.state == PromotionState::kDone;
    const bool fits = SameFile(kept, step.before) || (!done && SameFile(kept, step.prepared));
    if (!fits && (MayBe(kept, step.prepared) || MayBe(kept, step.before)))
      return mismatch("is on a file system that has another number than it had");
    // Only we write to the store. But if a promotion was killed right after a rename, the store may
    // hold a file that had just appeared in reality.
    const bool strict =
        done || promotion_.state == PromotionState::kUndoing || step.side_store != 0;
    if (kept.exists() && !fits && strict) return mismatch("is not what was there");
    const bool back = SameFile(real, step.before) || (!done && step.forced && reachable);
    const bool lost = step.kind == StepKind::kReplace ||
                      (step.kind == StepKind::kDelete &&
                       (done || (step.side_store != 0 && reachable && !real.exists())));
    if (!kept.exists() && lost && !back) return mismatch("is gone");
    if (step.side_store == 0 || !kept.exists() || !SameFile(kept, step.before)) return;
    if (step.before_born_ns != 0 &&
        step.before_born_ns != MarkAt(entry_.Of(step), std::to_string(step.number)).born_ns)
      return mismatch("is not what was there");
    // Any write to it changes its ctime.
    if (index >= promotion_.kept_settled_ns.size()) return;
    const int64_t left_ns = promotion_.kept_settled_ns[index];
    if (left_ns != 0 && left_ns != kept.changed_ns) mismatch("was changed since");
  }

  const Promotion& promotion_;
  const Store::Entry& entry_;
  const Realities& realities_;
  std::vector<std::string> found_;
};

bool FindKept(const Step& step, const Store::Entry& entry, struct stat& info) {
  if (step.kind != StepKind::kReplace && step.kind != StepKind::kDelete) return false;
  return fstatat(entry.Of(step), std::to_string(step.number).c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
         0;
}

bool HasOtherNames(const struct stat& info) { return !S_ISDIR(info.st_mode) && info.st_nlink > 1; }

}  // namespace

std::vector<std::string> FindMismatches(const Promotion& promotion, const Store::Entry& entry,
                                        const Realities& realities) {
  return Mismatches(promotion, entry, realities).Find();
}

int64_t KeptAt(const Step& step, const Store::Entry& entry) {
  struct stat info;
  if (!FindKept(step, entry, info)) return 0;
  // Another name of it may still be in reality, where others may change it.
  return HasOtherNames(info) ? 0 : IdentityOf(info).changed_ns;
}

int64_t LinkedAt(const Step& step, const Store::Entry& entry) {
  struct stat info;
  return FindKept(step, entry, info) && HasOtherNames(info) ? IdentityOf(info).changed_ns : 0;
}

std::string KeptName(const Step& step, const Store::Entry& entry, const std::string& name) {
  return step.side_store == 0
             ? fmt::format("~/.local/state/cloche/promotions/{}/files/{}", entry.id, name)
             : fmt::format("{}/{}/{}, on its file system", kSideStoreName, entry.id, name);
}

}  // namespace cloche::apply
