#include "policy/stored_request.h"

#include <gmock/gmock.h>

namespace cloche {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kHash = "SHA256:" + std::string(43, 'A');

// Every field that a request of the API can set, and those the daemon adds, none at its default.
SandboxRequest Full() {
  SandboxRequest request;
  request.name = "full";
  request.cwd = "/home/a/p";
  request.home = "/home/a";
  request.project = "/home/a/p";
  request.base_commit = "0123abc";
  request.project_file = "[promote]\n";
  request.env = {"A=1", "EMPTY=", "UTF=ü\n"};
  request.env_names = {"A"};
  request.limits = {.cpu = 1.5,
                    .memory = 67108864,
                    .disk = 1073741824,
                    .inodes = 1000,
                    .pids = 10,
                    .files = 64,
                    .output = 1048576,
                    .wall = 60,
                    .idle = 0.1,
                    .life = 0,
                    .commands = 3,
                    .denials = 4};
  request.ro = {"/data"};
  request.rw = {"/srv/out"};
  request.hide = {"/opt/x"};
  request.drop_root = true;
  request.in_memory = true;
  request.agent = "claude";
  request.task = "t 1";
  request.labels = {{"team", "x"}, {"tier", ""}};
  request.on_violation = OnViolation::kKill;
  request.snapshot_every = 1.5;
  request.network.rules = {
      {.id = "r7", .allow = false, .text = "a.example:443", .expires = 1790000000.25, .secret = ""},
      {.id = "r8",
       .allow = true,
       .text = "b.example:443",
       .expires = std::nullopt,
       .secret = "token"}};
  request.network.limits = {{"connections", 5}, {"bytes_up", 1000}};
  request.network.proxy_env = true;
  request.network.secrets = {
      {.name = "token", .variable = "TOKEN", .id = "s1", .placeholder = "cloche_x"}};
  request.network.redacted = {{.id = "s1", .host = "b.example", .port = 8443}};
  request.canaries = {true, MakeDecoys(std::string(kDecoyRandom, 'x'))};
  request.signing.agent = "/run/agent";
  request.signing.keys = {{"work", "ssh", kHash, kHash, "a@b"}};
  request.signing.per_minute = 3;
  ServiceRequest service;
  service.name = "db";
  service.program = "/usr/bin/db";
  service.argv = {"db", "-x"};
  service.env = {"A=b"};
  service.cwd = "/srv";
  service.uid = 5;
  service.gid = 6;
  service.groups = {7};
  service.ports = {5432};
  service.sockets = {"/run/db/socket"};
  service.directories = {{.path = "/run/db", .mode = 0700, .uid = 5, .gid = 6}};
  service.data = {"/srv/db"};
  service.since_ms = 12345;
  request.services = {service};
  return request;
}

void ExpectComesBack(const SandboxRequest& request) {
  const json stored = StoreRequest(request);
  const auto read = ReadStoredRequest(json::parse(stored.dump()));
  ASSERT_TRUE(read) << read.error().message << "\n" << stored.dump(1);
  EXPECT_EQ(*read, request) << stored.dump(1);
  EXPECT_TRUE(CheckStorable(request));
}

TEST(StoredRequest, EveryFieldComesBack) { ExpectComesBack(Full()); }

TEST(StoredRequest, TheSmallestComesBack) { ExpectComesBack({}); }

TEST(StoredRequest, MutuallyExclusiveFieldsComeBack) {
  SandboxRequest declared;
  declared.declared = DeclaredView{{"/a", "/b"}, "/o", 1048576};
  ExpectComesBack(declared);
  declared.declared = DeclaredView{};
  ExpectComesBack(declared);
  SandboxRequest base;
  base.base_directory = "/srv/root";
  base.snapshot_commands = true;
  ExpectComesBack(base);
  SandboxRequest bare = Full();
  bare.canaries.decoys.clear();
  bare.services[0].cwd.clear();  // one that does not say where it runs
  bare.services[0].directories.clear();
  bare.signing.keys.clear();
  bare.signing.agent.clear();
  ExpectComesBack(bare);
}

TEST(StoredRequest, EveryKeyMatters) {
  const SandboxRequest full = Full();
  const json stored = StoreRequest(full);
  EXPECT_EQ(stored.size(), 23u);  // all but base and declared, and one of auto_snapshot's two
  for (const auto& [key, value] : stored.items()) {
    json less = stored;
    less.erase(key);
    const auto read = ReadStoredRequest(less);
    EXPECT_TRUE(!read || *read != full) << key;
  }
}

// Older versions wrote this for `cloche run --keep`.
TEST(StoredRequest, FieldsOfTheFirstCommandInAnOlderRecordAreLeftOut) {
  json stored = StoreRequest(Full());
  stored.update({{"argv", {"true"}},
                 {"cwd_optional", true},
                 {"pty", {{"rows", 24}, {"columns", 80}}},
                 {"stdin", true},
                 {"background", false},
                 {"fresh", false},
                 {"wall", 1.0},
                 {"output", 4096},
                 {"timing", true},
                 {"keep", true}});
  const auto read = ReadStoredRequest(stored);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Full());
}

// Everything that POST /v1/run takes beside the sandbox's own fields.
TEST(StoredRequest, NothingOfACommandIsStored) {
  const json body = json::parse(R"({"argv": ["true"], "cwd": "/x", "cwd_optional": true,
    "env": ["A=1"], "env_names": ["A"], "pty": {"rows": 1, "columns": 2}, "stdin": true,
    "wall": 1, "output": 4096, "timing": true, "agent": "a", "keep": true})");
  const auto run = ParseRunRequest(body);
  ASSERT_TRUE(run) << run.error().message;
  ExpectComesBack(run->sandbox);
}

TEST(StoredRequest, AFieldOfALaterVersionIsAnErrorThatNamesIt) {
  json stored = StoreRequest(Full());
  stored["forbid_everything"] = true;
  const auto read = ReadStoredRequest(stored);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("forbid_everything"));
  EXPECT_FALSE(ReadStoredRequest(json::array()));
}

TEST(StoredRequest, RefusesARequestThatCouldNotBeReadAgain) {
  SandboxRequest request = Full();
  while (request.services.size() <= 16) {
    request.services.push_back(request.services[0]);
    request.services.back().name += std::to_string(request.services.size());
  }
  const Status kept = CheckStorable(request);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace cloche
