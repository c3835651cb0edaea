#include "egress/canary_set.h"

#include <algorithm>
#include <deque>

#include "base/ascii.h"
#include "egress/redactor.h"

namespace cloche::egress {
namespace {

constexpr size_t kSpelled = 24;
// Ignored: base64 is wrapped and indented, hex is written with blanks or colons between.
constexpr std::string_view kBetween = "\r\n\t :";

// The base64 of `text` behind `before` other bytes: only the digits that depend on nothing else.
std::string Base64Inside(std::string_view text, size_t before) {
  const std::string whole = EncodeBase64(std::string(before, '\0') + std::string(text));
  const size_t first = (before * 8 + 5) / 6;
  const size_t last = (before + text.size()) * 8 / 6;
  return whole.substr(first, last - first);
}

}  // namespace

void CanarySet::Add(std::string text, size_t canary, CanaryForm form) {
  const auto same = [&](const Spelling& each) { return each.text == text; };
  if (std::ranges::none_of(spellings_, same)) spellings_.push_back({std::move(text), canary, form});
}

void CanarySet::Spell(size_t canary, std::string_view value) {
  const std::string text(value.substr(0, kSpelled));
  Add(text, canary, CanaryForm::kPlain);
  std::string lower = text;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  Add(lower, canary, CanaryForm::kLowerCase);  // as the names of hosts come
  Add(Hex(text), canary, CanaryForm::kHex);
  Add(Hex(text, kUpperHexDigits), canary, CanaryForm::kHex);
  for (size_t before = 0; before < 3; ++before) {
    std::string inside = Base64Inside(text, before);
    Add(inside, canary, CanaryForm::kBase64);
    std::ranges::replace(inside, '+', '-');
    std::ranges::replace(inside, '/', '_');
    Add(inside, canary, CanaryForm::kBase64);
  }
}

void CanarySet::Build() {
  for (const Spelling& each : spellings_)
    for (const char c : each.text)
      if (uint8_t& of = class_of_[static_cast<uint8_t>(c)]; of == 0)
        of = static_cast<uint8_t>(classes_++);
  const size_t between = classes_++;
  for (const char c : kBetween) class_of_[static_cast<uint8_t>(c)] = static_cast<uint8_t>(between);
  const auto add_state = [&] {
    next_.resize(next_.size() + classes_, kStart);
    found_.push_back(0);
    return static_cast<State>(found_.size() - 1);
  };
  add_state();
  for (size_t i = 1; i < spellings_.size(); ++i) {
    State state = kStart;
    for (const char c : spellings_[i].text) {
      const size_t at = state * classes_ + class_of_[static_cast<uint8_t>(c)];
      if (next_[at] == kStart) {
        const State made = add_state();
        next_[at] = made;
      }
      state = next_[at];
    }
    found_[state] = static_cast<uint16_t>(i);
  }
  // Where a spelling fails to match, continue with the longest other one that could have begun.
  std::vector<State> shorter(found_.size(), kStart);
  std::deque<State> pending;
  for (size_t c = 1; c < classes_; ++c)
    if (next_[c] != kStart) pending.push_back(next_[c]);
  while (!pending.empty()) {
    const State state = pending.front();
    pending.pop_front();
    if (found_[state] == 0) found_[state] = found_[shorter[state]];
    for (size_t c = 1; c < classes_; ++c) {
      if (c == between) {
        next_[state * classes_ + c] = state;
        continue;
      }
      State& next = next_[state * classes_ + c];
      const State otherwise = next_[shorter[state] * classes_ + c];
      if (next == kStart) {
        next = otherwise;
      } else {
        shorter[next] = otherwise;
        pending.push_back(next);
      }
    }
  }
}

Result<std::shared_ptr<CanarySet>> CanarySet::Make(const std::vector<Canary>& canaries) {
  if (canaries.size() > kMostCanaries) return Fail(Code::kInvalid, "canaries: too many");
  auto set = std::make_shared<CanarySet>();
  for (size_t i = 0; i < canaries.size(); ++i) {
    if (canaries[i].value.size() < kLeastCanary)
      return Fail(Code::kInvalid, "canaries: a value is too short");
    if (canaries[i].value.find_first_of(kBetween) != std::string::npos)
      return Fail(Code::kInvalid, "canaries: a value has blanks or colons in it");
    set->names_.push_back(canaries[i].name);
    set->Spell(i, canaries[i].value);
  }
  set->Build();
  return set;
}

}  // namespace cloche::egress
