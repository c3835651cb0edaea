#include "change/apply/rights.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace cloche::apply {
namespace {

constexpr uint32_t kEverybodyWrites = 0002;

// The format of <linux/posix_acl_xattr.h>: a version, then entries of tag, permissions and id, all
// little-endian.
constexpr size_t kHeader = 4, kEntry = 8;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kUser = 0x02, kGroup = 0x08, kOther = 0x20;

uint32_t Number(std::string_view bytes, size_t at, size_t size) {
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i)
    number |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

std::string Letters(uint32_t permissions) {
  std::string text;
  for (const auto& [bit, letter] : {std::pair(4u, 'r'), std::pair(2u, 'w'), std::pair(1u, 'x')})
    text += (permissions & bit) != 0 ? letter : '-';
  return text;
}

// The rights an ACL grants beyond the caller, the owner, the owning group and everybody's read
// access.
std::set<std::string> Grants(const change::Side& side, std::string_view attribute,
                             const Wish& wish) {
  std::set<std::string> grants;
  const auto found = side.xattrs.find(std::string(attribute));
  if (found == side.xattrs.end()) return grants;
  const std::string_view list = found->second;
  const std::string_view where = attribute.ends_with("default") ? " (for what is made in it)" : "";
  if (list.size() < kHeader || (list.size() - kHeader) % kEntry != 0 ||
      Number(list, 0, kHeader) != kVersion)
    return {fmt::format("an access control list that cannot be read{}", where)};
  for (size_t at = kHeader; at < list.size(); at += kEntry) {
    const uint32_t tag = Number(list, at, 2), id = Number(list, at + 4, 4);
    const uint32_t permissions = Number(list, at + 2, 2) & 7;
    if (permissions == 0) continue;
    if (tag == kUser && id != wish.uid && id != side.uid)
      grants.insert(fmt::format("user {} may {}{}", id, Letters(permissions), where));
    if (tag == kGroup && id != side.gid)
      grants.insert(fmt::format("group {} may {}{}", id, Letters(permissions), where));
    if (tag == kOther && (permissions & kEverybodyWrites) != 0)
      grants.insert(fmt::format("everybody may {}{}", Letters(permissions), where));
  }
  return grants;
}

}  // namespace

void FindRights(const change::Change& change, const Wish& wish, std::vector<Alarm>& alarms) {
  if (!change.new_side || change.new_side->type == change::FileType::kSymlink) return;
  const change::Side& now = *change.new_side;
  change::Side nothing;
  nothing.mode = 0;
  const bool same_kind = change.old_side && change.old_side->type == now.type;
  const change::Side& then = same_kind ? *change.old_side : nothing;
  std::vector<std::string> lines;
  // Set-user-ID bits are not promoted; FindTriggers reports them.
  if ((now.mode & kEverybodyWrites & ~then.mode) != 0)
    lines.push_back(fmt::format("mode {:04o}: everybody may write to it", now.mode));
  for (const std::string_view each : {"system.posix_acl_access", "system.posix_acl_default"}) {
    const std::set<std::string> before =
        same_kind ? Grants(then, each, wish) : std::set<std::string>();
    std::ranges::set_difference(Grants(now, each, wish), before, std::back_inserter(lines));
  }
  // Only root can give a file away; others own what they promote.
  const uint32_t usual = same_kind ? then.uid : wish.project_uid.value_or(wish.uid);
  if (wish.root && now.uid != usual && now.uid != wish.uid)
    lines.push_back(fmt::format("owner: user {}", now.uid));
  if (!lines.empty())
    alarms.push_back(
        {change.path, "rights", "Others may do more with it than before.", true, std::move(lines)});
}

}  // namespace cloche::apply
