#include "policy/service_request.h"

#include <gtest/gtest.h>

#include "policy/request.h"

namespace cloche {
namespace {

using nlohmann::json;

json Good() {
  return {{"name", "db"},
          {"program", "/usr/bin/db"},
          {"argv", {"db", "-D", "/data"}},
          {"env", {"LANG=C"}},
          {"cwd", "/data"},
          {"uid", 101},
          {"gid", 104},
          {"groups", {104, 103}},
          {"ports", {5432}},
          {"sockets", {"/run/db/s"}},
          {"directories", {{{"path", "/run/db"}, {"mode", 0775}, {"uid", 101}, {"gid", 104}}}},
          {"data", {"/data"}}};
}

Status Refused(const char* key, json value) {
  json service = Good();
  service[key] = std::move(value);
  auto parsed = ParseServices({{"services", {service}}});
  return parsed ? Status() : std::unexpected(parsed.error());
}

TEST(ServiceRequest, ComesBackAsItWent) {
  const auto parsed = ParseServices({{"services", {Good()}}});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(ServiceToJson(parsed->at(0)), Good());
}

TEST(ServiceRequest, IsPartOfASandboxOnRecord) {
  const auto request = ParseSandboxRequest({{"services", {Good()}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->services.at(0).name, "db");
  EXPECT_TRUE(TwinOf(*request).services.empty());
}

TEST(ServiceRequest, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(Refused("name", ""));
  EXPECT_FALSE(Refused("name", "a/b"));
  EXPECT_FALSE(Refused("name", "a\x1b[31m"));
  EXPECT_FALSE(Refused("program", "relative"));
  EXPECT_FALSE(Refused("argv", json::array()));
  EXPECT_FALSE(Refused("env", {"novalue"}));
  EXPECT_FALSE(Refused("ports", {0}));
  EXPECT_FALSE(Refused("ports", {65'536}));
  EXPECT_FALSE(Refused("ports", {-1}));
  EXPECT_FALSE(Refused("ports", "5432"));
  EXPECT_FALSE(Refused("groups", {4294967295}));
  EXPECT_FALSE(Refused("uid", 4294967295));
  EXPECT_FALSE(Refused("directories", {{{"path", "/etc"}}}));
  EXPECT_FALSE(Refused("directories", {{{"path", "/run/../etc"}}}));
  EXPECT_FALSE(Refused("unknown", 1));
}

TEST(ServiceRequest, NamesAreUnique) {
  EXPECT_FALSE(ParseServices({{"services", {Good(), Good()}}}));
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
