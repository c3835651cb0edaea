#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <filesystem>

#include "daemon/daemon.h"
#include "daemon/fake_spawn.h"

// Covers paths that only a failure of cloche-spawn at a certain moment reaches.
namespace cloche::daemon {
namespace {

class PartsTest : public testing::Test {
 protected:
  PartsTest() {
    std::filesystem::create_directories(state_ + "/daemon/logs");
    registry_ = std::move(*Registry::Open(state_ + "/daemon/registry.db"));
    daemon_.emplace(io_, Mode::kSystem, Directories{state_, state_}, spawn_, *registry_);
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ours_ = sys::Fd(pair[0]);
    theirs_ = sys::Fd(pair[1]);
    client_.peer.uid = getuid();
    client_.socket = ours_.get();
  }
  ~PartsTest() override {
    daemon_->lifecycle.Close();
    std::filesystem::remove_all(state_);
  }

  // The result of a task; nullopt while the fake withholds an answer.
  template <typename T>
  std::shared_ptr<std::optional<T>> Begin(Task<T> task) {
    auto result = std::make_shared<std::optional<T>>();
    asio::co_spawn(
        io_,
        [](Task<T> begun, std::shared_ptr<std::optional<T>> where) -> Task<void> {
          where->emplace(co_await std::move(begun));
        }(std::move(task), result),
        [](std::exception_ptr thrown) {
          if (thrown) std::rethrow_exception(thrown);
        });
    RunUntilIdle();
    return result;
  }
  template <typename T>
  T Run(Task<T> task) {
    auto result = Begin(std::move(task));
    return std::move(result->value());
  }
  // Runs until nothing happens any more.
  void RunUntilIdle() {
    io_.restart();
    while (io_.run_one_for(std::chrono::milliseconds(30)) > 0) {
    }
  }

  Task<Result<std::shared_ptr<Sandbox>>> Create(const std::string& name) {
    SandboxRequest request;
    request.name = name;
    request.cwd = request.home = "/";
    return daemon_->lifecycle.Create(std::move(request), true, client_);
  }
  std::shared_ptr<Sandbox> Made(const std::string& name) {
    auto made = Run(Create(name));
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
  }
  size_t Rows() { return registry_->All()->size(); }
  size_t SnapshotRows() { return registry_->AllSnapshots()->size(); }

