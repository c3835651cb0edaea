#include "policy/request.h"

#include <gmock/gmock.h>

#include <limits>

namespace cloche {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Parse(const char* text) { return json::parse(text); }

TEST(Request, EveryFieldOfTheApiIsRead) {
  const Result<SandboxRequest> request = ParseSandboxRequest(Parse(R"({
    "name": "try-1", "base": "dir:/srv/root//fs/", "cwd": "/home/a/p", "home": "/home/a",
    "project": "/home/a/p", "env": ["A=1", "B="], "ro": ["/data"], "rw": ["/srv/out/./x"],
    "hide": ["/opt/x"], "drop_root": true, "agent": "claude", "task": "t 1",
    "labels": {"team": "x"}, "on_violation": "kill",
    "limits": {"cpu": 1.5, "memory": 67108864, "disk": 1073741824, "inodes": 1000, "pids": 10,
               "files": 64, "output": 1048576, "wall": 60, "idle": 0.5, "life": 0,
               "commands": 3, "denials": 0}})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->base_directory, "/srv/root/fs");
  EXPECT_THAT(request->rw, ElementsAre("/srv/out/x"));
  EXPECT_EQ(request->on_violation, OnViolation::kKill);
  EXPECT_EQ(request->limits.cpu, 1.5);
  EXPECT_EQ(request->limits.life, 0);
  EXPECT_EQ(request->labels.at("team"), "x");
  EXPECT_EQ(ParseLimits(LimitsToJson(request->limits)), request->limits);
}

TEST(Request, DefaultsSurviveTheWayThroughJson) {
  const HostFacts facts{.memory_bytes = uint64_t{8} << 30};
  const Limits limits = WithDefaults({}, facts);
  EXPECT_EQ(limits.memory, uint64_t{4} << 30);
  EXPECT_EQ(ParseLimits(LimitsToJson(limits)), limits);
}

