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

// What is known of a secret: everything but its value.
struct SecretInfo {
  uint32_t owner = 0;
  std::string name;
  std::string id;                    // another one after it was removed and set again
  std::vector<std::string> hosts;    // api.example.com, or with :PORT
  std::vector<std::string> where;    // header, basic, query, json
  std::string variable;              // that holds the placeholder inside
  std::string like;                  // what the placeholder begins with
  int64_t created = 0, rotated = 0;  // seconds since 1970; 0: never
  uint64_t uses = 0;
  int64_t last_used = 0;
  int64_t retired = 0;  // it was replaced or removed then: only to be redacted
};

nlohmann::json ToJson(const SecretInfo& info);

// Values at rest: AES-256-GCM, with a key in a file beside (docs/formats/vault.md). Everything that
// is known of a value is bound to it, so that no record passes for another, and the whole file is
// sealed. Two files that do not fit are not touched, and nothing in them is used.
class Vault {
 public:
  explicit Vault(std::string directory);
  ~Vault();
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  Status Open();  // reads it, once; says why not, each time it is asked
  // A new one, or all of it anew; id and times are ours to give. With `still_redacted` the value
  // that was there before is kept, for those that have used it.
  Result<SecretInfo> Set(SecretInfo info, std::string_view value, bool still_redacted = false);
  Status Remove(uint32_t owner, const std::string& name, bool still_redacted = false);
  Result<SecretInfo> Find(uint32_t owner, const std::string& name) const;
  std::vector<SecretInfo> List(uint32_t owner) const;
  Result<std::string> Value(const SecretInfo& info) const;  // to be wiped
  // All that it has been, as far as it is kept; to be wiped.
  std::vector<std::string> Values(uint32_t owner, const std::string& id) const;
  size_t ValueBytes(uint32_t owner, const std::string& id) const;  // of all of them
  // Whether all that a sandbox with these has to redact, and so many bytes more, is within bounds.
  Status CheckRedacted(const std::string& what, uint32_t owner, const std::set<std::string>& ids,
                       size_t more, const std::string& cure) const;
  // Old values of others are not kept any longer.
  Status KeepOldOf(const std::set<std::string>& ids);

  void CountUses(uint32_t owner, const std::string& name, uint64_t uses, int64_t now);
  void KeepCounts();  // on disk, if there is something new

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

// Whether it can be a secret: a value that cannot be told from other text could not be redacted,
// one with a line break in it would be a header more.
Status CheckSecretValue(std::string_view value);

// What a sandbox holds instead: begins as such values do, and is found nowhere else.
std::string NewPlaceholder(const std::string& like, size_t length);

}  // namespace cloche::daemon
