// Compares what Glob forbids with what git ignores.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "change/rules/globs.h"

namespace cloche::rules {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "cloche-globs-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr const char* kBelow = "/below";

// For each pattern, the paths that git ignores. The paths are files that do not exist.
std::vector<std::set<std::string>> AskGit(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& paths) {
  const Folder folder;
  std::ofstream list(folder.path() / "paths");
  for (const std::string& path : paths) list << path << "\n" << path << kBelow << "\n";
  list.close();
  for (size_t i = 0; i < patterns.size(); ++i)
    std::ofstream(folder.path() / (std::to_string(i) + ".pattern")) << patterns[i] << "\n";
  const std::string script =
      "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=/nowhere; cd '" +
      folder.path().string() +
      "' && git init -q repo && cd repo && i=0 && while [ -e ../$i.pattern ]; do"
      " cp ../$i.pattern .gitignore; git check-ignore --no-index --stdin < ../paths > ../$i.out;"
      " i=$((i+1)); done";
  EXPECT_EQ(std::system(script.c_str()), 0);  // NOLINT(cert-env33-c)
  std::vector<std::set<std::string>> answers(patterns.size());
  for (size_t i = 0; i < patterns.size(); ++i) {
    std::ifstream out(folder.path() / (std::to_string(i) + ".out"));
    for (std::string line; std::getline(out, line);) answers[i].insert(line);
  }
  return answers;
}

TEST(GlobsAsGit, ForbidsExactlyWhatGitIgnores) {
  std::mt19937 random(1);
  const auto pick = [&](const std::vector<std::string>& words) {
    return words[random() % words.size()];
  };
  const std::vector<std::string> parts = {"a",  "b",     "**",   "*",    "*.c",   "a*",   "?",
                                          "b?", "[a-b]", "[!a]", "**.c", "a\\.c", "a*.c", "[^b]*"};
  const std::vector<std::string> names = {"a", "b", "c", "ab", "ba", "a.c", "b.c", ".c"};
  std::vector<std::string> patterns;
  for (int i = 0; i < 300; ++i) {
    std::string pattern = pick({"", "", "/"}) + pick(parts);
    for (size_t more = random() % 3; more > 0; --more) pattern += "/" + pick(parts);
    patterns.push_back(pattern + pick({"", "", "/"}));
  }
  std::set<std::string> unique;
  for (int i = 0; i < 400; ++i) {
    std::string path = pick(names);
    for (size_t more = random() % 4; more > 0; --more) path += "/" + pick(names);
    unique.insert(path);
  }
  const std::vector<std::string> paths(unique.begin(), unique.end());
  const std::vector<std::set<std::string>> ignored = AskGit(patterns, paths);
  size_t matched = 0;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const Result<Glob> glob = Glob::Parse(patterns[i]);
    ASSERT_TRUE(glob) << patterns[i];
    for (const std::string& path : paths) {
      // If a pattern means a directory, git ignores no file of that name, but we forbid it. So ask
      // git about something in it.
      const bool directory = patterns[i].ends_with('/');
      const bool expected = ignored[i].contains(directory ? path + kBelow : path);
      if (expected) ++matched;
      EXPECT_EQ(glob->Forbids(path), expected) << patterns[i] << " " << path;
    }
  }
  EXPECT_GT(matched, 1000u);
  EXPECT_GT(patterns.size() * paths.size() - matched, 1000u);
}

}  // namespace
}  // namespace cloche::rules