TEST(Request, RootlessLeavesDescriptorsOnTheirWayToProgramsOutside) {
  HostFacts facts{.mode = Mode::kRootless, .usual_files = 1024, .most_files = 524'288};
  EXPECT_EQ(WithDefaults({}, facts).files, 768u);
  EXPECT_EQ(WithDefaults({.files = 100'000}, facts).files, 100'000u);
  facts.usual_files = facts.most_files = 20'000;
  EXPECT_EQ(WithDefaults({}, facts).files, 15'000u);
  EXPECT_EQ(WithDefaults({.files = 65'536}, facts).files, 15'000u);
  facts.mode = Mode::kSystem;
  EXPECT_EQ(WithDefaults({}, facts).files, 65'536u);
}

TEST(Request, DeclaredIsRead) {
  const Result<SandboxRequest> request = ParseSandboxRequest(
      Parse(R"({"declared": {"inputs": ["/a", "/b"], "output": "/o", "tmp": 1048576}})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->declared->inputs, ElementsAre("/a", "/b"));
  EXPECT_EQ(request->declared->tmp, 1048576u);
}

struct BadInput {
  const char* body;
  const char* field;  // named by the message
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << input.body; }

class BadSandbox : public testing::TestWithParam<BadInput> {};

TEST_P(BadSandbox, IsRefusedWithTheFieldAndACure) {
  const Result<SandboxRequest> request = ParseSandboxRequest(Parse(GetParam().body));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::kInvalid);
  EXPECT_THAT(request.error().message, HasSubstr(GetParam().field));
  EXPECT_NE(request.error().cure, "");
}

INSTANTIATE_TEST_SUITE_P(
    Request, BadSandbox,
    testing::Values(
        BadInput{"[]", "array"}, BadInput{"null", "null"}, BadInput{R"({"nmae": "x"})", "nmae"},
        BadInput{R"({"name": ""})", "name"}, BadInput{R"({"name": "a/b"})", "name"},
        BadInput{R"({"name": "a\nb"})", "a\\"}, BadInput{R"({"name": ".."})", "name"},
        BadInput{R"({"name": "Upper"})", "name"}, BadInput{R"({"name": "1x"})", "name"},
        BadInput{R"({"name": 5})", "number"},
        BadInput{R"({"name": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})",
                 "name"},
        BadInput{R"({"base": "image:x"})", "base"}, BadInput{R"({"base": "dir:rel"})", "base"},
        BadInput{R"({"base": "dir:/"})", "base"}, BadInput{R"({"base": "dir:"})", "base"},
        BadInput{R"({"cwd": "x"})", "cwd"}, BadInput{R"({"cwd": ""})", "cwd"},
        BadInput{R"({"cwd": "/a/../b"})", ".."}, BadInput{R"({"home": "/a\u0000b"})", "home"},
        BadInput{R"({"ro": "/a"})", "ro"}, BadInput{R"({"ro": ["a"]})", "ro[0]"},
        BadInput{R"({"rw": ["/a", "/b/../c"]})", "rw[1]"}, BadInput{R"({"hide": [1]})", "hide[0]"},
        BadInput{R"({"env": ["X"]})", "env[0]"}, BadInput{R"({"env": ["A=1", "=x"]})", "env[1]"},
        BadInput{R"({"env": {"A": "1"}})", "env"}, BadInput{R"({"drop_root": 1})", "drop_root"},
        BadInput{R"({"agent": ""})", "agent"}, BadInput{R"({"task": "a\u001bb"})", "task"},
        BadInput{R"({"labels": {"a b": "x"}})", "labels"},
        BadInput{R"({"labels": {"a": 1}})", "labels.a"},
        BadInput{R"({"on_violation": "ignore"})", "on_violation"},
        BadInput{R"({"declared": {"input": []}})", "declared.input"},
        BadInput{R"({"declared": {"tmp": 1}})", "declared.tmp"},
        BadInput{R"({"declared": {}, "rw": ["/a"]})", "declared"},
        BadInput{R"({"declared": {}, "base": "dir:/a"})", "declared"},
        BadInput{R"({"limits": []})", "limits"},
        BadInput{R"({"limits": {"ram": 1}})", "limits.ram"},
        BadInput{R"({"limits": {"memory": 0}})", "limits.memory"},
        BadInput{R"({"limits": {"memory": -1}})", "negative"},
        BadInput{R"({"limits": {"memory": 1.5}})", "whole"},
        BadInput{R"({"limits": {"memory": "64M"}})", "limits.memory"},
        BadInput{R"({"limits": {"memory": 4194303}})", "limits.memory"},
        BadInput{R"({"limits": {"memory": 18446744073709551615}})", "limits.memory"},
        BadInput{R"({"limits": {"memory": 99999999999999999999}})", "limits.memory"},
        BadInput{R"({"limits": {"pids": 1}})", "limits.pids"},
        BadInput{R"({"limits": {"cpu": 1025}})", "limits.cpu"},
        BadInput{R"({"limits": {"cpu": 0.001}})", "limits.cpu"},
        BadInput{R"({"limits": {"cpu": -0.5}})", "limits.cpu"},
        BadInput{R"({"limits": {"cpu": 1e300}})", "limits.cpu"},
        BadInput{R"({"limits": {"wall": 99999999}})", "limits.wall"},
        BadInput{R"({"limits": {"wall": -1}})", "limits.wall"},
        BadInput{R"({"limits": {"idle": true}})", "limits.idle"},
        BadInput{R"({"limits": {"disk": 0}})", "limits.disk"},
        BadInput{R"({"limits": {"commands": -3}})", "limits.commands"}));

TEST(Request, NotANumberIsRefused) {
  const json body = {{"limits", {{"cpu", std::numeric_limits<double>::quiet_NaN()}}}};
  const Result<SandboxRequest> request = ParseSandboxRequest(body);
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message, HasSubstr("limits.cpu"));
}

TEST(Request, AMessageNeverRepeatsControlCharacters) {
  const Result<SandboxRequest> request = ParseSandboxRequest(Parse(R"({"\u001b[2J": 1})"));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().message.find('\x1b'), std::string::npos);
}

class BadCommand : public testing::TestWithParam<BadInput> {};

TEST_P(BadCommand, IsRefusedWithTheFieldAndACure) {
  const Result<CommandRequest> request = ParseCommandRequest(Parse(GetParam().body));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::kInvalid);
  EXPECT_THAT(request.error().message, HasSubstr(GetParam().field));
  EXPECT_NE(request.error().cure, "");
}

INSTANTIATE_TEST_SUITE_P(
    Request, BadCommand,
    testing::Values(BadInput{"{}", "argv"}, BadInput{R"({"argv": []})", "argv"},
                    BadInput{R"({"argv": [""]})", "argv"}, BadInput{R"({"argv": "ls"})", "argv"},
                    BadInput{R"({"argv": ["a", null]})", "argv[1]"},
                    BadInput{R"({"argv": ["a\u0000b"]})", "argv[0]"},
                    BadInput{R"({"argv": ["a"], "keep": true})", "keep"},
                    BadInput{R"({"argv": ["a"], "cwd": "."})", "cwd"},
                    BadInput{R"({"argv": ["a"], "pty": {"rows": 0}})", "pty.rows"},
                    BadInput{R"({"argv": ["a"], "pty": {"cols": 80}})", "pty.cols"},
                    BadInput{R"({"argv": ["a"], "pty": true})", "pty"},
                    BadInput{R"({"argv": ["a"], "wall": -1})", "wall"},
                    BadInput{R"({"argv": ["a"], "output": 1})", "output"},
                    BadInput{R"({"argv": ["a"], "background": true, "stdin": true})", "background"},
                    BadInput{R"({"argv": ["a"], "background": true, "fresh": true})", "fresh"}));

TEST(Request, RunTakesTheFieldsOfBothAndKeep) {
  const Result<RunRequest> request = ParseRunRequest(Parse(
      R"({"argv": ["ls"], "cwd": "/a", "env": ["X=1"], "agent": "b", "keep": true,
          "limits": {"wall": 5}, "wall": 2, "pty": {}, "stdin": true})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request->keep);
  EXPECT_EQ(request->sandbox.cwd, "/a");
  EXPECT_EQ(request->command.cwd, "/a");
  EXPECT_EQ(request->command.wall, 2);
  EXPECT_EQ(request->sandbox.limits.wall, 5);
  EXPECT_EQ(request->command.pty->columns, 80);
  EXPECT_FALSE(ParseRunRequest(Parse(R"({"argv": ["ls"], "kepe": true})")));
}

TEST(Request, TooManyArgumentBytesAreRefused) {
  const json body = {{"argv", std::vector<std::string>(40, std::string(100'000, 'x'))}};
  ASSERT_FALSE(ParseCommandRequest(body));
}

}  // namespace
}  // namespace cloche
