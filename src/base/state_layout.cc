#include "base/state_layout.h"

namespace cloche {
namespace {

void Put(std::string& out, uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void Put(std::string& out, const std::string& text) {
  Put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

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
  std::string out(kLayoutMagic);
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

}  // namespace cloche
