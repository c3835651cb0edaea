#include "daemon/canaries.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/sandbox.h"
#include "sys/file.h"

namespace cloche::daemon {

void DrawDecoys(CanaryRequest& canaries) {
  if (!canaries.wanted) return;
  std::string random(kDecoyRandom, '\0');
  sys::RandomBytes(reinterpret_cast<unsigned char*>(random.data()), random.size());
  canaries.decoys = MakeDecoys(random);
}

// Nobody has a reason to send one: as a call that only an attack makes.
void Sandbox::RecordCanary(const std::string& canary, const std::string& form,
                           const std::string& destination) {
  const std::string what = fmt::format("send decoy {}", canary);
  const auto now = std::chrono::system_clock::now();
  const std::string detail = fmt::format("{} to {}", form, destination);
  ++denial_count_;
  const auto same = [&](const Denial& each) { return each.call == what && each.detail == detail; };
  auto row = std::ranges::find_if(denials_, same);
  const bool first = row == denials_.end();
  // Calls that were denied before leave room for these.
  if (first && denials_.size() < 2 * kMaxDenialKinds)
    row = denials_.insert(denials_.end(),
                          {what, {}, 0, "", sys::DenialClass::kViolation, 0, now, now, detail});
  if (row != denials_.end()) {
    ++row->count;
    row->last = now;
  }
  const std::string violation = fmt::format("{}, {}", what, EscapeForTerminal(detail));
  for (auto& [number, command] : commands_) {
    if (command->ended()) continue;
    ++command->denials;
    if (!first || row == denials_.end()) continue;
    command->Tell(
        FrameType::kNotice,
        {{"kind", "canary"},
         {"class", "violation"},
         {"message", fmt::format("violation: {}; see `cloche net {} log`", violation, id)}});
  }
  const uint64_t budget = planned.limits.denials.value_or(0);
  if (request.on_violation == OnViolation::kKill)
    end_("violation", "violation: " + violation);
  else if (budget != 0 && denial_count_ >= budget)
    end_("denials", fmt::format("limit of {} denials reached", budget));
}

}  // namespace cloche::daemon
