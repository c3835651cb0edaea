#include "base/launch_plan.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace cloche {
namespace {

constexpr uint32_t kMagic = 0x434c5035;  // "CLP5"
constexpr uint32_t kMaxItems = 4096;
constexpr uint32_t kMaxText = 1 << 20;

class Writer {
 public:
  void U32(uint32_t value) { Raw(&value, sizeof value); }
  void U64(uint64_t value) { Raw(&value, sizeof value); }
  void Flag(bool value) { bytes_.push_back(value ? '\1' : '\0'); }
  void Text(std::string_view value) {
    U32(static_cast<uint32_t>(value.size()));
    bytes_.append(value);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
};

// Every read is checked against what is left; after the first failure everything reads as zero
// and ok() stays false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && rest_.empty(); }

  uint32_t U32() { return Number<uint32_t>(); }
  uint64_t U64() { return Number<uint64_t>(); }
  bool Flag() {
    uint8_t value = Number<uint8_t>();
    if (value > 1) ok_ = false;
    return ok_ && value == 1;
  }
  template <typename E>
  E Enum(E last) {
    uint32_t value = U32();
    if (value > static_cast<uint32_t>(last)) ok_ = false;
    return static_cast<E>(ok_ ? value : 0);
  }
  uint32_t Count() {
    uint32_t value = U32();
    if (value > kMaxItems) ok_ = false;
    return ok_ ? value : 0;
  }
  // The kernel sees it as a C string: an embedded NUL would mean something else to us than to it.
  std::string Text() {
    uint32_t size = U32();
    if (!ok_ || size > kMaxText || size > rest_.size() ||
        rest_.substr(0, size).find('\0') != std::string_view::npos) {
      ok_ = false;
      return {};
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

 private:
  template <typename T>
  T Number() {
    T value{};
    if (!ok_ || rest_.size() < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view rest_;
  bool ok_ = true;
};

void Put(Writer& out, const SandboxSpec& spec) {
  out.U32(static_cast<uint32_t>(spec.mode));
  out.U32(spec.caller.uid);
  out.U32(spec.caller.gid);
  out.U32(static_cast<uint32_t>(spec.caller.groups.size()));
  for (uint32_t group : spec.caller.groups) out.U32(group);
  out.Flag(spec.base_is_host);
  out.Flag(spec.root_inside);
  out.Flag(spec.map_root);
  out.Text(spec.hostname);
  out.U32(spec.cpus);
  out.U32(static_cast<uint32_t>(spec.mounts.size()));
  for (const MountOp& op : spec.mounts) {
    out.U32(static_cast<uint32_t>(op.kind));
    out.Text(op.source);
    out.Text(op.target);
    out.Flag(op.read_only);
    out.Flag(op.recursive);
    out.Flag(op.optional);
    out.Flag(op.blank);
    out.U64(op.size_bytes);
    out.U32(op.mode);
  }
  out.U32(static_cast<uint32_t>(spec.files.size()));
  for (const FileRule& rule : spec.files) {
    out.U32(static_cast<uint32_t>(rule.kind));
    out.Text(rule.path);
    out.Text(rule.content);
  }
}

SandboxSpec TakeSpec(Reader& in) {
  SandboxSpec spec;
  spec.mode = in.Enum(Mode::kRootless);
  spec.caller.uid = in.U32();
  spec.caller.gid = in.U32();
  for (uint32_t n = in.Count(); n > 0 && in.ok(); --n) spec.caller.groups.push_back(in.U32());
  spec.base_is_host = in.Flag();
  spec.root_inside = in.Flag();
  spec.map_root = in.Flag();
  spec.hostname = in.Text();
  spec.cpus = in.U32();
  for (uint32_t n = in.Count(); n > 0 && in.ok(); --n) {
    MountOp op;
    op.kind = in.Enum(MountKind::kSys);
    op.source = in.Text();
    op.target = in.Text();
    op.read_only = in.Flag();
    op.recursive = in.Flag();
    op.optional = in.Flag();
    op.blank = in.Flag();
    op.size_bytes = in.U64();
    op.mode = in.U32();
    spec.mounts.push_back(std::move(op));
  }
  for (uint32_t n = in.Count(); n > 0 && in.ok(); --n) {
    FileRule rule;
    rule.kind = in.Enum(FileRuleKind::kDecoyInstead);
    rule.path = in.Text();
    rule.content = in.Text();
    spec.files.push_back(std::move(rule));
  }
  return spec;
}

}  // namespace

std::string EncodeSpec(const SandboxSpec& spec) {
  Writer out;
  Put(out, spec);
  return out.Take();
}

bool SandboxSpec::WritesOutside() const {
  return std::ranges::any_of(
      mounts, [](const MountOp& op) { return op.kind == MountKind::kBind && !op.read_only; });
}

std::string EncodePlan(const LaunchPlan& plan) {
  Writer out;
  out.U32(kMagic);
  out.Text(plan.sandbox_id);
  out.Flag(plan.keep);
  out.Flag(plan.in_memory);
  Put(out, plan.spec);
  out.U64(plan.limits.cpu_millis);
  out.U64(plan.limits.memory_bytes);
  out.U64(plan.limits.disk_bytes);
  out.U64(plan.limits.inodes);
  out.U64(plan.limits.pids);
  return out.Take();
}

Result<LaunchPlan> DecodePlan(std::string_view bytes) {
  Reader in(bytes);
  if (in.U32() != kMagic) return Fail(Code::kInvalid, "decode launch plan: wrong magic");
  LaunchPlan plan;
  plan.sandbox_id = in.Text();
  plan.keep = in.Flag();
  plan.in_memory = in.Flag();
  plan.spec = TakeSpec(in);
  plan.limits.cpu_millis = in.U64();
  plan.limits.memory_bytes = in.U64();
  plan.limits.disk_bytes = in.U64();
  plan.limits.inodes = in.U64();
  plan.limits.pids = in.U64();
  if (!in.AtEnd()) return Fail(Code::kInvalid, "decode launch plan: truncated or malformed");
  return plan;
}

}  // namespace cloche
