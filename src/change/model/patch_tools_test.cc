// Applies the patches of patch.cc with the programs people use.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "change/model/patch.h"

namespace cloche::change {
namespace {

namespace fs = std::filesystem;

enum class Sort { kPlain, kExecutable, kSymlink };

struct Entry {
  std::string content;  // or target
  Sort sort = Sort::kPlain;
  bool operator==(const Entry&) const = default;
};

void PrintTo(const Entry& entry, std::ostream* out) {
  *out << static_cast<int>(entry.sort) << ":" << entry.content;
}

using Tree = std::map<std::string, Entry>;           // by relative path
using Renames = std::map<std::string, std::string>;  // new to old

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "cloche-patch-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void Write(const fs::path& top, const Tree& tree) {
  fs::create_directories(top);
  for (const auto& [name, entry] : tree) {
    const fs::path path = top / name;
    fs::create_directories(path.parent_path());
    if (entry.sort == Sort::kSymlink) {
      fs::create_symlink(entry.content, path);
      continue;
    }
    std::ofstream(path, std::ios::binary) << entry.content;
    fs::permissions(path, fs::perms(entry.sort == Sort::kExecutable ? 0755 : 0644));
  }
}

Tree Read(const fs::path& top) {
  Tree tree;
  for (const auto& item : fs::recursive_directory_iterator(top)) {
    Entry entry;
    const std::string name = item.path().lexically_relative(top);
    if (name.starts_with(".git/") || name == ".git") continue;
    if (item.is_symlink()) {
      entry = {fs::read_symlink(item.path()), Sort::kSymlink};
    } else if (item.is_directory()) {
      continue;
    } else {
      std::ostringstream content;
      content << std::ifstream(item.path(), std::ios::binary).rdbuf();
      entry.content = content.str();
      if ((item.status().permissions() & fs::perms::owner_exec) != fs::perms::none)
        entry.sort = Sort::kExecutable;
    }
    tree[name] = entry;
  }
  return tree;
}

Side SideOf(const Entry& entry) {
  if (entry.sort == Sort::kSymlink)
    return {.type = FileType::kSymlink, .mode = 0777, .target = entry.content};
  return {.mode = entry.sort == Sort::kExecutable ? 0755u : 0644u,
          .size = entry.content.size(),
          .sha256 = HashOf(entry.content)};
}

void AppendPatch(std::string& patch, const std::string& name, const Entry* from, const Entry* to,
                 const std::string& old_name) {
  Change change{.path = "/some/project/" + name};
  if (from != nullptr) change.old_side = SideOf(*from);
  if (to != nullptr) change.new_side = SideOf(*to);
  if (from != nullptr && to != nullptr)
    change.differs = Compare(*change.old_side, *change.new_side);
  if (old_name != name) change.old_path = "/some/project/" + old_name;
  change.kind = from == nullptr       ? ChangeKind::kAdded
                : to == nullptr       ? ChangeKind::kDeleted
                : old_name != name    ? ChangeKind::kRenamed
                : change.differs.type ? ChangeKind::kTypeChanged
                                      : ChangeKind::kModified;
  const Status checked = CheckChange(change);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(WritePatch(change, from == nullptr ? "" : from->content,
                       to == nullptr ? "" : to->content, {.root = "/some/project"},
                       [&patch](std::string_view piece) {
                         patch += piece;
                         return true;
                       }),
            PatchResult::kWritten)
      << name;
}

std::string PatchBetween(const Tree& from, const Tree& to, const Renames& renames) {
  std::string patch;
  Tree names = from;
  names.insert(to.begin(), to.end());
  for (const auto& [new_name, old_name] : renames) names.erase(old_name);
  for (const auto& [name, unused] : names) {
    const auto renamed = renames.find(name);
    const std::string old_name = renamed == renames.end() ? name : renamed->second;
    const auto before = from.find(old_name);
    const auto after = to.find(name);
    const Entry* const old_entry = before == from.end() ? nullptr : &before->second;
    const Entry* const new_entry = after == to.end() ? nullptr : &after->second;
    if (old_entry != nullptr && new_entry != nullptr && *old_entry == *new_entry &&
        old_name == name)
      continue;
    AppendPatch(patch, name, old_entry, new_entry, old_name);
  }
  return patch;
}

constexpr std::pair<std::string_view, std::string_view> kTools[] = {
    {"git", "git apply --whitespace=nowarn ../p"},
    {"patch", "patch -p1 --no-backup-if-mismatch -s < ../p"},
};

void ExpectApplies(std::span<const std::pair<std::string_view, std::string_view>> tools,
                   const Tree& from, const Tree& to, const Renames& renames = {}) {
  const std::string patch = PatchBetween(from, to, renames);
  const Folder folder;
  std::ofstream(folder.path() / "p", std::ios::binary) << patch;
  for (const auto& [tool, command] : tools) {
    SCOPED_TRACE(std::string(tool) + "\n" + patch);
    const fs::path top = folder.path() / tool;
    Write(top, from);
    // Its own repository, or git apply would look for one above.
    const std::string enter = "cd '" + top.string() + "' && umask 022 && git init -q . && ";
    ASSERT_EQ(std::system((enter + std::string(command) + " 2>&1").c_str()), 0);
    EXPECT_EQ(Read(top), to);
  }
}

// Both programs apply the patch in both directions.
void ExpectBothApply(const Tree& from, const Tree& to, const Renames& renames = {}) {
  ExpectApplies(kTools, from, to, renames);
  Renames back;
  for (const auto& [new_name, old_name] : renames) back[old_name] = new_name;
  ExpectApplies(kTools, to, from, back);
}

using namespace std::string_literals;

std::string Bytes(size_t size, unsigned seed) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * seed >> 3);
  return bytes;
}

