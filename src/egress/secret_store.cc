#include "egress/secret_store.h"

#include <algorithm>

#include "base/text.h"
#include "egress/secret_limits.h"

namespace cloche::egress {
namespace {

// All that the vault keeps for it, and a few more: none may be dropped while they are sent again.
constexpr size_t kMostPast = kMostRedacted + 8;
constexpr size_t kMostPastBytes = kMostRedactedBytes + kLongestValue;

}  // namespace

SecretStore::~SecretStore() {
  for (auto& [name, value] : values_) Wipe(value);
  for (std::string& value : past_) Wipe(value);
}

void SecretStore::Swap(SecretStore& other) noexcept {
  values_.swap(other.values_);
  past_.swap(other.past_);
  std::swap(past_bytes_, other.past_bytes_);
  marked_.swap(other.marked_);
  to_redact_.swap(other.to_redact_);
}

const std::string* SecretStore::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool SecretStore::Set(const std::string& name, const std::string& value) {
  std::string& now = values_[name];
  const bool changed = now != value;
  if (changed) {
    Remember(now);
    Wipe(now);
    now = value;
    to_redact_.reset();
  }
  if (now.empty()) values_.erase(name);
  return changed;
}

void SecretStore::Remember(const std::string& value) {
  if (value.empty()) return;
  if (const auto known = std::ranges::find(past_, value); known != past_.end()) {
    std::rotate(known, known + 1, past_.end());
    return;
  }
  past_.push_back(value);
  past_bytes_ += value.size();
  to_redact_.reset();
  while (past_.size() > kMostPast || past_bytes_ > kMostPastBytes) {
    past_bytes_ -= past_.front().size();
    Wipe(past_.front());
    past_.erase(past_.begin());
  }
}

void SecretStore::Mark(const Rule& rule) {
  const auto same = [&](const Rule& each) {
    return each.host == rule.host && each.range == rule.range &&
           each.first_port == rule.first_port && each.last_port == rule.last_port;
  };
  if (std::any_of(marked_.begin(), marked_.end(), same)) return;
  marked_.push_back({.host = rule.host,
                     .range = rule.range,
                     .first_port = rule.first_port,
                     .last_port = rule.last_port,
                     .secret = SecretUse{}});
}

bool SecretStore::RedactsAt(const Target& target) const {
  return !SecretsAt(marked_, target, 0).empty();
}

std::shared_ptr<const Needles> SecretStore::ToRedact() {
  if (to_redact_ == nullptr) {
    std::vector<std::string> all;
    all.reserve(past_.size() + values_.size());
    all = past_;
    for (const auto& [name, value] : values_) all.push_back(value);
    to_redact_ = std::make_shared<const Needles>(all);
    for (std::string& each : all) Wipe(each);
  }
  return to_redact_;
}

}  // namespace cloche::egress
