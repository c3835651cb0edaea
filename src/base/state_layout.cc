#include "base/state_layout.h"

#include <cstring>

namespace cloche {
namespace {

constexpr std::string_view kMagic = "CLL2";

void Put(std::string& out, uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void Put(std::string& out, const std::string& text) {
  Put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  uint32_t Number() {
    uint32_t number = 0;
    if (bytes_.size() < sizeof number) return Stop();
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    return number;
  }

  std::string Text() {
    const uint32_t size = Number();
    if (size > bytes_.size()) Stop();
    if (!good_) return "";
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }

  bool good() const { return good_; }
  bool AtEnd() const { return good_ && bytes_.empty(); }

 private:
  uint32_t Stop() {
    good_ = false;
    return 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

SpecialDirectories SpecialOf(const StateLayout& layout, uint32_t slot, bool of_other) {
  SpecialDirectories found;
  for (const SpecialDirectory& special : layout.special)
    if (special.slot == slot && special.of_other == of_other) found[special.path] = &special;
  return found;
}

// An absolute redirect counts from the root of the overlay; a mere name is beside what the parent
// shows of the base.
std::string BasePathOf(const SpecialDirectories& special, const std::string& path) {
  if (path.empty()) return "";
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  const auto found = special.find(path);
  const bool moved = found != special.end() && !found->second->redirect.empty();
  if (moved && found->second->redirect.starts_with('/')) return found->second->redirect.substr(1);
  const std::string above = BasePathOf(special, parent);
  return (above.empty() ? "" : above + "/") +
         (moved ? found->second->redirect : path.substr(slash + 1));
}

std::string EncodeLayout(const StateLayout& layout) {
  std::string out(kMagic);
  Put(out, layout.against_other ? 1u : 0u);
  Put(out, static_cast<uint32_t>(layout.slots.size()));
  for (const LayoutSlot& slot : layout.slots) {
    Put(out, slot.target);
    for (int32_t fd : {slot.base, slot.mask, slot.state, slot.other})
      Put(out, static_cast<uint32_t>(fd));
  }
  Put(out, static_cast<uint32_t>(layout.special.size()));
  for (const SpecialDirectory& special : layout.special) {
    Put(out, (special.of_other ? 1u : 0u) | (special.opaque ? 2u : 0u) | (special.lost ? 4u : 0u));
    Put(out, special.slot);
    Put(out, special.path);
    Put(out, special.redirect);
  }
  Put(out, static_cast<uint32_t>(layout.copied.size()));
  for (const CopiedFile& each : layout.copied) {
    Put(out, each.slot);
    Put(out, each.path);
    Put(out, static_cast<uint32_t>(each.inode));
    Put(out, static_cast<uint32_t>(each.inode >> 32));
  }
  return out;
}

Result<StateLayout> DecodeLayout(std::string_view bytes) {
  const auto bad = [] { return Fail(Code::kInternal, "read layout: it is malformed"); };
  if (!bytes.starts_with(kMagic)) return bad();
  Reader reader(bytes.substr(kMagic.size()));
  StateLayout layout;
  layout.against_other = reader.Number() == 1;
  for (uint32_t count = reader.Number(); reader.good() && count > 0; --count) {
    LayoutSlot slot;
    slot.target = reader.Text();
    for (int32_t* fd : {&slot.base, &slot.mask, &slot.state, &slot.other})
      *fd = static_cast<int32_t>(reader.Number());
    layout.slots.push_back(std::move(slot));
  }
  for (uint32_t count = reader.Number(); reader.good() && count > 0; --count) {
    SpecialDirectory special;
    const uint32_t flags = reader.Number();
    special.of_other = (flags & 1) != 0;
    special.opaque = (flags & 2) != 0;
    special.lost = (flags & 4) != 0;
    special.slot = reader.Number();
    special.path = reader.Text();
    special.redirect = reader.Text();
    layout.special.push_back(std::move(special));
  }
  for (uint32_t count = reader.Number(); reader.good() && count > 0; --count) {
    CopiedFile copied;
    copied.slot = reader.Number();
    copied.path = reader.Text();
    copied.inode = reader.Number();
    copied.inode |= uint64_t{reader.Number()} << 32;
    if (copied.slot >= layout.slots.size()) return bad();
    layout.copied.push_back(std::move(copied));
  }
  if (!reader.AtEnd()) return bad();
  return layout;
}

}  // namespace cloche
