#include "daemon/birth.h"

#include <algorithm>
#include <utility>

#include "sys/clocks.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

int64_t NanosOf(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

void AddMissing(const Json& from, std::vector<std::string>& to) {
  for (const std::string each : from)
    if (std::ranges::find(to, each) == to.end()) to.push_back(each);
}

}  // namespace

Birth::Birth() : at_ns_(sys::RealNanos()), clock_(sys::ReadClocks(), 0) {}

int64_t Birth::AtOf(std::chrono::system_clock::time_point saved) const {
  constexpr int64_t kCoarse = 20'000'000;  // how far the two clocks may differ
  const int64_t saved_ns = NanosOf(saved);
  int64_t birth = earlier_.empty() ? at_ns_ : earlier_.front();
  for (const int64_t each : earlier_)
    if (each + kCoarse <= saved_ns) birth = each;
  return at_ns_ + kCoarse <= saved_ns ? at_ns_ : birth;
}

void Birth::Refresh(int64_t now_ns, const Json& stale) {
  AddMissing(stale.at("both_paths"), moved_);
  AddMissing(stale.at("guarded"), guarded_);
  earlier_.push_back(at_ns_);
  at_ns_ = now_ns;
  back_before_ns_ += clock_.back_ns();
  clock_ = ClockTrail(sys::ReadClocks(), 0);
  note_ = Json();
}

void Birth::RollBackTo(std::chrono::system_clock::time_point saved) {
  at_ns_ = AtOf(saved);
  clock_.Add(std::exchange(back_before_ns_, 0));
}

Birth Birth::OfFork(const Birth& parent, const std::string& parent_id,
                    std::chrono::system_clock::time_point saved) {
  Birth birth = parent;
  birth.RollBackTo(saved);
  const int64_t saved_ns = NanosOf(saved);
  birth.ancestors_[parent_id] = saved_ns;
  for (auto& [id, until_ns] : birth.ancestors_) until_ns = std::min(until_ns, saved_ns);
  return birth;
}

Json Birth::NoteFor(int64_t birth_ns) const {
  const bool own = note_.is_object() && note_.value("birth_ns", int64_t{0}) == birth_ns;
  return own ? note_ : Json();
}

void Birth::TakeNote(Json note) {
  note_ = std::move(note);
  note_["birth_ns"] = at_ns_;
}

std::shared_ptr<Event> Birth::ExpectNote(asio::io_context& io) {
  expected_ = std::make_shared<Event>(io);
  return expected_;
}

Task<void> Birth::AwaitNote() const {
  if (const std::shared_ptr<Event> expected = expected_) co_await expected->Wait();
}

void Birth::ToRecord(Json& record) const {
  record["birth_ns"] = at_ns_;
  record["clock"] = {{"boot", clock_.last().boot},
                     {"real_ns", clock_.last().real_ns},
                     {"since_boot_ns", clock_.last().since_boot_ns},
                     {"back_ns", clock_.back_ns()},
                     {"back_before_ns", back_before_ns_}};
  record["moved"] = moved_;
  record["guarded"] = guarded_;
  record["earlier_births"] = earlier_;
  record["ancestors"] = ancestors_;
  record["birth_note"] = note_;
}

Birth Birth::FromRecord(const Json& record, int64_t created_ns) {
  Birth birth;
  birth.at_ns_ = record.value("birth_ns", created_ns);
  birth.moved_ = record.value("moved", std::vector<std::string>());
  birth.guarded_ = record.value("guarded", std::vector<std::string>());
  birth.earlier_ = record.value("earlier_births", std::vector<int64_t>());
  birth.ancestors_ = record.value("ancestors", std::map<std::string, int64_t>());
  birth.note_ = record.value("birth_note", Json());
  // Of a sandbox made by an earlier version, only the time is known.
  const Json clock = record.value("clock", Json::object());
  const ClockReading last{clock.value("boot", "before clocks were noted"),
                          clock.value("real_ns", birth.at_ns_),
                          clock.value("since_boot_ns", int64_t{0})};
  birth.clock_ = ClockTrail(last, clock.value("back_ns", int64_t{0}));
  birth.back_before_ns_ = clock.value("back_before_ns", int64_t{0});
  birth.clock_.Observe(sys::ReadClocks());
  return birth;
}

}  // namespace cloche::daemon