  char directory_[32] = "/tmp/cloche-parts.XXXXXX";
  std::string state_ = mkdtemp(directory_);
  asio::io_context io_;
  FakeSpawn spawn_{io_};
  std::unique_ptr<Registry> registry_;
  std::optional<Daemon> daemon_;
  sys::Fd ours_, theirs_;
  Client client_;
};

TEST_F(PartsTest, ALaunchThatFailsLeavesNothing) {
  spawn_.FailNext(SpawnOp::kLaunch, ENOSPC);
  const auto made = Run(Create("box"));
  ASSERT_FALSE(made);
  EXPECT_TRUE(daemon_->sandboxes.all().empty());
  EXPECT_EQ(Rows(), 0u);
  EXPECT_TRUE(Run(Create("box"))) << "its name is free again";
}

TEST_F(PartsTest, ASandboxThatIsRemovedWhileItIsMadeIsGone) {
  spawn_.Hold(SpawnOp::kLaunch);
  const auto making = Begin(Create("box"));
  ASSERT_EQ(spawn_.held(), 1u);
  const auto found = daemon_->sandboxes.Find("box", client_);
  ASSERT_TRUE(found);
  const auto removing = Begin(daemon_->lifecycle.Discard(*found));
  spawn_.Release();
  RunUntilIdle();
  ASSERT_TRUE(making->has_value() && removing->has_value());
  EXPECT_TRUE(**removing);
  EXPECT_EQ(spawn_.requests.back().op, SpawnOp::kDiscard);
  EXPECT_TRUE(daemon_->sandboxes.all().empty());
  EXPECT_EQ(Rows(), 0u);
}

TEST_F(PartsTest, AForkThatFailsMidwayLeavesNoForks) {
  const auto parent = Made("box");
  spawn_.FailNext(SpawnOp::kFork, ENOSPC, 1);
  ForkRequest request;
  request.count = 3;
  request.names = {"one", "two", "three"};
  const auto forks = Run(daemon_->time_travel.Fork(parent, std::move(request), client_));
  ASSERT_FALSE(forks);
  EXPECT_EQ(daemon_->sandboxes.all().size(), 1u);
  EXPECT_EQ(Rows(), 1u);
  EXPECT_EQ(spawn_.Count(SpawnOp::kDiscard), 3u);
  EXPECT_EQ(SnapshotRows(), 0u);
  EXPECT_TRUE(daemon_->snapshots.all().empty());
}

TEST_F(PartsTest, AForkWhoseSaveFailsMakesNone) {
  const auto parent = Made("box");
  spawn_.FailNext(SpawnOp::kSnapshot, ENOSPC);
  const auto forks = Run(daemon_->time_travel.Fork(parent, ForkRequest(), client_));
  ASSERT_FALSE(forks);
  EXPECT_EQ(spawn_.Count(SpawnOp::kFork), 0u);
  EXPECT_EQ(daemon_->sandboxes.all().size(), 1u);
}

TEST_F(PartsTest, ASaveThatFailsLeavesNoRecord) {
  const auto sandbox = Made("box");
  ASSERT_TRUE(Run(daemon_->time_travel.Take(sandbox, SnapshotRequest(), SnapshotKind::kManual)));
  const std::string head = sandbox->history().head();
  spawn_.FailNext(SpawnOp::kSnapshot, ENOSPC);
  ASSERT_FALSE(Run(daemon_->time_travel.Take(sandbox, SnapshotRequest(), SnapshotKind::kManual)));
  EXPECT_EQ(sandbox->history().head(), head);
  EXPECT_EQ(SnapshotRows(), 1u);
}

TEST_F(PartsTest, AFailedRollbackLeavesTheSandboxWhereItWas) {
  const auto sandbox = Made("box");
  const auto saved =
      Run(daemon_->time_travel.Take(sandbox, SnapshotRequest(), SnapshotKind::kManual));
  ASSERT_TRUE(saved);
  const int64_t birth = sandbox->birth().at_ns();
  spawn_.FailNext(SpawnOp::kRollback, EIO);
  RollbackRequest request;
  request.snapshot = saved->id;
  ASSERT_FALSE(Run(daemon_->time_travel.Rollback(sandbox, std::move(request))));
  EXPECT_EQ(sandbox->state(), Sandbox::State::kStopped);
  EXPECT_EQ(sandbox->history().head(), saved->id);
  EXPECT_EQ(sandbox->birth().at_ns(), birth);
  EXPECT_EQ(SnapshotRows(), 1u) << "what it abandoned is not on record";
}

TEST_F(PartsTest, AnAnswerForAClientThatLeftIsNotAwaited) {
  const auto sandbox = Made("box");
  spawn_.Hold(SpawnOp::kDiff);
  const auto reading = Begin(daemon_->changes.StartDiff(sandbox, DiffRequest(), client_));
  ASSERT_TRUE(reading->has_value() && **reading);
  theirs_ = sys::Fd();
  RunUntilIdle();
  EXPECT_EQ(spawn_.Count(SpawnOp::kEndJob), 1u);
  const Status finished = Run(daemon_->changes.Finish(***reading));
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().message.find("nobody waits"), std::string::npos);
}

TEST_F(PartsTest, AReadingEndsWhenItsSandboxIsStopped) {
  const auto sandbox = Made("box");
  ASSERT_TRUE(Run(daemon_->lifecycle.Stop(sandbox, "for a test")));
  spawn_.Hold(SpawnOp::kDiff);
  const auto reading = Begin(daemon_->changes.StartDiff(sandbox, DiffRequest(), client_));
  ASSERT_TRUE(reading->has_value() && **reading);
  const auto removing = Begin(daemon_->lifecycle.Discard(sandbox));
  EXPECT_EQ(spawn_.Count(SpawnOp::kEndJob), 1u);
  ASSERT_TRUE(removing->has_value());
  EXPECT_TRUE(**removing);
  EXPECT_FALSE(Run(daemon_->changes.Finish(***reading)));
}

// Without the note, a file that reality deleted looks new and would come back.
TEST_F(PartsTest, APromotionWaitsForItsSandboxsBirthNote) {
  spawn_.Hold(SpawnOp::kBirthNote);
  SandboxRequest request;
  request.name = "box";
  request.cwd = "/srv/project";
  request.home = "/";
  const auto made = Run(daemon_->lifecycle.Create(std::move(request), true, client_));
  ASSERT_TRUE(made);
  ASSERT_EQ(spawn_.Count(SpawnOp::kBirthNote), 1u);
  const auto promoting = Begin(daemon_->promotions.Promote(*made, PromotionRequest(), client_));
  EXPECT_EQ(spawn_.Count(SpawnOp::kPromote), 0u);
  spawn_.Release();
  RunUntilIdle();
  EXPECT_EQ(spawn_.Count(SpawnOp::kPromote), 1u);
  EXPECT_TRUE(promoting->has_value());
}

TEST_F(PartsTest, APromotionReportsThatAnotherSandboxMayNotShowIt) {
  const auto sandbox = Made("box");
  const auto other = Made("other");
  PromotionRequest request;
  request.asked = Json::object();
  spawn_.promote_answer = "{\"id\":\"pr_1\",\"state\":\"done\",\"changes\":[\n]}\n";
  auto said = Run(daemon_->promotions.Promote(sandbox, request, client_));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(spawn_.Count(SpawnOp::kForget), 1u);
  EXPECT_FALSE(Json::parse(said->text).contains("not_shown"));
  spawn_.FailNext(SpawnOp::kForget, EIO);
  said = Run(daemon_->promotions.Promote(sandbox, request, client_));
  ASSERT_TRUE(said) << said.error().message;
  const Json answer = Json::parse(said->text);
  EXPECT_EQ(answer["id"], "pr_1");
  EXPECT_NE(answer.value("not_shown", "").find("EIO"), std::string::npos) << said->text;
}

TEST_F(PartsTest, BeforeAnUndoEveryStateOfItsOwnerIsFlattened) {
  const auto sandbox = Made("box");
  ASSERT_TRUE(Run(daemon_->time_travel.Take(sandbox, SnapshotRequest(), SnapshotKind::kManual)));
  Made("other");
  ASSERT_TRUE(Run(daemon_->promotions.FlattenBeforeUndo({"/srv/d"}, client_)));
  EXPECT_EQ(spawn_.Count(SpawnOp::kFlatten), 3u);
  spawn_.FailNext(SpawnOp::kFlatten, EBUSY);
  const Status failed = Run(daemon_->promotions.FlattenBeforeUndo({"/srv/d"}, client_));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("undo: "), std::string::npos) << failed.error().message;
  Client stranger = client_;
  ++stranger.peer.uid;
  EXPECT_TRUE(Run(daemon_->promotions.FlattenBeforeUndo({"/srv/d"}, stranger)));
  EXPECT_EQ(spawn_.Count(SpawnOp::kFlatten), 4u);
}

