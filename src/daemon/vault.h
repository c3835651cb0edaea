#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::daemon {

// Everything about a secret except its value.
struct SecretInfo {
  uint32_t owner = 0;
  std::string name;
  std::string id;                    // a new one after it was removed and set again
  std::vector<std::string> hosts;    // api.example.com, or with :PORT
  std::vector<std::string> where;    // header, basic, query, json
  std::string variable;              // holds the placeholder inside
  std::string like;                  // prefix of the placeholder
  int64_t created = 0, rotated = 0;  // seconds since 1970; 0: never
  uint64_t uses = 0;
  int64_t last_used = 0;
  int64_t retired = 0;  // when it was replaced or removed: only redacted since
};

nlohmann::json ToJson(const SecretInfo& info);

// Values at rest: AES-256-GCM, with the key in a separate file (docs/formats/vault.md). Everything
// known about a value is bound to it, so that no record passes for another, and the whole file is
// sealed. If key and vault do not match, neither is touched or used.
class Vault {
 public:
  explicit Vault(std::string directory);
  ~Vault();
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  Status Open();  // reads it once; returns the same error each time
  // Adds a secret or replaces all of it; id and times are set here. With `still_redacted`, the
  // previous value is kept for those who used it.
  Result<SecretInfo> Set(SecretInfo info, std::string_view value, bool still_redacted = false);
  Status Remove(uint32_t owner, const std::string& name, bool still_redacted = false);
  Result<SecretInfo> Find(uint32_t owner, const std::string& name) const;
  std::vector<SecretInfo> List(uint32_t owner) const;
  Result<std::string> Value(const SecretInfo& info) const;  // wipe after use
  // All its values so far, as far as they are kept; wipe after use.
  std::vector<std::string> Values(uint32_t owner, const std::string& id) const;
  size_t ValueBytes(uint32_t owner, const std::string& id) const;  // of all of them
  // Whether everything that a sandbox with these must redact, plus `more` bytes, is within bounds.
  Status CheckRedacted(const std::string& what, uint32_t owner, const std::set<std::string>& ids,
                       size_t more, const std::string& cure) const;
  // Drops old values of all others.
  Status KeepOldOf(const std::set<std::string>& ids);

  void CountUses(uint32_t owner, const std::string& name, uint64_t uses, int64_t now);
  void KeepCounts();  // on disk, if there is anything new

 private:
  struct Record {
    SecretInfo info;
    std::string nonce, sealed;
    size_t bytes() const;  // of its value
  };
  using Key = std::array<unsigned char, 32>;

  Status Read();
  Status ReadKey();
  Status MakeKey();
  Status Write(const std::vector<Record>& records) const;
  Result<Record> Seal(SecretInfo info, std::string_view value) const;
  bool Unseal(const Record& record, std::string& value) const;
  Status Retire(std::vector<Record>& records, const Record& old) const;
  Record* FindRecord(uint32_t owner, const std::string& name);
  const Record* FindRecord(uint32_t owner, const std::string& name) const;
  void ReadCounts();
  std::string File(const char* name) const { return directory_ + "/" + name; }

  std::string directory_;
  Key key_{};
  bool read_ = false, has_key_ = false, counted_ = false;
  Status state_;
  std::vector<Record> records_;
};

// Whether it can be a secret: a value too short to be recognized could not be redacted, and one
// with a line break could add a header.
Status CheckSecretValue(std::string_view value);

// The value that a sandbox gets instead: has the usual prefix, and occurs nowhere else.
std::string NewPlaceholder(const std::string& like, size_t length);

}  // namespace cloche::daemon
