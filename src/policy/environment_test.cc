#include "policy/environment.h"

#include <gmock/gmock.h>

namespace cloche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FilteredEnvironment Filter(std::vector<std::string> env, std::vector<std::string> extra = {}) {
  return FilterEnvironment(env, extra);
}

TEST(Environment, PassesTheVariablesToolsNeed) {
  const std::vector<std::string> env = {
      "PATH=/usr/bin:/bin",        "HOME=/home/a",
      "LC_TIME=de_DE.UTF-8",       "TERM=xterm-256color",
      "CARGO_HOME=/home/a/.cargo", "VIRTUAL_ENV=/home/a/v",
      "GIT_AUTHOR_NAME=A B",       "npm_config_prefix=/home/a/.npm",
      "EMPTY_IS_FINE_FOR_CI=1"};
  const FilteredEnvironment result = FilterEnvironment(env, {});
  EXPECT_EQ(result.kept.size(), env.size() - 1);
  EXPECT_THAT(result.dropped_other, ElementsAre("EMPTY_IS_FINE_FOR_CI"));
  EXPECT_THAT(result.dropped_secrets, IsEmpty());
}

TEST(Environment, LoaderSocketsAndProxiesAreDropped) {
  const FilteredEnvironment result = Filter(
      {"LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/x",
       "DISPLAY=:0", "WAYLAND_DISPLAY=wayland-0", "XDG_RUNTIME_DIR=/run/user/1",
       "HTTPS_PROXY=http://p:1", "http_proxy=http://p:1", "BASH_ENV=/x", "NODE_OPTIONS=-r x"});
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_EQ(result.dropped_other.size(), 10u);
}

TEST(Environment, NamesOfSecretsAreRecognised) {
  for (const char* name :
       {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DB_PASSWORD", "PGPASSWORD",
        "MYSQL_PWD", "GITHUBTOKEN", "SENTRY_DSN", "SSH_AUTH_SOCK", "my_private_thing",
        "GOOGLE_APPLICATION_CREDENTIALS", "apikey", "ANTHROPIC_AUTH_TOKEN", "SMTP_PASS"})
    EXPECT_TRUE(NameLooksSecret(name)) << name;
  for (const char* name : {"PATH", "PWD", "MONKEY", "KEYBOARD", "GIT_AUTHOR_NAME",
                           "TOKENIZERS_PARALLELISM", "COMPASS", "PATTERN"})
    EXPECT_FALSE(NameLooksSecret(name)) << name;
}

TEST(Environment, ValuesThatLookLikeCredentialsAreDroppedThoughTheNameIsAllowed) {
  const std::string digits = "0123456789abcdef0123456789abcdef0123";
  const std::vector<std::string> values = {
      "ghp_" + digits,
      "x=sk-" + digits,
      "AKIA0123456789ABCDEF",
      "xoxb-" + digits,
      "glpat-" + digits,
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-_x",
      "https://user:pass@example.org/simple",
      "https://ghp_" + digits + "@host/x",
      "-----BEGIN OPENSSH PRIVATE KEY-----\nx"};
  for (const std::string& value : values) {
    const FilteredEnvironment result = Filter({"CFLAGS=" + value});
    EXPECT_THAT(result.kept, IsEmpty()) << value;
    EXPECT_THAT(result.dropped_secrets, ElementsAre("CFLAGS")) << value;
  }
}

TEST(Environment, PathsAndPlainUrlsAreNotCredentials) {
  for (const char* value :
       {"/opt/sk-learn-version-2-of-the-tree/bin:/usr/bin", "ssh://git@example.org/x.git",
        "http://example.org:8080/x@y:z", "-O2 -march=native", "sk-"})
    EXPECT_FALSE(ValueLooksSecret(value)) << value;
}

TEST(Environment, PassesVariablesAskedForByName) {
  const FilteredEnvironment result = Filter(
      {"GITHUB_TOKEN=ghp_0123456789abcdef0123", "MY_SETTING=1"}, {"GITHUB_TOKEN", "MY_SETTING"});
  EXPECT_EQ(result.kept.size(), 2u);
  EXPECT_THAT(result.dropped_secrets, IsEmpty());
}

TEST(Environment, MalformedEntriesNeverPass) {
  const FilteredEnvironment result =
      Filter({"PATH", "=x", "", "A B=1", std::string("TERM=a\0b", 8), "1X=2"}, {"A B", "PATH"});
  EXPECT_THAT(result.kept, IsEmpty());
}

TEST(Environment, TheFirstOfTwoEqualNamesCounts) {
  EXPECT_THAT(Filter({"TERM=a", "TERM=b"}).kept, ElementsAre("TERM=a"));
}

TEST(Environment, AJobserverIsNotPassedOn) {
  EXPECT_THAT(Filter({"MAKEFLAGS=-j8"}).kept, ElementsAre("MAKEFLAGS=-j8"));
  EXPECT_THAT(Filter({"MAKEFLAGS= -j8 --jobserver-auth=3,4"}).kept, IsEmpty());
}

TEST(Environment, CommandsGetTheVariablesOfTheirSandbox) {
  const std::vector<std::string> made = {"A=1", "EDITOR=ed", "TERM=made", "C=3"};
  const std::vector<std::string> by_name = {"A", "EDITOR", "C"};
  const std::vector<std::string> own = {"EDITOR=vi", "TERM=own", "C=4"}, own_names = {"C"};
  EXPECT_THAT(JoinEnvironments({own, own_names}, {made, by_name}),
              ElementsAre("TERM=own", "C=4", "A=1", "EDITOR=ed"));
}

}  // namespace
}  // namespace cloche
