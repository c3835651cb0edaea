#include "daemon/vault.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "egress/secret_limits.h"

namespace cloche::daemon {
namespace {

using nlohmann::json;

constexpr const char* kValue = "ghp_the-real-value-0123456789";

class VaultTest : public testing::Test {
 protected:
  VaultTest() {
    char path[] = "/tmp/cloche-vault-XXXXXX";
    directory = mkdtemp(path);
  }
  ~VaultTest() override { std::filesystem::remove_all(directory); }

  static SecretInfo Info(const char* name, uint32_t owner = 1000) {
    SecretInfo info;
    info.owner = owner;
    info.name = name;
    info.hosts = {"api.example.com"};
    info.where = {"header"};
    return info;
  }
  std::string Path(const char* name) const { return directory + "/" + name; }
  std::string Read(const char* name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const char* name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  // Refused, and the file is unchanged.
  void ExpectRefused(const char* why) const {
    const std::string before = Read("vault.json"), key = Read("vault.key");
    Vault vault(directory);
    const Status opened = vault.Open();
    ASSERT_FALSE(opened) << why;
    EXPECT_FALSE(opened.error().cure.empty());
    EXPECT_FALSE(vault.Find(1000, "github"));
    EXPECT_FALSE(vault.Set(Info("another"), kValue));
    EXPECT_FALSE(vault.Remove(1000, "github"));
    vault.KeepCounts();
    EXPECT_EQ(Read("vault.json"), before);
    EXPECT_EQ(Read("vault.key"), key);
  }
  void SetTwo() const {
    Vault vault(directory);
    ASSERT_TRUE(vault.Set(Info("github"), kValue));
    ASSERT_TRUE(vault.Set(Info("npm"), "npm_another-real-value"));
  }

  std::string directory;
};

TEST_F(VaultTest, SecretsOutliveTheDaemonAndAreEncryptedOnDisk) {
  SetTwo();
  Vault vault(directory);
  const auto found = vault.Find(1000, "github");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->hosts, std::vector<std::string>{"api.example.com"});
  EXPECT_EQ(*vault.Value(*found), kValue);
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    EXPECT_EQ(Read(each.path().filename().c_str()).find("real-value"), std::string::npos) << each;
    EXPECT_EQ(each.status().permissions() & std::filesystem::perms::mask,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  EXPECT_EQ(ToJson(*found).dump().find("real-value"), std::string::npos);
}

TEST_F(VaultTest, UsersDoNotSeeEachOthersSecretsOfTheSameName) {
  Vault vault(directory);
  ASSERT_TRUE(vault.Set(Info("github", 1000), kValue));
  EXPECT_FALSE(vault.Find(1001, "github"));
  EXPECT_TRUE(vault.List(1001).empty());
  EXPECT_FALSE(vault.Remove(1001, "github"));
  ASSERT_TRUE(vault.Set(Info("github", 1001), "of somebody else"));
  EXPECT_EQ(*vault.Value(*vault.Find(1000, "github")), kValue);
  EXPECT_EQ(*vault.Value(*vault.Find(1001, "github")), "of somebody else");
}

TEST_F(VaultTest, RotationKeepsEverythingExceptTheValue) {
  Vault vault(directory);
  const auto before = vault.Set(Info("github"), kValue);
  const auto after = vault.Set(*vault.Find(1000, "github"), "a fresh value");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(after->hosts, before->hosts);
  EXPECT_NE(after->rotated, 0);
  EXPECT_EQ(*vault.Value(*after), "a fresh value");
}

TEST_F(VaultTest, ASecretRemovedAndSetAgainIsAnotherOne) {
  Vault vault(directory);
  const auto first = vault.Set(Info("github"), kValue);
  ASSERT_TRUE(vault.Remove(1000, "github"));
  EXPECT_FALSE(vault.Find(1000, "github"));
  const auto second = vault.Set(Info("github"), kValue);
  EXPECT_NE(first->id, second->id);
}

TEST_F(VaultTest, EveryChangedByteIsRefused) {
  SetTwo();
  const std::string whole = Read("vault.json");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    // White space between tokens does not count.
    if (json::accept(changed) && json::parse(changed) == json::parse(whole)) continue;
    Write("vault.json", changed);
    Vault vault(directory);
    EXPECT_FALSE(vault.Open()) << at;
  }
  Write("vault.json", whole);
  Vault vault(directory);
  EXPECT_TRUE(vault.Open());
}

TEST_F(VaultTest, SwappedRecordsAndValuesAreRefused) {
  SetTwo();
  const json whole = json::parse(Read("vault.json"));
  json swapped = whole;
  std::swap(swapped["records"][0], swapped["records"][1]);
  Write("vault.json", swapped.dump());
  ExpectRefused("records");
  swapped = whole;
  std::swap(swapped["records"][0]["sealed"], swapped["records"][1]["sealed"]);
  std::swap(swapped["records"][0]["nonce"], swapped["records"][1]["nonce"]);
  Write("vault.json", swapped.dump());
  ExpectRefused("values");
  swapped = whole;
  swapped["records"][0]["known"]["hosts"][0] = "evil.example.com";
  Write("vault.json", swapped.dump());
  ExpectRefused("hosts");
  swapped = whole;
  swapped["records"][0]["known"]["owner"] = 1001;
  Write("vault.json", swapped.dump());
  ExpectRefused("owner");
  swapped = whole;
  swapped["records"].erase(1);
  Write("vault.json", swapped.dump());
  ExpectRefused("one is missing");
  Write("vault.json", whole.dump().substr(0, 200));
  ExpectRefused("half");
  Write("vault.json", "");
  ExpectRefused("nothing");
}

TEST_F(VaultTest, NoNewKeyIsMadeForExistingValues) {
  SetTwo();
  const std::string key = Read("vault.key");
  std::filesystem::remove(Path("vault.key"));
  {
    Vault vault(directory);
    EXPECT_FALSE(vault.Open());
    EXPECT_FALSE(vault.Set(Info("another"), kValue));
  }
  EXPECT_FALSE(std::filesystem::exists(Path("vault.key")));
  Write("vault.key", key);
  std::filesystem::permissions(Path("vault.key"), std::filesystem::perms(0644));
  ExpectRefused("others may read it");
  std::filesystem::permissions(Path("vault.key"), std::filesystem::perms(0600));
  Write("vault.key", std::string(32, 'k'));
  ExpectRefused("another key");
  Write("vault.key", key);
  Vault vault(directory);
  EXPECT_TRUE(vault.Open());
}

TEST_F(VaultTest, UsesAreCountedAndKept) {
  SetTwo();
  {
    Vault vault(directory);
    ASSERT_TRUE(vault.Open());
    vault.CountUses(1000, "github", 3, 1700000000);
    vault.CountUses(1001, "github", 9, 1700000000);
    vault.KeepCounts();
  }
  {
    Vault vault(directory);
    const auto found = vault.Find(1000, "github");
    EXPECT_EQ(found->uses, 3u);
    EXPECT_EQ(found->last_used, 1700000000);
    EXPECT_EQ(vault.Find(1000, "npm")->uses, 0u);
  }
  Write("vault-uses.json", "rubbish");
  Vault vault(directory);
  EXPECT_EQ(vault.Find(1000, "github")->uses, 0u);
}

TEST_F(VaultTest, OldValuesAreKeptOnlyForRedaction) {
  std::string id;
  {
    Vault vault(directory);
    id = vault.Set(Info("github"), kValue)->id;
    ASSERT_TRUE(vault.Set(*vault.Find(1000, "github"), "ghp_second-value-0123456789", true));
    ASSERT_TRUE(vault.Set(*vault.Find(1000, "github"), "ghp_third-value-01234567890", false));
    ASSERT_TRUE(vault.Remove(1000, "github", true));
    EXPECT_FALSE(vault.Find(1000, "github"));
    EXPECT_TRUE(vault.List(1000).empty());
    ASSERT_TRUE(vault.Set(Info("github"), "of-another-secret"));
  }
  Vault vault(directory);
  ASSERT_TRUE(vault.Open());
  const std::vector<std::string> old = {kValue, "ghp_third-value-01234567890"};
  EXPECT_EQ(vault.Values(1000, id), old);
  EXPECT_TRUE(vault.Values(1001, id).empty());
  EXPECT_EQ(vault.List(1000).size(), 1u);
  EXPECT_EQ(*vault.Value(*vault.Find(1000, "github")), "of-another-secret");
  EXPECT_EQ(Read("vault.json").find("ghp_"), std::string::npos);
  ASSERT_TRUE(vault.KeepOldOf({id}));
  EXPECT_EQ(vault.Values(1000, id), old);
  ASSERT_TRUE(vault.KeepOldOf({}));
  EXPECT_TRUE(vault.Values(1000, id).empty());
  Vault again(directory);
  EXPECT_TRUE(again.Values(1000, id).empty());
  EXPECT_TRUE(again.Find(1000, "github"));
}

// Sandboxes that used them still get answers that contain them.
TEST_F(VaultTest, OldValuesStayWhileASandboxHasThem) {
  Vault vault(directory);
  std::set<std::string> ids;
  for (char c = 'a'; c < 'a' + 8; ++c) {
    const auto set =
        vault.Set(Info(std::string(2, c).c_str()), std::string(egress::kLongestValue, c));
    ASSERT_TRUE(set);
    ids.insert(set->id);
  }
  for (char c = 'a'; c < 'a' + 8; ++c) ASSERT_TRUE(vault.Remove(1000, std::string(2, c), true));
  for (const std::string& id : ids) EXPECT_EQ(vault.Values(1000, id).size(), 1u);
  EXPECT_EQ(vault.ValueBytes(1000, *ids.begin()), egress::kLongestValue);
  EXPECT_EQ(vault.ValueBytes(1001, *ids.begin()), 0u);
}

TEST_F(VaultTest, TheBytesASandboxMustRedactAreBounded) {
  Vault vault(directory);
  const auto value = [](size_t i) {
    return std::string(egress::kLongestValue, static_cast<char>('a' + i));
  };
  const size_t most = egress::kMostRedactedBytes / egress::kLongestValue;
  const std::string id = vault.Set(Info("github"), value(0))->id;
  const auto check = [&](size_t more) {
    return vault.CheckRedacted("set", 1000, {id}, more, "cure");
  };
  for (size_t i = 1; i < most; ++i) {
    EXPECT_TRUE(check(egress::kLongestValue)) << i;
    ASSERT_TRUE(vault.Set(*vault.Find(1000, "github"), value(i), true));
  }
  EXPECT_TRUE(check(0));
  const auto refused = check(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_EQ(refused.error().cure, "cure");
  EXPECT_NE(refused.error().message.find("98305 bytes"), std::string::npos);
  EXPECT_TRUE(vault.Remove(1000, "github", true));  // only moves them
  EXPECT_TRUE(check(0));
  EXPECT_EQ(vault.Values(1000, id).size(), most);
}

TEST_F(VaultTest, TooManyOldValuesRefuseNewOnes) {
  Vault vault(directory);
  const std::string id = vault.Set(Info("github"), "value-of-many")->id;
  ASSERT_TRUE(vault.Set(Info("npm"), kValue));
  Status rotated;
  size_t count = 1;
  for (; rotated && count < 1000; ++count) {
    const auto set =
        vault.Set(*vault.Find(1000, "github"), "value-of-many-" + std::to_string(count), true);
    if (!set) rotated = std::unexpected(set.error());
  }
  ASSERT_FALSE(rotated);
  EXPECT_EQ(rotated.error().code, Code::kExhausted);
  EXPECT_NE(rotated.error().cure.find("cloche rm"), std::string::npos);
  EXPECT_FALSE(vault.Set(Info("another"), kValue));
  EXPECT_TRUE(vault.Set(*vault.Find(1000, "npm"), "nobody-has-this", false));
  EXPECT_TRUE(vault.Set(Info("github", 1001), kValue));
  EXPECT_TRUE(vault.Remove(1000, "github", true));
  EXPECT_EQ(vault.Values(1000, id).size(), count - 1);
  EXPECT_EQ(vault.Values(1000, id)[0], "value-of-many");
  EXPECT_TRUE(vault.KeepOldOf({}));
  EXPECT_TRUE(vault.Set(Info("another"), kValue));
}

TEST_F(VaultTest, AnOldValueThatWasChangedIsNoticed) {
  {
    Vault vault(directory);
    ASSERT_TRUE(vault.Set(Info("github"), kValue));
    ASSERT_TRUE(vault.Set(*vault.Find(1000, "github"), "ghp_second-value-0123456789", true));
  }
  std::string text = Read("vault.json");
  const size_t at = text.find("\"retired\": 1");
  ASSERT_NE(at, text.npos);
  text[at + 12] = '0';
  Write("vault.json", text);
  ExpectRefused("an old value became a new one");
}

// Once, the file was written but could not be read again, and everything was lost.
TEST_F(VaultTest, AFullVaultSaysSoAndStaysReadable) {
  Vault vault(directory);
  ASSERT_TRUE(vault.Set(Info("github"), kValue));
  SecretInfo large = Info("large");
  large.hosts = {std::string(9 << 20, 'h')};
  ASSERT_TRUE(vault.Set(large, kValue));
  large.name = "larger";
  const auto set = vault.Set(large, kValue);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kExhausted);
  EXPECT_NE(set.error().cure.find("cloche secret"), std::string::npos);
  EXPECT_FALSE(vault.Find(1000, "larger"));
  Vault again(directory);
  EXPECT_TRUE(again.Open());
  EXPECT_EQ(*again.Value(*again.Find(1000, "github")), kValue);
}

TEST(SecretValue, ShortValuesAndLineBreaksAreRefused) {
  EXPECT_TRUE(CheckSecretValue("a passphrase of words"));
  for (const char* value : {"", "short", "with\r\nHost: evil", "with\ttab in it", "ends with one ",
                            "letters beyond \xc3\xa4\xc3\xb6"})
    EXPECT_FALSE(CheckSecretValue(value)) << value;
  EXPECT_FALSE(CheckSecretValue(std::string(9000, 'x')));
}

TEST(Placeholder, HasTheUsualPrefixAndIsAlwaysDifferent) {
  const std::string one = NewPlaceholder("ghp_", 40), other = NewPlaceholder("ghp_", 40);
  EXPECT_TRUE(one.starts_with("ghp_cloche"));
  EXPECT_EQ(one.size(), 40u);
  EXPECT_NE(one, other);
  EXPECT_GE(NewPlaceholder("", 8).size(), 26u);
}

}  // namespace
}  // namespace cloche::daemon
