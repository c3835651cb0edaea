#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.h"
#include "base/text.h"
#include "change/model/base64.h"
#include "change/model/change.h"

namespace cloche::change {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, bool Aspects::*> kAspects[] = {
    {"type", &Aspects::type},     {"content", &Aspects::content}, {"mode", &Aspects::mode},
    {"owner", &Aspects::owner},   {"xattr", &Aspects::xattr},     {"target", &Aspects::target},
    {"device", &Aspects::device},
};

// A name that is not valid UTF-8 is shown escaped, with its raw bytes beside it.
void PutName(Json& object, const char* key, const std::string& bytes) {
  if (IsUtf8(bytes)) {
    object[key] = bytes;
    return;
  }
  object[key] = EscapeForTerminal(bytes);
  object[std::string(key) + "_base64"] = ToBase64(bytes);
}

Json SideJson(const Side& side) {
  Json object = {{"type", TypeName(side.type)},
                 {"mode", fmt::format("{:04o}", side.mode)},
                 {"uid", side.uid},
                 {"gid", side.gid}};
  if (side.type == FileType::kFile) object["size"] = side.size;
  if (side.sha256) object["sha256"] = ToHex(*side.sha256);
  if (side.type == FileType::kSymlink) PutName(object, "target", side.target);
  if (side.type == FileType::kChar || side.type == FileType::kBlock)
    object["rdev"] = fmt::format("{}:{}", side.rdev_major, side.rdev_minor);
  for (const auto& [name, value] : side.xattrs) {
    const bool text = IsUtf8(name);
    object[text ? "xattrs" : "xattrs_base64"][text ? name : ToBase64(name)] = ToBase64(value);
  }
  if (side.hard_link) object["hard_link"] = *side.hard_link;
  return object;
}

// Collected from a line before it is parsed.
struct Outline {
  bool shallow = true;  // deep nesting costs parser memory; our lines have three levels
  size_t keys = 0;
};

Outline OutlineOf(std::string_view line) {
  Outline outline;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == ':') {
      ++outline.keys;
    } else if (c == '{' || c == '[') {
      if (++depth > 3) outline.shallow = false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return outline;
}

size_t CountKeys(const Json& value) {
  size_t keys = value.is_object() ? value.size() : 0;
  if (value.is_structured())
    for (const Json& inner : value) keys += CountKeys(inner);
  return keys;
}

// Takes the fields of an object one by one. A missing field keeps its value; a field of the wrong
// type, out of range or never taken makes the whole object invalid.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object), good_(object.is_object()) {}

  const Json* Find(const char* key) {
    if (!good_) return nullptr;
    const auto found = object_.find(key);
    if (found == object_.end()) return nullptr;
    ++taken_;
    return &*found;
  }
  void Text(const char* key, std::string& out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return Refuse();
    out = value->get_ref<const std::string&>();
  }
  void Name(const char* key, std::string& out) {
    Text(key, out);
    std::string encoded;
    Text((std::string(key) + "_base64").c_str(), encoded);
    if (encoded.empty()) return;
    const auto bytes = FromBase64(encoded);
    if (!bytes || IsUtf8(*bytes) || EscapeForTerminal(*bytes) != out) return Refuse();
    out = *bytes;
  }
  template <typename Number>
  void Count(const char* key, Number& out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number_unsigned()) return Refuse();
    const auto number = value->get<uint64_t>();
    if (!std::in_range<Number>(number)) return Refuse();
    out = static_cast<Number>(number);
  }
  void Flag(const char* key, bool& out) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) return Refuse();
    out = value->get<bool>();
  }
  void Refuse() { good_ = false; }
  void Require(bool holds) { good_ = good_ && holds; }
  bool Good() const { return good_ && taken_ == object_.size(); }

 private:
  const Json& object_;
  bool good_;
  size_t taken_ = 0;
};

template <typename Number>
bool ReadNumber(std::string_view text, int base, Number& out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out, base);
  return error == std::errc() && stop == end;
}

// Finds the value named `name`; false if there is none.
template <typename Enum>
bool ReadEnum(std::string_view name, Enum last, std::string_view (*name_of)(Enum), Enum& out) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    out = static_cast<Enum>(i);
    if (name_of(out) == name) return true;
  }
  return false;
}

void ReadXattrs(Fields& fields, const char* key, bool encoded_names, Side& side) {
  const Json* object = fields.Find(key);
  if (object == nullptr) return;
  fields.Require(object->is_object() && !object->empty());
  if (!object->is_object()) return;
  for (const auto& item : object->items()) {
    const std::string* const text = item.value().get_ptr<const std::string*>();
    const auto value = text == nullptr ? std::nullopt : FromBase64(*text);
    const auto name = encoded_names ? FromBase64(item.key()) : std::optional(item.key());
    if (!value || !name || IsUtf8(*name) == encoded_names ||
        !side.xattrs.emplace(*name, *value).second)
      return fields.Refuse();
  }
}

