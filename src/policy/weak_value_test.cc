#include "policy/weak_value.h"

#include <gtest/gtest.h>

#include <random>

namespace cloche {
namespace {

TEST(WhyGuessable, PasswordsOfPeopleAre) {
  for (const char* weak :
       {"hunter22", "password", "Password123!", "letmein2024", "12345678901234567890",
        "aaaaaaaaaaaaaaaaaaaaaaaa", "correct-horse-battery", "Summer2026!!", "abcdefghijklmnop",
        "admin:admin", "10101010101010101010", "changeme-please", "CompanyName2026"})
    EXPECT_NE(WhyGuessable(weak), "") << weak;
}

TEST(WhyGuessable, TokensAreNot) {
  for (const char* strong :
       {"ghp_0Zb1yXc2WdVe3UfTg4ShR5iQjP6kOl7NmAnB", "AKIAQ3EGRT7YUIOPLKJH",
        "9f86d081884c7d659a2feaa0c55ad015", "5d41402abc4b2a76",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479", "sk-ant-api03-Zk3vQ9xT1mB7wRpL2sYd"})
    EXPECT_EQ(WhyGuessable(strong), "") << strong;
}

TEST(WhyGuessable, RandomValuesAreNot) {
  std::mt19937 random(1);
  const std::string alphabets[] = {"0123456789abcdef",
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                                   "abcdefghijklmnopqrstuvwxyz234567"};
  for (const std::string& alphabet : alphabets)
    for (int round = 0; round < 1000; ++round) {
      std::string token;
      for (int i = 0; i < 32; ++i) token += alphabet[random() % alphabet.size()];
      ASSERT_EQ(WhyGuessable(token), "") << token;
    }
}

}  // namespace
}  // namespace cloche
