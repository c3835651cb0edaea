#include "api/routes.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>
#include <tuple>

namespace cloche::api {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// openapi.yaml is read line by line: two spaces and a path, four and a method.
std::map<std::string, std::set<std::string>> Documented() {
  std::map<std::string, std::set<std::string>> paths;
  std::ifstream file(CLOCHE_SOURCE_DIR "/src/api/openapi.yaml");
  std::string path;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("components:")) break;
    if (line.starts_with("  /v1/")) {
      path.clear();
      bool inside = false;
      for (const char c : line.substr(6, line.find(':') - 6)) {
        if (c == '{') path += '*';
        inside = c == '{' || (inside && c != '}');
        if (!inside && c != '}') path += c;
      }
    }
    for (const char* method : {"get", "post", "put", "patch", "delete"})
      if (line.starts_with(std::string("    ") + method + ":")) {
        std::string upper;
        for (const char* c = method; *c != '\0'; ++c) upper += static_cast<char>(*c - 'a' + 'A');
        paths[path].insert(upper);
      }
  }
  return paths;
}

TEST(Routes, AreThoseOfTheDocumentation) {
  std::map<std::string, std::set<std::string>> served;
  for (const Route& route : Routes())
    served[std::string(route.path)].insert(std::string(route.method));
  EXPECT_EQ(served, Documented());
}

// A second row of a method and path would never be reached.
TEST(Routes, EachIsThereOnceWithAndOnceWithoutAnUpgrade) {
  std::set<std::tuple<std::string_view, std::string_view, bool>> seen;
  for (const Route& route : Routes())
    EXPECT_TRUE(seen.emplace(route.method, route.path, route.NeedsUpgrade()).second) << route.path;
}

TEST(Routes, OnlyThoseOfASandboxLookForOne) {
  for (const Route& route : Routes()) {
    if (route.subject == Subject::kNone) continue;
    EXPECT_THAT(std::string(route.path), StartsWith("sandboxes/*"));
  }
}

TEST(Routes, AnUnknownPathIsNotFoundAndAnotherMethodNamesThoseThereAre) {
  const auto unknown = FindRoute("GET", {"nothing"}, false);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, 404);
  EXPECT_EQ(unknown.error().error.code, Code::kNotFound);
  EXPECT_THAT(unknown.error().error.message, HasSubstr("/v1/nothing"));
  for (const std::vector<std::string>& path : std::vector<std::vector<std::string>>{
           {}, {""}, {"sandboxes", "a", "b", "c"}, {"sandboxes", "a", "stop", ""}})
    EXPECT_EQ(FindRoute("GET", path, false).error().status, 404);
  const auto method = FindRoute("PATCH", {"sandboxes"}, false);
  ASSERT_FALSE(method);
  EXPECT_EQ(method.error().status, 405);
  EXPECT_THAT(method.error().error.cure, HasSubstr("GET POST"));
}

TEST(Routes, AStreamNeedsAnUpgradeAndNothingElseTakesOne) {
  EXPECT_THAT(FindRoute("POST", {"run"}, false).error().error.cure, HasSubstr("Upgrade"));
  EXPECT_TRUE(FindRoute("POST", {"run"}, true));
  EXPECT_EQ(FindRoute("GET", {"sandboxes"}, true).error().status, 400);
  const std::vector<std::string> commands = {"sandboxes", "x", "commands"};
  EXPECT_FALSE((*FindRoute("POST", commands, false))->NeedsUpgrade());
  EXPECT_TRUE((*FindRoute("POST", commands, true))->NeedsUpgrade());
}

TEST(Routes, ABodyIsAsLargeAsItsResourceNeeds) {
  const auto most = [](const char* method, const std::vector<std::string>& path) {
    return (*FindRoute(method, path, false))->most_body;
  };
  EXPECT_EQ(most("GET", {"sandboxes"}), kMostEmptyBody);
  EXPECT_EQ(most("POST", {"sandboxes"}), size_t{8} << 20);
  EXPECT_EQ(most("POST", {"sandboxes", "x", "stop"}), size_t{256} << 10);
  EXPECT_EQ(most("POST", {"sandboxes", "x", "promote"}), size_t{16} << 20);
}

}  // namespace
}  // namespace cloche::api
