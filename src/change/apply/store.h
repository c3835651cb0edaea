#pragma once

#include <optional>
#include <string>
#include <vector>

#include "change/apply/journal.h"
#include "sys/fd.h"

namespace cloche::apply {

// One user's promotions: a directory each, with its journal and, in files/ by number, what is to be
// put in place and later what was there before.
class Store {
 public:
  static constexpr int kPatienceMs = 30'000;
  // Creates what is missing, mode 0700. Takes the lock, because only one promotion runs at a time;
  // waits for it at most `patience_ms`.
  static Result<Store> Open(const std::string& home, int patience_ms = kPatienceMs);
  // nullopt: somebody else holds the lock.
  static Result<std::optional<Store>> OpenIfFree(const std::string& home);

  struct Entry {
    std::string id;
    sys::Fd directory, files;
    std::vector<sys::Fd> side_stores;
    // The directory that holds a step's file.
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
