#include "egress/secret_store.h"

#include <gtest/gtest.h>

#include "egress/secret_limits.h"

namespace cloche::egress {
namespace {

Target At(const char* name, uint16_t port = 443) { return {.name = name, .port = port}; }

std::string Redacted(SecretStore& store, std::string_view text) {
  return Redactor::All(store.ToRedact(), text);
}

TEST(SecretStore, ReplacedAndForgottenValuesStayRedacted) {
  SecretStore store;
  EXPECT_TRUE(store.Set("A", "first-value"));
  EXPECT_FALSE(store.Set("A", "first-value"));
  EXPECT_EQ(Redacted(store, "first-value second-value"), "*********** second-value");
  EXPECT_TRUE(store.Set("A", "second-value"));
  EXPECT_EQ(*store.Find("A"), "second-value");
  EXPECT_TRUE(store.Set("A", ""));
  EXPECT_EQ(store.Find("A"), nullptr);
  for (int i = 0; i < 50; ++i) store.Set("B", "another-" + std::to_string(i));
  store.Remember("of-another-life");
  EXPECT_EQ(Redacted(store, "first-value second-value of-another-life"),
            "*********** ************ ***************");
}

// Values that the daemon names again stay; the others leave in order of age.
TEST(SecretStore, ForgetsTheOldestValuesBeyondTheLimit) {
  SecretStore store;
  const auto value = [](int i) {
    const std::string number = "value-" + std::to_string(i) + "-";
    return number + std::string(kLongestValue - number.size(), 'x');
  };
  const int most = kMostRedactedBytes / kLongestValue + 1;
  for (int i = 0; i < most; ++i) store.Remember(value(i));
  EXPECT_EQ(Redacted(store, value(0)), std::string(kLongestValue, '*'));
  store.Remember(value(0));
  store.Remember(value(most));
  for (int i = 0; i <= most; ++i)
    EXPECT_EQ(Redacted(store, value(i)), i == 1 ? value(i) : std::string(kLongestValue, '*')) << i;
  store.Set("A", value(1));  // what is in use is never
  for (int i = 100; i < 100 + most; ++i) store.Remember(value(i));
  EXPECT_EQ(Redacted(store, value(1)), std::string(kLongestValue, '*'));
}

TEST(SecretStore, AHostThatWasToldStaysRedacted) {
  SecretStore store;
  store.Mark({.host = "api.example", .first_port = 443, .last_port = 443, .expires = 1});
  EXPECT_TRUE(store.RedactsAt(At("api.example")));
  EXPECT_FALSE(store.RedactsAt(At("api.example", 444)));
  EXPECT_FALSE(store.RedactsAt(At("other.example")));
}

TEST(SecretStore, MovesAsAWhole) {
  SecretStore store, next;
  store.Set("A", "first-value");
  store.Mark({.host = "api.example"});
  next = std::move(store);
  EXPECT_EQ(*next.Find("A"), "first-value");
  EXPECT_TRUE(next.RedactsAt(At("api.example")));
  EXPECT_EQ(store.Find("A"), nullptr);
  EXPECT_FALSE(store.RedactsAt(At("api.example")));
}

}  // namespace
}  // namespace cloche::egress