TEST_F(PartsTest, AnExitingDaemonRecordsWhatRan) {
  const auto sandbox = Made("box");
  EXPECT_EQ(registry_->All()->front().state, "running");
  daemon_->lifecycle.Close();
  EXPECT_EQ(registry_->All()->front().state, "stopped");
}

TEST_F(PartsTest, NothingIsHalfMadeWhenSpawnDies) {
  const auto kept = Made("kept");
  spawn_.Hold(SpawnOp::kLaunch);
  const auto making = Begin(Create("box"));
  spawn_.Die();
  daemon_->lifecycle.SpawnLost();
  RunUntilIdle();
  ASSERT_TRUE(making->has_value());
  EXPECT_FALSE(**making);
  EXPECT_EQ(kept->state(), Sandbox::State::kStopped);
  EXPECT_EQ(Rows(), 1u);
  EXPECT_FALSE(Run(Create("later")));
}

TEST_F(PartsTest, TheNextDaemonRemovesHalfMadeSandboxes) {
  spawn_.Hold(SpawnOp::kLaunch);
  const auto making = Begin(Create("box"));
  ASSERT_EQ(Rows(), 1u);
  asio::io_context io;
  FakeSpawn spawn(io);
  Daemon next(io, Mode::kSystem, Directories{state_, state_}, spawn, *registry_);
  asio::co_spawn(io, next.Load(), kDetached);
  io.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(spawn.Count(SpawnOp::kDiscard), 1u);
  EXPECT_EQ(Rows(), 0u);
  spawn_.Release();
}

}  // namespace
}  // namespace cloche::daemon
