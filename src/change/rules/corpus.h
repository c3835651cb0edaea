#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "change/rules/line_sets.h"
#include "change/rules/triggers.h"

// The commits below tests/corpus/commits, for tests.
namespace cloche::rules::corpus {

struct File {
  std::string path;
  uint32_t old_mode = 0644;
  uint32_t new_mode = 0644;
  std::optional<std::string> before;
  std::optional<std::string> after;

  FileChange Change() const {
    FileChange change{.path = path};
    if (before) change.before = Version{.mode = old_mode, .content = *before};
    if (after) change.after = Version{.mode = new_mode, .content = *after};
    change.same_content = before && before == after;
    return change;
  }
};

struct Commit {
  std::string name;
  std::vector<File> files;
};

inline constexpr Roots kRoots{.project = "/h/u/app", .home = "/h/u"};

// `%% file PATH [OLD_MODE NEW_MODE]`, then `%% before` and `%% after`, each with its lines.
inline Commit Parse(std::string name, const std::string& text) {
  Commit commit{.name = std::move(name)};
  std::string* open = nullptr;
  for (const std::string_view line : Lines(text)) {
    std::istringstream words{std::string(line)};
    std::string mark;
    std::string word;
    words >> mark >> word;
    if (mark != "%%") {
      open->append(line).append("\n");
      continue;
    }
    if (word == "file") {
      File file;
      words >> file.path >> std::oct >> file.old_mode >> file.new_mode;
      if (!words) file.old_mode = file.new_mode = 0644;
      if (!file.path.starts_with('/')) file.path.insert(0, "/h/u/app/");
      commit.files.push_back(std::move(file));
    } else {
      File& file = commit.files.back();
      open = &(word == "before" ? file.before : file.after).emplace();
    }
  }
  return commit;
}

inline std::vector<Commit> Read(const std::string& kind) {
  std::vector<Commit> commits;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(CLOCHE_SOURCE_DIR) +
                                                               "/tests/corpus/commits/" + kind)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    commits.push_back(Parse(entry.path().stem().string(), text));
  }
  std::ranges::sort(commits, {}, &Commit::name);
  return commits;
}

}  // namespace cloche::rules::corpus
