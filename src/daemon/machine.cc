#include "daemon/machine.h"

#include "policy/cures.h"

namespace cloche::daemon {

Machine::Machine(Mode mode, Directories directories)
    : mode_(mode),
      directories_(std::move(directories)),
      cgroups_(sys::FindCgroups(mode == Mode::kSystem)) {}

const HostFacts& Machine::facts() { return watch_.Changed(facts_) ? FreshFacts() : facts_; }

const HostFacts& Machine::FreshFacts() {
  facts_ = GatherHostFacts(mode_, directories_, cgroups_);
  people_.clear();
  plans_.Clear();
  return facts_;
}

const Machine::KnownPerson& Machine::Person(uint32_t uid) {
  // A home or an account may have just been created.
  if (int64_t stamp = PeopleStamp(); stamp != people_stamp_) {
    people_.clear();
    plans_.Clear();
    people_stamp_ = stamp;
  }
  auto found = people_.find(uid);
  if (found == people_.end())
    found = people_.emplace(uid, KnownPerson{AccountOf(uid), OtherHomes(uid)}).first;
  return found->second;
}

UserFacts Machine::FactsOf(const sys::PeerIdentity& peer) {
  facts();
  UserFacts user = Person(peer.uid).account;
  user.uid = peer.uid;
  user.gid = peer.gid;
  user.groups.assign(peer.groups, peer.groups + peer.group_count);
  return user;
}

Result<Planned> Machine::Plan(const SandboxRequest& request, const UserFacts& user,
                              std::string id) {
  facts();
  facts_.other_homes = Person(user.uid).other_homes;
  return plans_.Plan(facts_, user, request, std::move(id));
}

Error Machine::Explain(const SpawnAnswer& answer) {
  return ExplainLaunchFailure(answer.reply.step, answer.reply.operation, answer.reply.value,
                              answer.reply.detail, FreshFacts());
}

}  // namespace cloche::daemon
