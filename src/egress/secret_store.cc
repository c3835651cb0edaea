#include "egress/secret_store.h"

#include <algorithm>

#include "base/text.h"

namespace cloche::egress {
namespace {

// More than anybody rotates; beyond it the oldest are forgotten.
constexpr size_t kMostPast = 320;

}  // namespace

SecretStore::~SecretStore() {
  for (auto& [name, value] : values_) Wipe(value);
  for (std::string& value : past_) Wipe(value);
}

void SecretStore::Swap(SecretStore& other) noexcept {
  values_.swap(other.values_);
  past_.swap(other.past_);
  marked_.swap(other.marked_);
  mask_.swap(other.mask_);
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
    mask_.reset();
  }
  if (now.empty()) values_.erase(name);
  return changed;
}

void SecretStore::Remember(const std::string& value) {
  if (value.empty() || std::find(past_.begin(), past_.end(), value) != past_.end()) return;
  if (past_.size() == kMostPast) {
    Wipe(past_.front());
    past_.erase(past_.begin());
  }
  past_.push_back(value);
  mask_.reset();
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

bool SecretStore::MasksAt(const Target& target) const {
  return !SecretsAt(marked_, target, 0).empty();
}

std::shared_ptr<const Needles> SecretStore::Mask() {
  if (mask_ == nullptr) {
    std::vector<std::string> all = past_;
    for (const auto& [name, value] : values_) all.push_back(value);
    mask_ = std::make_shared<const Needles>(all);
    for (std::string& each : all) Wipe(each);
  }
  return mask_;
}

}  // namespace cloche::egress
