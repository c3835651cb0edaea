#include "policy/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "policy/paths.h"

namespace cloche {

using nlohmann::json;

namespace {

constexpr size_t kMaxPaths = 256;
constexpr double kMaxCpus = 1024;
constexpr double kMinCpus = 0.01;

}  // namespace

FieldReader::FieldReader(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object())
    error_ = Error{Code::kInvalid,
                   fmt::format("read {}: it is {}, not an object",
                               where_.empty() ? "request" : where_, object.type_name()),
                   "send a JSON object"};
}

std::string FieldReader::FullName(std::string_view key) const {
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

void FieldReader::Refuse(std::string_view key, std::string_view reason, std::string cure) {
  if (error_) return;
  error_ =
      Error{Code::kInvalid, fmt::format("read {}: {}", FullName(key), reason), std::move(cure)};
}

void FieldReader::Take(Status status) {
  if (!status && !error_) error_ = std::move(status).error();
}

const json* FieldReader::Find(const char* key) {
  known_.push_back(key);
  if (error_) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

const json* FieldReader::Object(const char* key) {
  const json* value = Find(key);
  if (!value) return nullptr;
  if (!value->is_object()) {
    Refuse(key, fmt::format("it is {}, not an object", value->type_name()), "send a JSON object");
    return nullptr;
  }
  return value;
}

void FieldReader::Text(const char* key, std::string& out, size_t most_bytes) {
  const json* value = Find(key);
  if (!value) return;
  if (!value->is_string())
    return Refuse(key, fmt::format("it is {}, not a string", value->type_name()), "send a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.find('\0') != text.npos)
    return Refuse(key, "it holds a NUL byte", "no string of Linux may hold one");
  if (text.size() > most_bytes)
    return Refuse(key, fmt::format("it has {} bytes, the most is {}", text.size(), most_bytes),
                  "give a shorter one");
  out = text;
}

void FieldReader::Path(const char* key, std::string& out) {
  std::string text;
  const bool given = ok() && object_.contains(key);
  Text(key, text, 4095);
  if (!ok() || !given) return;
  Result<std::string> clean = CleanPath(text, FullName(key));
  if (!clean) return Take(std::unexpected(std::move(clean).error()));
  out = std::move(*clean);
}

void FieldReader::Texts(const char* key, std::vector<std::string>& out, size_t most_items,
                        size_t most_bytes) {
  const json* value = Find(key);
  if (!value) return;
  if (!value->is_array())
    return Refuse(key, fmt::format("it is {}, not an array", value->type_name()),
                  "send an array of strings");
  if (value->size() > most_items)
    return Refuse(key, fmt::format("it has {} items, the most is {}", value->size(), most_items),
                  "give fewer");
  for (const json& item : *value) {
    const std::string name = fmt::format("{}[{}]", key, out.size());
    if (!item.is_string())
      return Refuse(name, fmt::format("it is {}, not a string", item.type_name()), "send a string");
    const auto& text = item.get_ref<const std::string&>();
    if (text.find('\0') != text.npos)
      return Refuse(name, "it holds a NUL byte", "no string of Linux may hold one");
    if (text.size() > most_bytes)
      return Refuse(name, fmt::format("it has {} bytes, the most is {}", text.size(), most_bytes),
                    "give a shorter one");
    out.push_back(text);
  }
}

void FieldReader::Paths(const char* key, std::vector<std::string>& out) {
  Texts(key, out, kMaxPaths, 4095);
  if (!ok()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    Result<std::string> clean = CleanPath(out[i], fmt::format("{}[{}]", FullName(key), i));
    if (!clean) return Take(std::unexpected(std::move(clean).error()));
    out[i] = std::move(*clean);
  }
}

void FieldReader::Bool(const char* key, bool& out) {
  const json* value = Find(key);
  if (!value) return;
  if (!value->is_boolean())
    return Refuse(key, fmt::format("it is {}, not a boolean", value->type_name()),
                  "send true or false");
  out = value->get<bool>();
}

void FieldReader::Integer(const char* key, std::optional<uint64_t>& out,
                          const IntegerRange& range) {
  const json* value = Find(key);
  if (!value) return;
  const auto show = [&](uint64_t n) { return range.bytes ? FormatBytes(n) : fmt::to_string(n); };
  const std::string cure = fmt::format("give {} to {}{}", show(range.least), show(range.most),
                                       range.zero_is_unlimited ? ", or 0 for no limit" : "");
  if (!value->is_number_integer())
    return Refuse(key,
                  fmt::format("it is {}, not a whole number",
                              value->is_number() ? value->dump() : value->type_name()),
                  cure);
  if (!value->is_number_unsigned() && value->get<int64_t>() < 0)
    return Refuse(key, fmt::format("{} is negative", value->get<int64_t>()), cure);
  const uint64_t number = value->get<uint64_t>();
  if (number == 0 && range.zero_is_unlimited) {
    out = 0;
    return;
  }
  if (number < range.least)
    return Refuse(key, fmt::format("{} is below {}", show(number), show(range.least)), cure);
  if (number > range.most)
    return Refuse(key, fmt::format("{} is above {}", show(number), show(range.most)), cure);
  out = number;
}

const json* FieldReader::FindNumber(const char* key, double& value) {
  const json* found = Find(key);
  if (!found) return nullptr;
  if (!found->is_number()) {
    Refuse(key, fmt::format("it is {}, not a number", found->type_name()), "send a number");
    return nullptr;
  }
  value = found->get<double>();
  if (!std::isfinite(value) || value < 0) {
    Refuse(key, value < 0 ? fmt::format("{} is negative", value) : "it is not finite",
           "give a positive number, or 0 for no limit");
    return nullptr;
  }
  return found;
}

void FieldReader::Cpus(const char* key, std::optional<double>& out) {
  double value = 0;
  if (!FindNumber(key, value)) return;
  if (value != 0 && (value < kMinCpus || value > kMaxCpus))
    return Refuse(key,
                  fmt::format("{} CPUs is {}", value, value < kMinCpus ? "too few" : "too many"),
                  "give 0.01 to 1024, e.g. 1.5, or 0 for no limit");
  out = value;
}

void FieldReader::Seconds(const char* key, std::optional<double>& out, const SecondsRange& range) {
  double value = 0;
  if (!FindNumber(key, value)) return;
  if (value != 0 && (value < range.least || value > range.most))
    return Refuse(
        key, fmt::format("{} seconds is {}", value, value < range.least ? "too short" : "too long"),
        fmt::format("give {} to {}, or 0 for no limit", FormatDuration(range.least),
                    FormatDuration(range.most)));
  out = value;
}

Status FieldReader::Finish() {
  if (!error_)
    for (const auto& [key, value] : object_.items())
      if (std::ranges::find(known_, key) == known_.end())
        Refuse(EscapeForTerminal(key.substr(0, 100)), "no such field",
               "src/api/openapi.yaml lists the fields; is the client newer than the daemon?");
  if (error_) return std::unexpected(*error_);
  return {};
}

}  // namespace cloche
