#include "change/apply/outline.h"

#include <gtest/gtest.h>

namespace cloche::apply {
namespace {

using Paths = std::vector<std::string>;

TEST(Outline, FewPathsStayAsTheyAre) {
  EXPECT_EQ(Outline({"/p/b", "/p/a"}), (Paths{"/p/b", "/p/a"}));
  EXPECT_EQ(Outline({}), Paths());
}

TEST(Outline, ANameThatIsNotUtf8BecomesItsDirectory) {
  EXPECT_EQ(Outline({"/p/d/\xff/f"}), (Paths{"/p/d"}));
  EXPECT_EQ(Outline({"/\xff"}), (Paths{"/"}));
}

TEST(Outline, ManyPathsBecomeTheDirectoriesTheyAreIn) {
  Paths many = {"/p/other"};
  for (int i = 0; i < 3000; ++i) many.push_back("/p/many/" + std::to_string(i));
  EXPECT_EQ(Outline(many), (Paths{"/p/many", "/p/other"}));
  many.clear();
  for (int i = 0; i < 3000; ++i) many.push_back("/" + std::to_string(i));
  EXPECT_EQ(Outline(many), (Paths{"/"}));
}

TEST(Outline, ALongPathBecomesOneThatIsShortEnough) {
  std::string deep = "/p";
  for (int i = 0; i < 60; ++i) deep += "/" + std::string(100, 'n');
  const Paths outlined = Outline({deep});
  ASSERT_EQ(outlined.size(), 1u);
  EXPECT_LT(outlined[0].size(), 4096u);
  EXPECT_TRUE(deep.starts_with(outlined[0] + "/"));
}

}  // namespace
}  // namespace cloche::apply
