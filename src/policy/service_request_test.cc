#include "policy/service_request.h"

#include <gtest/gtest.h>

#include "policy/request.h"

namespace cloche {
namespace {

using nlohmann::json;

json Good() {
  const json service = {
      {"name", "db"},
      {"program", "/usr/bin/db"},
      {"argv", {"db", "-D", "/data"}},
      {"env", json::array({"LANG=C"})},
      {"cwd", "/data"},
      {"uid", 101},
      {"gid", 104},
      {"groups", {104, 103}},
      {"ports", json::array({5432})},
      {"sockets", json::array({"/run/db/s"})},
      {"directories",
       json::array({{{"path", "/run/db"}, {"mode", 0775}, {"uid", 101}, {"gid", 104}}})},
      {"data", json::array({"/data"})},
      {"since_ms", 1700000000000}};
  return json::parse(service.dump());  // numbers as a request has them
}

Status Refused(const char* key, json value) {
  json service = Good();
  service[key] = std::move(value);
  auto parsed = ParseServices({{"services", json::array({service})}});
  return parsed ? Status() : std::unexpected(parsed.error());
}

TEST(ServiceRequest, ComesBackAsItWent) {
  const auto parsed = ParseServices({{"services", json::array({Good()})}});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(ServiceToJson(parsed->at(0)), Good());
}

TEST(ServiceRequest, IsPartOfASandboxOnRecord) {
  const auto request = ParseSandboxRequest({{"services", json::array({Good()})}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->services.at(0).name, "db");
  EXPECT_TRUE(TwinOf(*request).services.empty());
}

TEST(ServiceRequest, RefusesInvalidRequests) {
  EXPECT_FALSE(Refused("name", ""));
  EXPECT_FALSE(Refused("name", "a/b"));
  EXPECT_FALSE(Refused("name", "a\x1b[31m"));
  EXPECT_FALSE(Refused("program", "relative"));
  EXPECT_FALSE(Refused("argv", json::array()));
  EXPECT_FALSE(Refused("env", json::array({"novalue"})));
  EXPECT_FALSE(Refused("ports", json::array({0})));
  EXPECT_FALSE(Refused("ports", json::array({65'536})));
  EXPECT_FALSE(Refused("ports", json::array({-1})));
  EXPECT_FALSE(Refused("ports", "5432"));
  EXPECT_FALSE(Refused("groups", json::array({4294967295})));
  EXPECT_FALSE(Refused("uid", 4294967295));
  EXPECT_FALSE(Refused("directories", json::array({{{"path", "/etc"}}})));
  EXPECT_FALSE(Refused("directories", json::array({{{"path", "/run/../etc"}}})));
  EXPECT_FALSE(Refused("unknown", 1));
}

TEST(ServiceRequest, NamesAreUnique) {
  EXPECT_FALSE(ParseServices({{"services", json::array({Good(), Good()})}}));
}

TEST(ServiceRequest, ThereIsAMost) {
  json many = json::array();
  for (int i = 0; i < 17; ++i) {
    many.push_back(Good());
    many.back()["name"] = "db" + std::to_string(i);
  }
  EXPECT_FALSE(ParseServices({{"services", many}}));
  many.erase(16);
  EXPECT_TRUE(ParseServices({{"services", many}}));
}

}  // namespace
}  // namespace cloche
