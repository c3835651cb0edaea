#include "change/model/change.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "change/model/base64.h"

namespace cloche::change {
namespace {

using namespace std::string_literals;

Side File(std::string_view content) {
  return {.type = FileType::kFile, .mode = 0644, .size = content.size(), .sha256 = HashOf(content)};
}

Change Modified() {
  Change change{.path = "/p/a.txt", .old_side = File("old"), .new_side = File("newer")};
  change.differs.content = true;
  change.lines = LineCounts{2, 1};
  return change;
}

std::string Encoded(const Change& change) {
  EXPECT_TRUE(CheckChange(change)) << CheckChange(change).error().message;
  return EncodeJsonLine(change);
}

void ExpectRoundTrip(const Change& change) {
  const std::string line = Encoded(change);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto decoded = DecodeJsonLine(line);
  ASSERT_TRUE(decoded) << decoded.error().message << "\n" << line;
  EXPECT_EQ(*decoded, change) << line;
}

TEST(ChangeLine, IsTheDocumentedForm) {
  EXPECT_EQ(Encoded(Modified()),
            R"({"kind":"modified","path":"/p/a.txt","differs":["content"],)"
            R"("old":{"type":"file","mode":"0644","uid":0,"gid":0,"size":3,"sha256":)"
            R"("cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"},)"
            R"("new":{"type":"file","mode":"0644","uid":0,"gid":0,"size":5,"sha256":)"
            R"("804f51f71254c4081e37e7c887073560f4a6fa6cdad202e9ac67e032c43ed1e1"},)"
            R"("lines":{"added":2,"removed":1}})");
}

TEST(ChangeLine, EveryKindAndTypeComesBack) {
  ExpectRoundTrip(Modified());
  ExpectRoundTrip({.path = "/a", .kind = ChangeKind::kAdded, .new_side = File(""), .binary = true});
  ExpectRoundTrip({.path = "/a", .kind = ChangeKind::kDeleted, .old_side = File("x")});
  ExpectRoundTrip({.path = "/b",
                   .kind = ChangeKind::kRenamed,
                   .old_path = "/a",
                   .old_side = File("x"),
                   .new_side = File("x"),
                   .noise = "caches"});
  Change device{.path = "/dev/x", .kind = ChangeKind::kTypeChanged};
  device.old_side = Side{.type = FileType::kChar, .mode = 0600, .rdev_major = 1, .rdev_minor = 5};
  for (const FileType type : {FileType::kDirectory, FileType::kFifo, FileType::kSocket}) {
    device.new_side = Side{.type = type, .mode = 07777, .uid = 4294967295, .gid = 7};
    device.differs = {.type = true, .mode = true, .owner = true};
    ExpectRoundTrip(device);
  }
  Change block{.path = "/dev/b"};
  block.old_side = Side{.type = FileType::kBlock, .rdev_major = 8, .rdev_minor = 1};
  block.new_side = Side{.type = FileType::kBlock, .rdev_major = 8, .rdev_minor = 4294967295};
  block.differs.device = true;
  ExpectRoundTrip(block);
}

TEST(ChangeLine, HostileBytesComeBack) {
  for (const std::string& name :
       {"\n"s, "\xff\xfe"s, "\"\\"s, "\x1b[2J"s, "\xe2\x80\xae"s, "a\xc3"s, "\xed\xa0\x80"s,
        std::string(255, '\x80'), "\\xff"s, " "s, "\x7f"s}) {
    Change change{.path = "/d/" + name, .kind = ChangeKind::kRenamed, .old_path = "/o/" + name};
    change.old_side = Side{.type = FileType::kSymlink, .mode = 0777, .target = "x"};
    change.new_side = Side{.type = FileType::kSymlink, .mode = 0777, .target = name};
    change.new_side->xattrs = {{"user." + name, "\0\xff"s}, {"user.plain", ""}};
    change.new_side->hard_link = 18446744073709551615u;
    change.differs = {.xattr = true, .target = true};
    ExpectRoundTrip(change);
  }
}

TEST(ChangeLine, PathThatIsNotUtf8IsShownEscapedAndKeptRaw) {
  const std::string line =
      Encoded({.path = "/a\xff", .kind = ChangeKind::kAdded, .new_side = File("")});
  EXPECT_NE(line.find(R"("path":"/a\\xff","path_base64":"L2H/")"), std::string::npos) << line;
  std::string other_display = line;
  other_display.replace(line.find("/a\\\\xff"), 7, "/b\\\\xff");
  EXPECT_FALSE(DecodeJsonLine(other_display));
}

TEST(ChangeLine, TheLongestChangeFits) {
  Change change{.path = "/" + std::string(kMaxPath - 1, '\xff'),
                .kind = ChangeKind::kRenamed,
                .old_path = "/" + std::string(kMaxPath - 1, '\xfe')};
  Side side{.type = FileType::kSymlink, .target = std::string(kMaxTarget, '\xff')};
  for (size_t i = 0; i < kMaxXattrNames / 256; ++i)
    side.xattrs[std::string(250, '\xff') + std::to_string(10000 + i)] =
        std::string(kMaxXattrValues / (kMaxXattrNames / 256), 'x');
  change.old_side = change.new_side = side;
  ExpectRoundTrip(change);
}

TEST(ChangeLine, NestingIsBounded) {
  EXPECT_FALSE(DecodeJsonLine(std::string(kMaxChangeLine, '[')));
  EXPECT_FALSE(DecodeJsonLine(std::string(kMaxChangeLine + 1, ' ')));
}

TEST(ChangeLine, RefusesWhatItDoesNotFullyUnderstand) {
  const std::string good = Encoded(Modified());
  ASSERT_TRUE(DecodeJsonLine(good));
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string line = good;
    const size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return line.replace(at, from.size(), to);
  };
  for (const std::string& line : {""s,
                                  "{}"s,
                                  "[]"s,
                                  "null"s,
                                  good + "x",
                                  good.substr(1),
                                  with("modified", "moved"),
                                  with("\"kind\"", "\"sort\""),
                                  with("0644", "0999"),
                                  with("0644", "644"),
                                  with("0644", "10644"),
                                  with("\"0644\"", "420"),
                                  with("\"uid\":0", "\"uid\":-1"),
                                  with("\"uid\":0", "\"uid\":4294967296"),
                                  with("\"uid\":0", "\"uid\":0.5"),
                                  with("\"uid\":0", "\"uid\":0,\"more\":1"),
                                  with("\"uid\":0", "\"uid\":0,\"uid\":0"),
                                  with("cba0", "CBA0"),
                                  with("cba0", "cba"),
                                  with("content", "contents"),
                                  with("\"content\"", "\"content\",\"content\""),
                                  with("\"content\"", ""),
                                  with("\"content\"", "\"content\",\"mode\""),
                                  with("/p/a.txt", "p/a.txt"),
                                  with("/p/a.txt", "/p/../a"),
                                  with("/p/a.txt", "/p//a"),
                                  with("/p/a.txt", "/p/a\\u0000"),
                                  with("\"lines\"", "\"binary\":true,\"lines\""),
                                  with("\"lines\"", "\"noise\":\"\\u001b\",\"lines\""),
                                  with("\"lines\"", "\"noise\":\"quiet\",\"lines\"")})
    EXPECT_FALSE(DecodeJsonLine(line)) << line;
}

TEST(CheckChange, ADeletionInARenamedDirectoryNamesItsOldPath) {
  Change change = Modified();
  change.kind = ChangeKind::kDeleted;
  change.path = "/new/f";
  change.old_path = "/old/f";
  change.new_side.reset();
  change.differs = {};
  ASSERT_TRUE(CheckChange(change));
  const auto decoded = DecodeJsonLine(EncodeJsonLine(change));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, change);
  change.old_path = change.path;
  EXPECT_FALSE(CheckChange(change));
}

