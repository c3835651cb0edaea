#include "daemon/certificate_authority.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche::daemon {
namespace {

class AuthorityTest : public testing::Test {
 protected:
  AuthorityTest() {
    char place[] = "/tmp/cloche-authority.XXXXXX";
    directory_ = mkdtemp(place);
  }
  ~AuthorityTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(AuthorityTest, NoTwoAreAlike) {
  const auto one = MakeAuthority("sb_one"), other = MakeAuthority("sb_one");
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->sha256, other->sha256);
  EXPECT_NE(one->key, other->key);
}

TEST_F(AuthorityTest, StoredKeysAreReadAgainAndPrivate) {
  const std::string path = directory_ + "/sb_one.pem";
  const auto made = MakeAuthority("sb_one");
  ASSERT_TRUE(made);
  ASSERT_TRUE(KeepAuthority(*made, path));
  const auto read = ReadAuthority(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->certificate, made->certificate);
  EXPECT_EQ(read->key, made->key);
  EXPECT_EQ(read->sha256, made->sha256);
  EXPECT_EQ(read->ends, made->ends);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(AuthorityTest, ASymlinkInPlaceOfTheKeyIsNotFollowed) {
  const std::string path = directory_ + "/sb_one.pem", trap = directory_ + "/trap";
  std::filesystem::create_symlink(trap, path + ".new");
  ASSERT_TRUE(KeepAuthority(*MakeAuthority("sb_one"), path));
  EXPECT_FALSE(std::filesystem::exists(trap));
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST_F(AuthorityTest, AKeyOfSomebodyElseIsRefused) {
  const std::string path = directory_ + "/sb_one.pem";
  std::ofstream(path) << MakeAuthority("sb_one")->certificate << MakeAuthority("sb_one")->key;
  const auto read = ReadAuthority(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnavailable);
  EXPECT_EQ(ReadAuthority(directory_ + "/none.pem").error().code, Code::kNotFound);
}

TEST_F(AuthorityTest, ItExpires) {
  const auto made = MakeAuthority("sb_one");
  const int64_t now = time(nullptr);
  EXPECT_TRUE(LastsFrom(*made, now));
  EXPECT_FALSE(LastsFrom(*made, now + kAuthorityLife / 2 + 1));
  EXPECT_LE(made->ends, now + kAuthorityLife);
}

}  // namespace
}  // namespace cloche::daemon
