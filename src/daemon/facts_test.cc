#include "daemon/facts.h"

#include <gtest/gtest.h>

namespace cloche::daemon {
namespace {

using List = std::vector<std::string>;

std::string Line(const std::string& name) {
  return "0000000000000000: 00000002 00000000 00010000 0001 01   123" +
         (name.empty() ? "" : " " + name) + "\n";
}

TEST(ListedSockets, ExcludePlacesThatSandboxesHaveOfTheirOwn) {
  EXPECT_EQ(ListedSockets("Num       RefCount Protocol Flags    Type St Inode Path\n" + Line("") +
                          Line("/srv/b") + Line("/var/a b") + Line("/srv/b") + Line("/run/x") +
                          Line("/tmp/x")),
            (List{"/srv/b", "/var/a b"}));
}

TEST(ListedSockets, AnAbstractNameIsNeverAPath) {
  EXPECT_EQ(ListedSockets(Line("@x /var/zzz") + Line("@/srv/a") + Line("relative /b")), List{});
}

TEST(ListedSockets, ShortLinesAreSkipped) {
  EXPECT_EQ(ListedSockets("\n /a\n/b\n1 2 3 4 5 6 /c\n" + Line("/d")), List{"/d"});
}

}  // namespace
}  // namespace cloche::daemon
