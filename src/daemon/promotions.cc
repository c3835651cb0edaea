#include "daemon/promotions.h"

#include <errno.h>
#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "base/text.h"
#include "daemon/ask_inside.h"

namespace cloche::daemon {
namespace {

using std::chrono::milliseconds;
constexpr size_t kMostHeld = 64 << 10;  // longer answers are passed on as they come
constexpr const char* kRefusal = R"({"error":)";
constexpr size_t kMostRefusal = 4 << 20;
constexpr const char* kApplied = R"("state":"done")";
constexpr milliseconds kFirstPause{50}, kLongestPause{1000}, kPatience{30'000};
constexpr int kMostFlattened = 3;  // its processes may keep renaming directories

// Adds to an object of which only the beginning may be there yet.
void AddField(std::string& text, const char* name, const std::string& value) {
  const Json field = {{name, EscapeForTerminal(value)}};
  const std::string first = field.dump();
  if (text.starts_with("{")) text = first.substr(0, first.size() - 1) + "," + text.substr(1);
}

}  // namespace

Task<Result<Promotions::Said>> Promotions::Promote(std::shared_ptr<Sandbox> sandbox,
                                                   PromotionRequest request, Client client) {
  if (!sandbox->terms().request().base_directory.empty())
    co_return Fail(Code::kUnavailable,
                   "promote " + sandbox->id + ": it is not a copy of this machine",
                   "take its changes out with: cloche diff " + sandbox->id + " --patch");
  co_await sandbox->birth().AwaitNote();
  milliseconds waited{0}, pause = kFirstPause;
  Attempt attempt;
  for (;;) {
    auto said = co_await Try(sandbox, request, attempt, client);
    if (said && said->text.find(kApplied) != std::string::npos) {
      const Status shown = co_await ShowReality(client, sandbox);
      if (!shown) AddField(said->text, "not_shown", shown.error().message);
    }
    if (!said || said->rest) co_return said;
    const auto answer = ChangeReader::Parse(*sandbox, said->text);
    if (!answer) co_return std::unexpected(answer.error());
    if (answer->contains("takes")) {
      std::vector<std::string> directories = (*answer)["takes"].get<std::vector<std::string>>();
      const Others others{sandbox->owner, sandbox.get()};
      const Status copied =
          co_await FlattenOthers("promote", others, std::move(directories), client);
      if (!copied) co_return std::unexpected(copied.error());
      attempt.others_flattened = true;
      continue;
    }
    if (!answer->contains("busy")) co_return said;
    if (waited >= kPatience)
      co_return Fail(Code::kUnavailable, "promote: another promotion or undo is under way",
                     "try again when it has ended");
    asio::steady_timer timer(io_, pause);
    co_await timer.async_wait(kAwait);
    waited += pause;
    pause = std::min(pause * 2, kLongestPause);
  }
}

// Repeats until it answers: a state too large to freeze is saved first, and renamed directories are
// copied first.
Task<Result<Promotions::Said>> Promotions::Try(std::shared_ptr<Sandbox> sandbox,
                                               PromotionRequest request, Attempt& attempt,
                                               Client client) {
  for (;;) {
    auto reading = reader_.Begin(sandbox);
    reading->can_end = false;  // applied even if the client goes
    auto stance = co_await HoldStill(reading, request.snapshot, attempt.much);
    Status sent;
    if (!stance)
      sent = std::unexpected(stance.error());
    else
      sent = Send(*reading, request, *stance, attempt, client);
    if (!sent) {
      (void)co_await reader_.Finish(reading);
      co_return std::unexpected(sent.error());
    }
    auto said = co_await ReadAnswer(reading, stance->freeze, client);
    if (said) co_return said;
    const int refused = reading->waiting->answer.reply.value;
    if (refused == E2BIG && stance->few) {
      attempt.much = true;
    } else if (refused == EXDEV && attempt.flattened++ < kMostFlattened) {
      const Status flattened = co_await FlattenOwn(sandbox, request, client);
      if (!flattened) co_return std::unexpected(flattened.error());
    } else {
      co_return said;
    }
  }
}

// Chooses the state to promote, and keeps it from changing meanwhile.
Task<Result<Promotions::Stance>> Promotions::HoldStill(std::shared_ptr<Reading> reading,
                                                       std::string snapshot, bool much) {
  const auto& sandbox = reading->sandbox;
  Stance stance;
  reading->in_turn = true;
  reading->turn.emplace(co_await TakeTurn(sandbox));
  if (!snapshot.empty()) {
    auto chosen = reader_.Choose(*sandbox, snapshot);
    if (!chosen) co_return std::unexpected(chosen.error());
    stance.state = std::move(*chosen);
    co_return stance;
  }
  const bool running = sandbox->runs();
  const bool can_save =
      running && machine_.mode() == Mode::kSystem && !sandbox->terms().planned().plan.in_memory;
  // A few files are promoted faster than a snapshot is taken.
  stance.few = can_save && !much;
  if (can_save && much) {
    auto saved = co_await reader_.SavePassing(reading, sandbox);
    if (!saved) co_return std::unexpected(saved.error());
    reading->Release();
    stance.state = std::move(*saved);
    co_return stance;
  }
  auto paused = co_await sandbox->init().Pause();
  if (!paused) co_return std::unexpected(paused.error());
  reading->paused = *paused;
  stance.freeze = running;
  co_return stance;
}

Status Promotions::Send(Reading& reading, const PromotionRequest& request, const Stance& stance,
                        const Attempt& attempt, const Client& client) {
  const Sandbox& sandbox = *reading.sandbox;
  ASSIGN_OR_RETURN(const sys::Fd plan, reader_.PlanOf(sandbox, client));
  Json question = reader_.QuestionOf(sandbox, stance.state);
  const Snapshot* saved = snapshots_.Get(stance.state);
  const int64_t birth_ns = saved ? sandbox.birth().AtOf(saved->created) : sandbox.birth().at_ns();
  question["ancestors"] = sandbox.birth().ancestors();
  question["frozen"] = stance.freeze || reading.paused;
  question["guarded"] = sandbox.birth().guarded();
  question["birth"] = sandbox.birth().NoteFor(birth_ns);
  question["others"] = !attempt.others_flattened && HasAny({sandbox.owner, &sandbox});
  question["project_file"] = sandbox.terms().request().project_file;
  question["promote"] = request.asked;
  const ask::Promote promote{.snapshot = WireId(stance.state),
                             .live = reading.paused || sandbox.runs(),
                             .freeze = stance.freeze,
                             .few = stance.few};
  const sys::Fd paths = PathsForSpawn(request.paths);
  return reader_.Send(reading, promote, {plan.get(), client.socket, paths.get()}, question);
}

Task<Result<Promotions::Said>> Promotions::ReadAnswer(std::shared_ptr<Reading> reading, bool frozen,
                                                      Client client) {
  Said said;
  std::vector<char> piece(64 << 10);
  // A refusal is read completely, however long: it is not passed on as an answer.
  while (said.text.size() < kMostHeld ||
         (said.text.starts_with(kRefusal) && said.text.size() < kMostRefusal)) {
    auto [error, size] =
        co_await reading->answer.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
    if (!error) {
      said.text.append(piece.data(), size);
      continue;
    }
    const Status status = co_await reader_.Finish(reading);
    if (!status) co_return std::unexpected(status.error());
    co_return said;
  }
  const std::string& id = reading->sandbox->id;
  if (said.text.starts_with(kRefusal)) {
    (void)co_await reader_.Finish(reading);
    co_return Fail(Code::kInternal, "promote " + id + ": its refusal has no end");
  }
  // Its first word comes when everything is done, so nothing need stay frozen while a client reads,
  // however slowly.
  if (frozen) (void)spawn_.Send(id, ask::ThawJob{reading->waiting->number});
  reading->Release();
  reading->can_end = true;
  reader_.WatchClient(reading, client);
  said.rest = reading;
  co_return said;
}

Task<Status> Promotions::ShowReality(Client client, std::shared_ptr<Sandbox> unless) {
  Status all;
  Sandboxes own;
  for (const auto& [id, each] : table_.all())
    if (each != unless && each->owner == client.peer.uid && each->runs()) own.push_back(each);
  for (const auto& each : own) {
    if (!each->runs()) continue;  // ended meanwhile
    const SpawnRequest request = RequestOf(each->id, ask::Forget());
    auto answer = co_await AskInside(spawn_, machine_.mode(), each, request, client);
    if (!each->runs()) continue;
    if (!answer) all = std::unexpected(answer.error());
    if (answer && answer->reply.value != 0) all = std::unexpected(machine_.Explain(*answer));
  }
  co_return all;
}

Status Promotions::PinProjectFile(Sandbox& sandbox, std::string text) {
  if (sandbox.terms().request().project.empty())
    return Fail(Code::kConflict, "pin cloche.toml of " + sandbox.id + ": it has no project",
                "make a sandbox in the project: cloche new");
  sandbox.terms().PinProjectFile(std::move(text));
  return table_.Save(sandbox);
}

}  // namespace cloche::daemon
