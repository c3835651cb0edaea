#include "egress/secret_store.h"

#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

Target At(const char* name, uint16_t port = 443) { return {.name = name, .port = port}; }

std::string Masked(SecretStore& store, std::string_view text) {
  return Masker::All(store.Mask(), text);
}

TEST(SecretStore, WhatWasReplacedOrForgottenStaysMasked) {
  SecretStore store;
  EXPECT_TRUE(store.Set("A", "first-value"));
  EXPECT_FALSE(store.Set("A", "first-value"));
  EXPECT_EQ(Masked(store, "first-value second-value"), "*********** second-value");
  EXPECT_TRUE(store.Set("A", "second-value"));
  EXPECT_EQ(*store.Find("A"), "second-value");
  EXPECT_TRUE(store.Set("A", ""));
  EXPECT_EQ(store.Find("A"), nullptr);
  for (int i = 0; i < 50; ++i) store.Set("B", "another-" + std::to_string(i));
  store.Remember("of-another-life");
  EXPECT_EQ(Masked(store, "first-value second-value of-another-life"),
            "*********** ************ ***************");
}

TEST(SecretStore, AHostThatWasToldStaysMasked) {
  SecretStore store;
  store.Mark({.host = "api.example", .first_port = 443, .last_port = 443, .expires = 1});
  EXPECT_TRUE(store.MasksAt(At("api.example")));
  EXPECT_FALSE(store.MasksAt(At("api.example", 444)));
  EXPECT_FALSE(store.MasksAt(At("other.example")));
}

TEST(SecretStore, MovesAsAWhole) {
  SecretStore store, next;
  store.Set("A", "first-value");
  store.Mark({.host = "api.example"});
  next = std::move(store);
  EXPECT_EQ(*next.Find("A"), "first-value");
  EXPECT_TRUE(next.MasksAt(At("api.example")));
  EXPECT_EQ(store.Find("A"), nullptr);
  EXPECT_FALSE(store.MasksAt(At("api.example")));
}

}  // namespace
}  // namespace cloche::egress
