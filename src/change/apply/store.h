#pragma once

#include <optional>
#include <string>
#include <vector>

#include "change/apply/journal.h"
#include "sys/fd.h"

namespace cloche::apply {

// Where one user's promotions are: a directory each, with its journal, and in files/ by number what
// is to be put in place, then what was there before.
class Store {
 public:
  static constexpr int kPatienceMs = 30'000;
  // Makes what is missing, mode 0700. Holds the lock: one promotion at a time. Whoever is late
  // waits, but not for ever.
  static Result<Store> Open(const std::string& home, int patience_ms = kPatienceMs);
  // Nothing: somebody else holds the lock.
  static Result<std::optional<Store>> OpenIfFree(const std::string& home);

  struct Entry {
    std::string id;
    sys::Fd directory, files;
    std::vector<sys::Fd> side_stores;
    // Where what a step is about lies, by its number.
    int Of(const Step& step) const {
      return step.side_store == 0 ? files.get() : side_stores.at(step.side_store - 1).get();
    }
  };
  Result<Entry> Make();
  Result<Entry> OpenEntry(const std::string& id) const;
  int directory() const { return directory_.get(); }
  std::vector<std::string> List() const;  // oldest first
  Status Remove(const std::string& id) const;

 private:
  static Result<Store> Find(const std::string& home);
  Result<bool> TryLock() const;

  sys::Fd directory_;
};

std::string NewPromotionId();  // sorts by time
std::string Now();             // RFC 3339
int64_t NowMs();               // since 1970
std::optional<int64_t> MadeAtMs(const std::string& id);

}  // namespace cloche::apply
