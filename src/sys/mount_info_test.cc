#include "sys/mount_info.h"

#include <gmock/gmock.h>

namespace cloche::sys {
namespace {

TEST(MountInfo, EveryFieldIsReadWithAndWithoutTags) {
  const auto mounts = ParseMountInfo(
      "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "90 25 0:40 /@home/a\\040b /mnt/c\\134d ro,nosuid shared:7 master:3 - btrfs /dev/sdb rw\n"
      "91 25 0:41 / /proc rw - proc proc rw\n");
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].id, 25u);
  EXPECT_EQ(mounts[0].target, "/");
  EXPECT_EQ(mounts[0].fs_type, "ext4");
  EXPECT_EQ(mounts[1].device, "0:40");
  EXPECT_EQ(mounts[1].root, "/@home/a b");
  EXPECT_EQ(mounts[1].target, "/mnt/c\\d");
  EXPECT_EQ(mounts[1].options, "ro,nosuid");
  EXPECT_EQ(mounts[1].source, "/dev/sdb");
  EXPECT_EQ(mounts[2].fs_type, "proc");
}

TEST(MountInfo, ATruncatedLineIsNotAMount) {
  EXPECT_TRUE(ParseMountInfo("").empty());
  EXPECT_TRUE(ParseMountInfo("25 1 8:1").empty());
}

}  // namespace
}  // namespace cloche::sys
