#include "daemon/sandbox.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "daemon/sandbox_json.h"

namespace cloche::daemon {
namespace {

using State = Sandbox::State;

class SandboxTest : public testing::Test {
 protected:
  std::shared_ptr<Sandbox> Made(Limits limits = {}, bool keep = true) {
    Beginning beginning;
    beginning.terms = Terms(SandboxRequest(), keep);
    beginning.terms.SetLimits({}, std::move(limits));
    return std::make_shared<Sandbox>(io_, "sb_test", 1000, std::move(beginning), "", events_);
  }
  std::shared_ptr<CommandRun> Command(uint32_t number, const std::string& service = "") {
    CommandRequest request;
    request.argv = {"true"};
    request.service = service;
    return std::make_shared<CommandRun>(io_, "sb_test", number, std::move(request), 0, LogFile());
  }
  static sys::SeccompNotification Call(int number) {
    sys::SeccompNotification call;
    call.number = number;
    return call;
  }

  asio::io_context io_;
  SandboxEvents events_;
};

TEST_F(SandboxTest, ATransitionOutsideTheTableIsRefused) {
  const auto sandbox = Made();
  ASSERT_TRUE(sandbox->Transition(State::kStopped, "made"));
  EXPECT_FALSE(sandbox->Transition(State::kRunning, "without starting"));
  EXPECT_EQ(sandbox->state(), State::kStopped);
  EXPECT_EQ(sandbox->reason(), "made");
  ASSERT_TRUE(sandbox->Transition(State::kGoing, "removed"));
  for (const State state : {State::kStarting, State::kRunning, State::kStopped, State::kEnded})
    EXPECT_FALSE(sandbox->Transition(state, "")) << static_cast<int>(state);
}

TEST_F(SandboxTest, AStateMayGetAnotherReason) {
  const auto sandbox = Made();
  ASSERT_TRUE(sandbox->Transition(State::kStopped, "forked"));
  ASSERT_TRUE(sandbox->Transition(State::kStopped, "rolled back"));
  EXPECT_EQ(sandbox->reason(), "rolled back");
}

TEST_F(SandboxTest, StoppingLastsAsLongAsItsScope) {
  const auto sandbox = Made();
  {
    const Sandbox::Stopping stopping(*sandbox);
    EXPECT_TRUE(sandbox->stopping());
  }
  EXPECT_FALSE(sandbox->stopping());
}

TEST_F(SandboxTest, ACommandMovesTheSandboxAwayFromItsSnapshot) {
  const auto sandbox = Made();
  sandbox->history().MoveTo("sn_one", true);
  sandbox->Adopt(Command(1'000'000'001, "postgres"));
  EXPECT_TRUE(sandbox->history().is_current());
  sandbox->Adopt(Command(1));
  EXPECT_FALSE(sandbox->history().is_current());
  EXPECT_EQ(sandbox->history().head(), "sn_one");
}

TEST_F(SandboxTest, ServicesAreNotCountedAsCommands) {
  const auto sandbox = Made();
  sandbox->Adopt(Command(1'000'000'001, "postgres"));
  sandbox->Adopt(Command(1));
  EXPECT_EQ(sandbox->commands().all().size(), 2u);
  EXPECT_EQ(sandbox->commands().started(), 1u);
  EXPECT_EQ(sandbox->commands().running(), 1u);
  EXPECT_TRUE(sandbox->commands().Find("1"));
  EXPECT_FALSE(sandbox->commands().Find("01"));
}

TEST_F(SandboxTest, DenialsOfOneCallShareARow) {
  Limits limits;
  limits.denials = 3;
  const auto sandbox = Made(std::move(limits));
  CommandList commands(0);
  DenialLog log("sb_test", sandbox->terms(), commands);
  EXPECT_FALSE(log.Record(Call(SYS_reboot)));
  EXPECT_FALSE(log.Record(Call(SYS_reboot)));
  const auto limit = log.Record(Call(SYS_swapon));
  ASSERT_TRUE(limit);
  EXPECT_STREQ(limit->name, "denials");
  const Json rows = log.ToJson();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["call"], "reboot");
  EXPECT_EQ(rows[0]["count"], 2);
}

TEST_F(SandboxTest, ACanaryIsAViolation) {
  const auto sandbox = Made();
  CommandList commands(0);
  DenialLog log("sb_test", sandbox->terms(), commands);
  EXPECT_FALSE(log.RecordCanary("aws", "base64", "example.com:443"));
  const Json rows = log.ToJson();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["class"], "violation");
  EXPECT_EQ(rows[0]["detail"], "base64 to example.com:443");
}

TEST_F(SandboxTest, OnlyAKeptSandboxIsReferredTo) {
  EXPECT_EQ(SeeAlso(Made()->terms(), "sb_test", "net", "log"), "; see: cloche net sb_test log");
  EXPECT_EQ(SeeAlso(Made({}, false)->terms(), "sb_test", "show"), "");
}

TEST_F(SandboxTest, PinningAProjectFileChangesItsDigest) {
  const auto sandbox = Made();
  EXPECT_EQ(SandboxJson(*sandbox)["project_file"], "");
  sandbox->terms().PinProjectFile("[promote]\n");
  const std::string digest = sandbox->terms().project_file_digest();
  EXPECT_TRUE(digest.starts_with("sha256:")) << digest;
  EXPECT_EQ(SandboxJson(*sandbox)["project_file"], digest);
}

}  // namespace
}  // namespace cloche::daemon
