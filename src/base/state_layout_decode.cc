// Helpers read layouts with this; cloche-spawn only writes them.
#include <cstring>

#include "base/state_layout.h"

namespace cloche {
namespace {

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

Result<StateLayout> DecodeLayout(std::string_view bytes) {
  const auto bad = [] { return Fail(Code::kInternal, "read layout: it is malformed"); };
  if (!bytes.starts_with(kLayoutMagic)) return bad();
  Reader reader(bytes.substr(kLayoutMagic.size()));
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
