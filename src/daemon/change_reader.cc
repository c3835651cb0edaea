#include "daemon/change_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "base/error_json.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/stream.h"

namespace cloche::daemon {
namespace {

std::vector<std::string> DataOf(const std::vector<ServiceRequest>& services) {
  std::vector<std::string> data;
  for (const ServiceRequest& each : services)
    data.insert(data.end(), each.data.begin(), each.data.end());
  return data;
}

const std::string& ProjectOf(const Sandbox& sandbox) {
  return sandbox.terms().request().project.empty() ? sandbox.terms().request().cwd
                                                   : sandbox.terms().request().project;
}

}  // namespace

void Reading::Release() {
  if (paused) sandbox->init().Resume();
  paused = false;
  turn.reset();
  in_turn = false;
}

std::shared_ptr<Reading> ChangeReader::Begin(const std::shared_ptr<Sandbox>& sandbox) {
  auto reading = std::make_shared<Reading>(io_, sandbox);
  readings_.push_back(reading);
  return reading;
}

void ChangeReader::WatchClient(const std::shared_ptr<Reading>& reading, const Client& client) {
  const int copy = fcntl(client.socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;  // the next write will fail
  reading->client.assign(copy);
  // Not wait_read: a client may have finished sending and still listen.
  reading->client.async_wait(
      asio::posix::stream_descriptor::wait_error,
      [this, weak = std::weak_ptr(reading)](const boost::system::error_code& error) {
        const auto going = weak.lock();
        if (!error && going)
          End(*going, {Code::kUnavailable, "answer: nobody waits for it any more", ""});
      });
}

void ChangeReader::End(Reading& reading, Error why) {
  if (reading.ended) return;
  reading.ended = std::move(why);
  if (!reading.waiting || reading.waiting->done.is_set()) return;
  (void)spawn_.Send(reading.sandbox->id, ask::EndJob{reading.waiting->number});
}

// Readings of a temporary snapshot hold no turn, so they may go on.
void ChangeReader::EndAll(const Sandbox& sandbox, const Error& why) {
  std::erase_if(readings_, [](const std::weak_ptr<Reading>& reading) { return reading.expired(); });
  for (const auto& each : readings_)
    if (const auto reading = each.lock();
        reading && reading->in_turn && reading->can_end && reading->sandbox.get() == &sandbox)
      End(*reading, why);
}

Result<std::string> ChangeReader::Choose(const Sandbox& sandbox, const std::string& snapshot) {
  RollbackRequest wanted;
  wanted.snapshot = snapshot;
  ASSIGN_OR_RETURN(const Snapshot chosen, snapshots_.Choose(sandbox, wanted));
  return chosen.id;
}

Task<Result<std::string>> ChangeReader::SavePassing(std::shared_ptr<Reading> reading,
                                                    std::shared_ptr<Sandbox> sandbox) {
  SnapshotRequest unnamed;
  auto saved =
      co_await time_travel_.Save(sandbox, std::move(unnamed), SnapshotKind::kFork, nullptr);
  if (!saved) co_return std::unexpected(saved.error());
  reading->passing.push_back(*saved);
  co_return saved->id;
}

// Another state: a snapshot of the same sandbox, or another sandbox as it is now.
Task<Result<std::string>> ChangeReader::ResolveOther(std::shared_ptr<Reading> reading,
                                                     std::string ref, Client client) {
  const auto& sandbox = reading->sandbox;
  if (auto own = Choose(*sandbox, ref)) co_return own;
  auto other = table_.Find(ref, client);
  if (!other || *other == sandbox)
    co_return Fail(Code::kNotFound,
                   fmt::format("compare {}: there is no snapshot of it and no other sandbox {}",
                               sandbox->id, EscapeForTerminal(ref)),
                   "cloche snapshots " + sandbox->id + " and cloche ls show what there is");
  if ((*other)->terms().request().base_directory != sandbox->terms().request().base_directory)
    co_return Fail(Code::kConflict, "compare: the two are copies of different things", "");
  const Turn turn = co_await TakeTurn(*other);
  co_return co_await SavePassing(reading, *other);
}

// The snapshot to read; "" = the sandbox itself. A diff is read at a person's pace, so the sandbox
// is not frozen for it.
Task<Result<std::string>> ChangeReader::PrepareDiff(std::shared_ptr<Reading> reading,
                                                    DiffRequest request) {
  const auto& sandbox = reading->sandbox;
  reading->in_turn = true;
  reading->turn.emplace(co_await TakeTurn(sandbox));
  if (reading->ended) co_return std::unexpected(*reading->ended);
  if (!request.snapshot.empty()) co_return Choose(*sandbox, request.snapshot);
  const bool can_save = sandbox->runs() && machine_.mode() == Mode::kSystem &&
                        !sandbox->terms().planned().plan.in_memory;
  if (!can_save) co_return "";
  auto saved = co_await SavePassing(reading, sandbox);
  if (saved) reading->Release();
  co_return saved;
}

Result<sys::Fd> ChangeReader::PlanOf(const Sandbox& sandbox, const Client& client) {
  // Without decoys: in reality their places are empty or hidden.
  SandboxRequest seen = sandbox.terms().request();
  seen.canaries = {};
  ASSIGN_OR_RETURN(Planned planned, machine_.Plan(seen, machine_.FactsOf(client.peer), sandbox.id));
  // The host's mounts may have changed. Uppers are numbered by the mounts it runs with.
  if (sandbox.runs()) planned.plan.spec.mounts = sandbox.terms().planned().plan.spec.mounts;
  planned.plan.keep = true;
  const std::string bytes = EncodePlan(planned.plan);
  return sys::Fd(sys::SealedMemfd("plan", bytes.data(), bytes.size()));
}

Json ChangeReader::QuestionOf(const Sandbox& sandbox, const std::string& state) {
  const Snapshot* saved = snapshots_.Get(state);
  const int64_t birth_ns = saved ? sandbox.birth().AtOf(saved->created) : sandbox.birth().at_ns();
  table_.ObserveClock();
  const int64_t back_ns = sandbox.birth().ClockBack(saved != nullptr);
  return {{"sandbox", sandbox.id},
          {"since_ns", SinceWithClock(birth_ns, back_ns)},
          {"clock_back_ns", back_ns},
          {"one_owner", machine_.mode() == Mode::kRootless},
          {"project", ProjectOf(sandbox)},
          {"home", sandbox.terms().request().home},
          {"service_data", DataOf(sandbox.terms().request().services)}};
}

Result<ChangeReader::Pipes> ChangeReader::Open(Reading& reading, const Json& question) {
  int answer[2], complaint[2];
  if (pipe2(answer, O_CLOEXEC) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  Pipes pipes;
  pipes.answer = sys::Fd(answer[1]);
  sys::SetNonBlocking(answer[0]);
  reading.answer.assign(answer[0]);
  // Non-blocking: a helper must not wait for a reader of a long complaint.
  if (pipe2(complaint, O_CLOEXEC | O_NONBLOCK) < 0)
    return Fail(Code::kInternal, fmt::format("make pipe: {}", strerror(errno)));
  pipes.complaint = sys::Fd(complaint[1]);
  reading.complaint = sys::Fd(complaint[0]);
  const std::string text = question.dump();
  pipes.question = sys::Fd(sys::SealedMemfd("question", text.data(), text.size()));
  return pipes;
}

Task<Status> ChangeReader::SendDiff(std::shared_ptr<Reading> reading, DiffRequest request,
                                    Client client) {
  const Sandbox& sandbox = *reading->sandbox;
  std::string against;
  if (!request.against.empty()) {
    auto other = co_await ResolveOther(reading, request.against, client);
    if (!other) co_return std::unexpected(other.error());
    against = std::move(*other);
  }
  auto state = co_await PrepareDiff(reading, request);
  if (!state) co_return std::unexpected(state.error());
  if (reading->ended) co_return std::unexpected(*reading->ended);
  auto plan = PlanOf(sandbox, client);
  if (!plan) co_return std::unexpected(plan.error());
  const std::string& project = ProjectOf(sandbox);
  Json question = QuestionOf(sandbox, *state);
  question["format"] = request.patch ? "patch" : "json";
  question["lines"] = request.lines;
  question["root"] = !request.root.empty() ? request.root : project.empty() ? "/" : project;
  question["paths"] = request.paths;
  const sys::Fd all(sys::SealedMemfd("paths", "", 0));
  const ask::Diff diff{WireId(*state), WireId(against), sandbox.runs()};
  const Status sent = Send(*reading, diff, {plan->get(), client.socket, all.get()}, question);
  co_return sent;
}

Task<Result<std::shared_ptr<Reading>>> ChangeReader::StartDiff(std::shared_ptr<Sandbox> sandbox,
                                                               DiffRequest request, Client client) {
  auto reading = Begin(sandbox);
  WatchClient(reading, client);
  const Status begun = co_await SendDiff(reading, std::move(request), client);
  if (begun) {
    asio::co_spawn(io_, ReleaseWhenDone(reading), kDetached);
    co_return reading;
  }
  (void)co_await Finish(reading);
  co_return std::unexpected(begun.error());
}

// Do not wait for clients, which may take their time to read the end.
Task<void> ChangeReader::ReleaseWhenDone(std::shared_ptr<Reading> reading) {
  co_await reading->waiting->done.Wait();
  reading->Release();
}

// The helper's own message, if it left one.
Error ChangeReader::WhyFailed(Reading& reading, const SpawnAnswer& answer) {
  if (reading.ended) return *reading.ended;
  char said[4096];
  const ssize_t size =
      reading.complaint.valid() ? read(reading.complaint.get(), said, sizeof said) : 0;
  if (size <= 0) return machine_.Explain(answer);
  const std::string text(said, static_cast<size_t>(size));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("error")) return ErrorFromJson(json["error"]);
  return {Code::kInternal,
          fmt::format("read changes of {}: {}", reading.sandbox->id,
                      EscapeForTerminal(text.substr(0, text.find('\n')))),
          "ask again; if it stays, report this"};
}

Task<Status> ChangeReader::Finish(std::shared_ptr<Reading> reading) {
  boost::system::error_code ignored;
  (void)reading->answer.close(ignored);  // ends a helper that is still writing
  Status status;
  if (reading->waiting) {
    co_await reading->waiting->done.Wait();
    const SpawnAnswer& answer = reading->waiting->answer;
    if (answer.reply.value != 0) status = std::unexpected(WhyFailed(*reading, answer));
  }
  (void)reading->client.close(ignored);
  reading->Release();
  // In the background: nobody waits for it.
  for (const Snapshot& snapshot : reading->passing)
    asio::co_spawn(
        io_,
        [](TimeTravel& time_travel, Snapshot passed) -> Task<void> {
          (void)co_await time_travel.Drop(std::move(passed));
        }(time_travel_, snapshot),
        kDetached);
  co_return status;
}

Result<Json> ChangeReader::Parse(const Sandbox& sandbox, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return Fail(Code::kInternal, "read changes of " + sandbox.id + ": there is no answer");
  if (json.contains("error")) return std::unexpected(ErrorFromJson(json["error"]));
  return json;
}

Task<Result<Json>> ChangeReader::ReadWhole(std::shared_ptr<Reading> reading) {
  std::string text;
  std::vector<char> piece(64 << 10);
  for (;;) {
    auto [error, size] =
        co_await reading->answer.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
    if (error) break;
    text.append(piece.data(), size);
  }
  const Status status = co_await Finish(reading);
  if (!status) co_return std::unexpected(status.error());
  co_return Parse(*reading->sandbox, text);
}

// Looks only at names and is short, so nothing is frozen.
Task<Result<Json>> ChangeReader::Staleness(std::shared_ptr<Sandbox> sandbox, Client client,
                                           bool guard) {
  auto reading = Begin(sandbox);
  WatchClient(reading, client);
  auto plan = PlanOf(*sandbox, client);
  if (!plan) co_return std::unexpected(plan.error());
  Json question = QuestionOf(*sandbox, "");
  question["format"] = "stale";
  question["guard"] = guard;
  const sys::Fd all(sys::SealedMemfd("paths", "", 0));
  const Status sent =
      Send(*reading, ask::Staleness(), {plan->get(), client.socket, all.get()}, question);
  if (!sent) co_return std::unexpected(sent.error());
  auto answer = co_await ReadWhole(reading);
  if (!answer) co_return answer;
  Json& json = *answer;
  json["id"] = sandbox->id;
  json["age_s"] = static_cast<double>(sys::CoarseNanos() - sandbox->birth().at_ns()) / 1e9;
  if (const int64_t back_ns = sandbox->birth().ClockBack(false); back_ns > kMostSetBackNs)
    json["clock"] = DescribeSetBack(back_ns);
  json["project"] = sandbox->terms().request().project;
  json["base_commit"] = sandbox->terms().request().base_commit;
  json["moved_before"] = sandbox->birth().moved();
  co_return json;
}

Task<Result<Json>> ChangeReader::NoteBirth(std::shared_ptr<Sandbox> sandbox, Client client) {
  auto reading = Begin(sandbox);
  Json question = QuestionOf(*sandbox, "");
  question["note"] = true;
  const Status sent = Send(*reading, ask::BirthNote(), {client.socket}, question);
  if (!sent) co_return std::unexpected(sent.error());
  co_return co_await ReadWhole(reading);
}

}  // namespace cloche::daemon