TEST(PatchTools, GitAppliesBinaryFiles) {
  const Tree from = {{"changed", {"\0one"s}}, {"gone", {Bytes(100, 7)}}, {"text", {"a\n"}}};
  const Tree to = {{"changed", {Bytes(200'000, 13)}},   {"new", {Bytes(65'535, 3)}},
                   {"becomes/one", {Bytes(65'536, 5)}}, {"tiny", {"\0"s}},
                   {"fifty-two", {Bytes(45, 11)}},      {"text", {"b\n"}}};
  const std::span git(kTools, 1);
  ExpectApplies(git, from, to);
  ExpectApplies(git, to, from);
}

TEST(PatchTools, FilesAreChangedAddedAndDeleted) {
  ExpectBothApply({{"a", {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"}},
                   {"deep/er/b", {"same\n"}},
                   {"no-newline", {"x"}},
                   {"gets-newline", {"x"}},
                   {"crlf", {"a\r\nb\r\n"}},
                   {"gone", {"1\n2\n"}},
                   {"gone-no-newline", {"1"}},
                   {"gets-empty", {"1\n"}},
                   {"gets-full", {""}},
                   {"latin1", {"\xe4\n\xff\n"}}},
                  {{"a", {"1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\nadded\n12\n"}},
                   {"deep/er/b", {"same\n"}},
                   {"no-newline", {"y"}},
                   {"gets-newline", {"x\n"}},
                   {"crlf", {"a\r\nc\r\n"}},
                   {"new/dir/file", {"1\n\n-- \n"}},
                   {"new-no-newline", {"1"}},
                   {"gets-empty", {""}},
                   {"gets-full", {"1\n"}},
                   {"latin1", {"\xe4\n\xfe\n"}}});
}

TEST(PatchTools, EmptyFilesComeAndGo) {
  ExpectBothApply({{"gone", {""}}, {"kept", {"x\n"}}}, {{"new", {""}}, {"kept", {"x\n"}}});
}

TEST(PatchTools, ModesAreKept) {
  ExpectBothApply({{"becomes-executable", {"x\n"}},
                   {"becomes-plain", {"x\n", Sort::kExecutable}},
                   {"with-content", {"x\n"}}},
                  {{"becomes-executable", {"x\n", Sort::kExecutable}},
                   {"becomes-plain", {"x\n"}},
                   {"with-content", {"y\n", Sort::kExecutable}},
                   {"new", {"#!/bin/sh\n", Sort::kExecutable}}});
}

TEST(PatchTools, RenamesMove) {
  ExpectBothApply({{"a", {"x\n"}}, {"b", {"1\n2\n3\n4\n5\n"}}, {"e", {""}}, {"m", {"x\n"}}},
                  {{"dir/a2", {"x\n"}},
                   {"b2", {"1\n2\n3\n4\nfive\n"}},
                   {"e2", {""}},
                   {"m2", {"x\n", Sort::kExecutable}}},
                  {{"dir/a2", "a"}, {"b2", "b"}, {"e2", "e"}, {"m2", "m"}});
}

TEST(PatchTools, SymlinksAreTheirTargets) {
  ExpectBothApply({{"changed", {"old-target", Sort::kSymlink}},
                   {"gone", {"x", Sort::kSymlink}},
                   {"moved", {"../y", Sort::kSymlink}},
                   {"was-file", {"text\n"}},
                   {"was-link", {"somewhere", Sort::kSymlink}}},
                  {{"changed", {"new-target", Sort::kSymlink}},
                   {"new", {"a b\"c", Sort::kSymlink}},
                   {"moved2", {"../y", Sort::kSymlink}},
                   {"was-file", {"nowhere", Sort::kSymlink}},
                   {"was-link", {"text\n"}}},
                  {{"moved2", "moved"}});
}

TEST(PatchTools, UnusualNamesAreKept) {
  const std::string names[] = {"with space",    "\"quoted\"", "back\\slash", "tab\there",
                               "uml\xc3\xa4ut", "\xff\xfe",   "-dash",       "a b/c d",
                               "\x01",          "it's",       "trailing ",   " leading",
                               "a => b",        "{x}",        "b/a/b"};
  Tree from;
  Tree to;
  Renames renames;
  for (const std::string& name : names) {
    from["changed/" + name] = {"1\n"};
    to["changed/" + name] = {"2\n"};
    to["new/" + name] = {"2\n"};
    from["gone/" + name] = {"1\n"};
    from["old/" + name] = {"1\n2\n"};
    to["moved/" + name] = {"1\n2\n"};
    renames["moved/" + name] = "old/" + name;
    from["mode/" + name] = {"1\n"};
    to["mode/" + name] = {"1\n", Sort::kExecutable};
  }
  ExpectBothApply(from, to, renames);
}

TEST(PatchTools, OnlyGitAppliesANameWithANewline) {
  const std::span git = std::span(kTools).first(1);
  ExpectApplies(git, {{"a\nb", {"1\n"}}, {"old\n", {"x"}}},
                {{"a\nb", {"2\n"}}, {"\n", {"2\n"}}, {"new\n+++ b/x", {"x"}}},
                {{"new\n+++ b/x", "old\n"}});
}

TEST(PatchTools, NamesAreQuotedAsGitDoes) {
  const Folder folder;
  Tree tree;
  std::set<std::string> expected;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    const std::string name = {'x', static_cast<char>(byte), 'y'};
    tree[name] = {""};
    expected.insert(GitQuote(name));
  }
  Write(folder.path() / "t", tree);
  const std::string command =
      "cd '" + folder.path().string() +
      "/t' && git init -q . && git -c core.quotePath=true ls-files -o > ../names";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::set<std::string> names;
  std::ifstream in(folder.path() / "names");
  for (std::string line; std::getline(in, line);) names.insert(line);
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace cloche::change