bool ReadSide(const Json& object, Side& side) {
  Fields fields(object);
  std::string type;
  std::string mode;
  fields.Text("type", type);
  fields.Require(ReadEnum(type, FileType::kBlock, TypeName, side.type));
  fields.Text("mode", mode);
  fields.Require(mode.size() == 4 && ReadNumber(mode, 8, side.mode));
  fields.Count("uid", side.uid);
  fields.Count("gid", side.gid);
  fields.Count("size", side.size);
  fields.Name("target", side.target);
  if (const Json* hash = fields.Find("sha256")) {
    const std::string* const text = hash->get_ptr<const std::string*>();
    side.sha256 = text == nullptr ? std::nullopt : Sha256FromHex(*text);
    fields.Require(side.sha256.has_value());
  }
  std::string rdev;
  fields.Text("rdev", rdev);
  if (!rdev.empty()) {
    const size_t colon = std::min(rdev.find(':'), rdev.size() - 1);
    const std::string_view text = rdev;
    fields.Require(ReadNumber(text.substr(0, colon), 10, side.rdev_major) &&
                   ReadNumber(text.substr(colon + 1), 10, side.rdev_minor));
  }
  ReadXattrs(fields, "xattrs", false, side);
  ReadXattrs(fields, "xattrs_base64", true, side);
  if (const Json* group = fields.Find("hard_link")) {
    fields.Require(group->is_number_unsigned());
    if (group->is_number_unsigned()) side.hard_link = group->get<uint64_t>();
  }
  return fields.Good();
}

bool ReadAspects(const Json& list, Aspects& differs) {
  if (!list.is_array()) return false;
  for (const Json& name : list) {
    bool known = false;
    for (const auto& [text, member] : kAspects) {
      if (name != text) continue;
      known = !(differs.*member);
      differs.*member = true;
    }
    if (!known) return false;
  }
  return true;
}

bool ReadChange(const Json& object, Change& change) {
  Fields fields(object);
  std::string kind;
  fields.Text("kind", kind);
  fields.Require(ReadEnum(kind, ChangeKind::kTypeChanged, KindName, change.kind));
  fields.Name("path", change.path);
  fields.Name("old_path", change.old_path);
  if (const Json* list = fields.Find("differs")) fields.Require(ReadAspects(*list, change.differs));
  if (const Json* side = fields.Find("old"))
    fields.Require(ReadSide(*side, change.old_side.emplace()));
  if (const Json* side = fields.Find("new"))
    fields.Require(ReadSide(*side, change.new_side.emplace()));
  if (const Json* lines = fields.Find("lines")) {
    Fields counts(*lines);
    change.lines.emplace();
    counts.Count("added", change.lines->added);
    counts.Count("removed", change.lines->removed);
    fields.Require(counts.Good());
  }
  fields.Flag("binary", change.binary);
  fields.Text("noise", change.noise);
  return fields.Good();
}

}  // namespace

std::string EncodeJsonLine(const Change& change) {
  Json object = {{"kind", KindName(change.kind)}};
  PutName(object, "path", change.path);
  if (!change.old_path.empty()) PutName(object, "old_path", change.old_path);
  if (change.old_side && change.new_side) {
    Json& list = object["differs"] = Json::array();
    for (const auto& [name, member] : kAspects)
      if (change.differs.*member) list.push_back(name);
  }
  if (change.old_side) object["old"] = SideJson(*change.old_side);
  if (change.new_side) object["new"] = SideJson(*change.new_side);
  if (change.lines)
    object["lines"] = {{"added", change.lines->added}, {"removed", change.lines->removed}};
  if (change.binary) object["binary"] = true;
  if (!change.noise.empty()) object["noise"] = change.noise;
  // All input is UTF-8; the handler is for a noise group that CheckChange would refuse.
  return EscapeJson(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Change> DecodeJsonLine(std::string_view line) {
  if (line.size() > kMaxChangeLine) return Fail(Code::kInvalid, "read change: line too long");
  const Outline outline = OutlineOf(line);
  if (!outline.shallow) return Fail(Code::kInvalid, "read change: nested too deeply");
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return Fail(Code::kInvalid, "read change: not JSON");
  // Readers disagree about duplicate keys: some take the first value, some the last.
  if (CountKeys(object) != outline.keys)
    return Fail(Code::kInvalid, "read change: a field is there twice");
  Change change;
  if (!ReadChange(object, change))
    return Fail(Code::kInvalid, "read change: a field is unknown or not as it should be");
  CLOCHE_TRY(CheckChange(change));
  return change;
}

}  // namespace cloche::change
