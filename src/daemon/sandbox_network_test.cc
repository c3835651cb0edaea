#include "daemon/sandbox_network.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace cloche::daemon {
namespace {

class SandboxNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sandbox-network.XXXXXX";
    directory_ = mkdtemp(name);
    network_ = std::make_unique<SandboxNetwork>(io_, directory_ + "/log");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  static Json Event(const char* state, const char* decision, uint64_t connection = 1) {
    return {{"event", "connection"}, {"connection", connection}, {"state", state},
            {"decision", decision},  {"name", "a.example"},      {"port", 443u},
            {"source_port", 5000u},  {"bytes_up", 7u},           {"surprise", "no"}};
  }
  std::string Log() const {
    std::string text;
    for (const std::string& line : network_->log.Lines()) text += line + "\n";
    return text;
  }
  asio::io_context io_;
  std::string directory_;
  std::unique_ptr<SandboxNetwork> network_;
  Json record_;
};

TEST_F(SandboxNetworkTest, AConnectionIsOneRecordWhenItEnds) {
  EXPECT_FALSE(network_->Take(Event("open", "allow"), record_));
  EXPECT_EQ(network_->Connections().size(), 1u);
  EXPECT_EQ(Log(), "");
  EXPECT_FALSE(network_->Take(Event("end", "allow"), record_));
  EXPECT_EQ(network_->Connections().size(), 0u);
  EXPECT_EQ(network_->log.Lines().size(), 1u);
  EXPECT_EQ(Log().find("surprise"), std::string::npos);
}

TEST_F(SandboxNetworkTest, TheProcessThatOpenedAConnectionIsRecorded) {
  std::vector<uint16_t> asked;
  network_->ask_owner = [&](uint16_t port) {
    asked.push_back(port);
    return true;
  };
  (void)network_->Take(Event("open", "allow"), record_);
  network_->NameOwner(5000, 12, "curl");
  (void)network_->Take(Event("end", "allow"), record_);
  EXPECT_NE(Log().find("\"process\":\"curl\""), std::string::npos);
  EXPECT_TRUE(network_->Take(Event("end", "deny", 2), record_));
  EXPECT_EQ(network_->log.Lines().size(), 1u) << "it waits for the name";
  network_->NameOwner(5000, 13, "wget");
  EXPECT_NE(Log().find("\"pid\":13"), std::string::npos);
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(SandboxNetworkTest, EveryRequestForAnOwnerIsAnswered) {
  std::vector<uint64_t> named;
  network_->on_named = [&](uint64_t connection) { named.push_back(connection); };
  (void)network_->Take(Event("open", "allow", 1), record_);
  EXPECT_EQ(named, (std::vector<uint64_t>{1})) << "nobody can be asked";
  network_->ask_owner = [](uint16_t) { return true; };
  (void)network_->Take(Event("open", "allow", 2), record_);
  (void)network_->Take(Event("end", "deny", 3), record_);
  EXPECT_EQ(named.size(), 1u);
  network_->NameOwner(5000, 12, "curl");
  network_->NameOwner(5000, 0, "");
  EXPECT_EQ(named, (std::vector<uint64_t>{1, 2, 3}));
  (void)network_->Take(Event("open", "allow", 4), record_);
  network_->Flush();
  EXPECT_EQ(named.back(), 4u);
  for (uint64_t i = 5; i < 300; ++i) (void)network_->Take(Event("end", "deny", i), record_);
  EXPECT_GT(named.size(), 100u) << "too many to ask";
  const size_t before = named.size();
  (void)network_->Take(Event("end", "allow", 2), record_);
  EXPECT_EQ(named.size(), before) << "it has ended";
}

TEST_F(SandboxNetworkTest, NoRecordIsLostWithoutAnAnswer) {
  network_->ask_owner = [](uint16_t) { return true; };
  for (uint64_t i = 0; i < 300; ++i) (void)network_->Take(Event("end", "deny", i), record_);
  network_->Flush();
  EXPECT_EQ(network_->log.Lines().size(), 300u);
}

TEST_F(SandboxNetworkTest, TheGuardsDeathEndsOpenConnections) {
  (void)network_->Take(Event("open", "allow"), record_);
  network_->CutAll("it died");
  EXPECT_NE(Log().find("it died"), std::string::npos);
  EXPECT_EQ(network_->Connections().size(), 0u);
}

TEST_F(SandboxNetworkTest, AcceptsAnyMessage) {
  for (const char* text :
       {"{}", R"({"state":5,"decision":[],"name":{},"port":"x","connection":-1})",
        R"({"state":"end","connection":"a","source_port":70000,"decision":"deny"})"})
    (void)network_->Take(Json::parse(text), record_);
  EXPECT_EQ(network_->log.Lines().size(), 3u);
}

TEST_F(SandboxNetworkTest, DestinationsReadAsTheyAreWritten) {
  EXPECT_EQ(DestinationOf({{"name", "a.example"}, {"port", 443}}), "a.example:443");
  EXPECT_EQ(DestinationOf({{"address", "2001:db8::1"}, {"port", 443}}), "[2001:db8::1]:443");
  EXPECT_EQ(DestinationOf({{"address", "10.0.0.1"}}), "10.0.0.1");
}

}  // namespace
}  // namespace cloche::daemon
