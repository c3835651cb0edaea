#include "daemon/registry.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>

namespace cloche::daemon {
namespace {

class RegistryTest : public testing::Test {
 protected:
  RegistryTest() : path_(std::string(mkdtemp(directory_)) + "/registry.db") {}
  ~RegistryTest() override { std::filesystem::remove_all(directory_); }

  void Execute(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  char directory_[32] = "/tmp/cloche-registry.XXXXXX";
  std::string path_;
};

const Registry::Row kRow{"sb_a", "first", 1000, "stopped", R"({"request":{}})"};

TEST_F(RegistryTest, ARegistryOfSchema1OpensWithItsRows) {
  Execute(
      "CREATE TABLE sandboxes (id TEXT PRIMARY KEY, name TEXT NOT NULL, owner INTEGER NOT NULL, "
      "state TEXT NOT NULL, record TEXT NOT NULL);"
      "INSERT INTO sandboxes VALUES ('sb_old', 'old', 1000, 'stopped', '{}');"
      "PRAGMA user_version=1");
  for (int time = 0; time < 2; ++time) {  // and again, at schema 2
    auto registry = Registry::Open(path_);
    ASSERT_TRUE(registry) << registry.error().message;
    const auto rows = (*registry)->All();
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ((*rows)[0].id, "sb_old");
    EXPECT_EQ((*rows)[0].owner, 1000u);
    ASSERT_TRUE((*registry)->AllSnapshots());
    EXPECT_EQ((*registry)->AllSnapshots()->size(), static_cast<size_t>(time));
    EXPECT_TRUE((*registry)->PutSnapshot({"sn_a", "sb_old", 1000, "{}"}));
  }
}

TEST_F(RegistryTest, ARegistryOfALaterSchemaIsRefusedUntouched) {
  Execute("CREATE TABLE sandboxes (other TEXT); PRAGMA user_version=3");
  const auto registry = Registry::Open(path_);
  ASSERT_FALSE(registry);
  EXPECT_EQ(registry.error().code, Code::kUnavailable);
}

TEST_F(RegistryTest, SnapshotsAreReadInOrderAndCanChange) {
  auto registry = std::move(*Registry::Open(path_));
  ASSERT_TRUE(registry->PutSnapshot({"sn_b", "sb_a", 4294967295u, "1"}));
  ASSERT_TRUE(registry->PutSnapshot({"sn_a", "sb_a", 1, "2"}));
  ASSERT_TRUE(registry->PutSnapshot({"sn_b", "sb_a", 4294967295u, "3"}));
  auto rows = registry->AllSnapshots();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].id, "sn_b");
  EXPECT_EQ((*rows)[0].record, "3");
  EXPECT_EQ((*rows)[0].owner, 4294967295u);
  ASSERT_TRUE(registry->RemoveSnapshot("sn_b"));
  EXPECT_TRUE(registry->RemoveSnapshot("sn_none"));
  EXPECT_EQ(registry->AllSnapshots()->size(), 1u);
}

TEST_F(RegistryTest, SeveralRowsAreWrittenTogetherOrNotAtAll) {
  auto registry = std::move(*Registry::Open(path_));
  Execute(
      "CREATE TRIGGER no BEFORE INSERT ON snapshots WHEN NEW.id = 'sn_bad' BEGIN SELECT "
      "RAISE(ABORT, 'no'); END");
  EXPECT_FALSE(registry->Put({kRow}, {{"sn_good", "sb_a", 1, ""}, {"sn_bad", "sb_a", 1, ""}}));
  EXPECT_TRUE(registry->All()->empty());
  EXPECT_TRUE(registry->AllSnapshots()->empty());
  EXPECT_TRUE(registry->Put({kRow}, {{"sn_good", "sb_a", 1, ""}}));
  EXPECT_EQ(registry->All()->size(), 1u);
  EXPECT_EQ(registry->AllSnapshots()->size(), 1u);
}

}  // namespace
}  // namespace cloche::daemon