TEST(CheckChange, SidesBelongToTheKind) {
  const std::vector<std::function<void(Change&)>> faults = {
      [](Change& c) { c.kind = ChangeKind::kAdded; },
      [](Change& c) { c.kind = ChangeKind::kDeleted; },
      [](Change& c) { c.kind = ChangeKind::kRenamed; },
      [](Change& c) { c.kind = ChangeKind::kTypeChanged; },
      [](Change& c) { c.old_path = "/b"; },
      [](Change& c) { c.new_side->mode = 010000; },
      [](Change& c) { c.new_side->target = "x"; },
      [](Change& c) { c.new_side->rdev_minor = 1; },
      [](Change& c) { c.new_side->xattrs[""] = "x"; },
      [](Change& c) { c.new_side->xattrs["user.x"] = "x"; },
      [](Change& c) { c.new_side->xattrs["user.x"] = std::string(kMaxXattrValues + 1, 'x'); },
      [](Change& c) { c.new_side->uid = 5; },
      [](Change& c) { c.new_side = c.old_side; },
      [](Change& c) { c.path = "/" + std::string(kMaxPath, 'x'); },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    Change change = Modified();
    ASSERT_TRUE(CheckChange(change));
    faults[i](change);
    EXPECT_FALSE(CheckChange(change)) << i;
  }
}

TEST(CheckChange, ContentWithoutAHashIsTakenAsGiven) {
  Change change = Modified();
  change.old_side->sha256.reset();
  change.old_side->size = change.new_side->size;
  EXPECT_TRUE(CheckChange(change));
  change.differs.content = false;
  EXPECT_TRUE(CheckChange(change));
  change.old_side->size = 1;
  EXPECT_FALSE(CheckChange(change));
}

TEST(Base64, RoundTripsAndHasOnlyOneForm) {
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xfb\xff"s, "+/8="}}) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
  for (const char* text :
       {"Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zm9v\n", "Zm-_", "Zg==Zg=="})
    EXPECT_FALSE(FromBase64(text)) << text;
}

TEST(Sha256, MatchesKnownHashes) {
  EXPECT_EQ(ToHex(HashOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256FromHex(ToHex(HashOf("abc"))), HashOf("abc"));
  EXPECT_EQ(GitBlobName(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

}  // namespace
}  // namespace cloche::change
