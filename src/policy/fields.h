#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

struct IntegerRange {
  uint64_t least = 0;
  uint64_t most = 0;
  bool zero_is_unlimited = false;
  bool bytes = false;  // how the bounds are printed
};

struct SecondsRange {
  double least = 0;
  double most = 0;
};

// Reads a JSON object key by key, strictly. The first mistake is kept and returned by Finish,
// which also refuses every key that nobody asked for; later reads are then harmless.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& object, std::string where);

  void Text(const char* key, std::string& out, size_t most_bytes);
  void Path(const char* key, std::string& out);
  void Paths(const char* key, std::vector<std::string>& out);
  void Texts(const char* key, std::vector<std::string>& out, size_t most_items, size_t most_bytes);
  void Bool(const char* key, bool& out);
  void Integer(const char* key, std::optional<uint64_t>& out, const IntegerRange& range);
  void Cpus(const char* key, std::optional<double>& out);
  void Seconds(const char* key, std::optional<double>& out, const SecondsRange& range);
  const nlohmann::json* Object(const char* key);
  const nlohmann::json* Find(const char* key);

  void Refuse(std::string_view key, std::string_view reason, std::string cure);
  void Take(Status status);  // of a nested reader
  std::string FullName(std::string_view key) const;
  bool ok() const { return !error_.has_value(); }
  Status Finish();

 private:
  const nlohmann::json* FindNumber(const char* key, double& value);

  const nlohmann::json& object_;
  std::string where_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace cloche
