// cloched: the API and the life of sandboxes. Started by the CLI or by systemd; in system mode it
// starts cloche-spawn as root and then gives root up for good before it reads its first request.
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include "api/listener.h"
#include "daemon/last_words.h"
#include "daemon/setup.h"
#include "daemon/spawn_link.h"
#include "policy/cures.h"
#include "sys/children.h"
#include "sys/own_process.h"
#include "sys/process.h"
#include "sys/watch_reserve.h"

namespace cloche {
namespace {

namespace asio = boost::asio;

constexpr int kDefaultLeaveSeconds = 300;

struct Options {
  std::string socket;
  std::string state;
  int ready_fd = -1;
  int leave_after = kDefaultLeaveSeconds;
};

// Reports to the process that waits at the ready fd, else (systemd, a person) failures to standard
// error.
void Announce(const Options& options, const Status& status) {
  if (options.ready_fd >= 0) {
    std::string line = status ? "ok\n" : status.error().message + "\t" + status.error().cure + "\n";
    (void)!write(options.ready_fd, line.data(), line.size());
    close(options.ready_fd);
  } else if (!status) {
    fmt::print(stderr, "cloched: {}\n  cure: {}\n", status.error().message, status.error().cure);
  }
}

// `announced`: the start was reported to somebody. A status returned after that is the end of a
// daemon.
Status Serve(const Options& options, bool& announced) {
  const Mode mode = geteuid() == 0 ? Mode::kSystem : Mode::kRootless;
  asio::io_context io(1);
  ASSIGN_OR_RETURN(daemon::Setup setup, daemon::Setup::Open(mode, options.socket, options.state));
  ASSIGN_OR_RETURN(auto spawn,
                   daemon::SpawnLink::Start(io, setup.spawn_program(), setup.directories().state));
  CLOCHE_TRY(setup.GiveUpRoot());
  // The daemon opens the vault. The programs it starts become dumpable again at exec.
  if (const int error = sys::ForbidCoreDumps(); error < 0)
    return Fail(Code::kInternal, fmt::format("forbid core dumps: {}", strerror(-error)));

  std::unique_ptr<daemon::Registry> registry;
  std::unique_ptr<daemon::Daemon> daemon;
  asio::local::stream_protocol::acceptor acceptor(io);
  Status status;
  // Newcomers start another daemon from here on; it waits for the pool's lock until we are gone.
  auto leave = [&] {
    boost::system::error_code ignored;
    (void)acceptor.close(ignored);
    daemon::SayGoodbye();  // the next may be here before the rest of us is gone
    if (daemon) daemon->lifecycle.Close();
    asio::co_spawn(
        io,
        [&]() -> daemon::Task<void> {
          co_await spawn->Leave();
          io.stop();
        },
        daemon::kDetached);
  };
  asio::co_spawn(
      io,
      [&]() -> daemon::Task<void> {
        status = co_await [&]() -> daemon::Task<Status> {
          daemon::SpawnAnswer ready = co_await spawn->Ready();
          if (ready.reply.value != 0)
            co_return std::unexpected(ExplainLaunchFailure(
                ready.reply.step, ready.reply.operation, ready.reply.value, ready.reply.detail,
                daemon::GatherHostFacts(mode, setup.directories(), {})));
          // Not before: our predecessor had the pool until now.
          daemon::BeginRecords(setup.directories().state + "/daemon");
          auto opened = daemon::Registry::Open(setup.directories().state + "/daemon/registry.db");
          if (!opened) co_return std::unexpected(opened.error());
          registry = std::move(*opened);
          daemon =
              std::make_unique<daemon::Daemon>(io, mode, setup.directories(), *spawn, *registry);
          spawn->Serve([&](const SpawnReply& event) { daemon->lifecycle.InitExited(event); },
                       [&] { daemon->lifecycle.SpawnLost(); });
          CLOCHE_CO_TRY(co_await daemon->Load());
          acceptor.assign(asio::local::stream_protocol(), setup.TakeListener());
          co_return Status{};
        }();
        Announce(options, status);
        announced = true;
        if (!status) {
          daemon::SayGoodbye();
          io.stop();
          co_return;
        }
        if (options.ready_fd >= 0) setup.KeepLog();
        daemon->housekeeping.Start(std::chrono::seconds(options.leave_after), leave);
        co_await api::Listen(*daemon, acceptor);
      },
      [&](std::exception_ptr exception) {
        if (!exception) return;
        daemon::RecordException(exception, "serve");
        status = Fail(Code::kInternal, "serve requests: an exception ended it",
                      "cloche doctor shows it; please report it");
        io.stop();
      });
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](auto, int) { leave(); });
  while (!io.stopped()) try {
      io.run();
    } catch (...) {
      // A handler threw, and is over. Serve everything else that waits.
      daemon::RecordException(std::current_exception(), "handle");
    }
  if (daemon && daemon->lifecycle.spawn_lost())
    daemon::RecordEnd("cloche-spawn ended, and every sandbox with it: " +
                      sys::HowItEnded(spawn->process()));
  return status;
}

}  // namespace
}  // namespace cloche

int main(int argc, char** argv) {
  using namespace cloche;
  Options options;
  CLI::App app("Cloche's daemon. The CLI starts it when it is needed.");
  app.add_option("--socket", options.socket, "where to listen");
  app.add_option("--state", options.state, "where sandboxes and the registry live");
  app.add_option("--ready-fd", options.ready_fd, "told when requests are served, or why not");
  app.add_option("--leave-after", options.leave_after, "seconds without work before it leaves")
      ->envname("CLOCHE_LEAVE_AFTER");
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sys::RaiseFileLimit();
  if (geteuid() != 0) sys::ReserveWatches();
  // Processes that outlive cloche-spawn for a moment are reaped here.
  sys::AdoptOrphans();
  sys::ReapChildren();
  Status status;
  bool announced = false;
  try {
    status = Serve(options, announced);
  } catch (const std::exception& error) {
    status = Fail(Code::kInternal, fmt::format("run cloched: {}", error.what()));
    daemon::RecordEnd(status.error().message);
  }
  if (!status && !announced) Announce(options, status);
  return status ? 0 : 1;
}
