// Compares MergeTexts with `git merge-file`: the same text, and conflicts in the same places.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "change/rules/merge3.h"

namespace cloche::rules {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "cloche-merge-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Texts {
  std::string base;
  std::string ours;
  std::string theirs;
};

struct Answer {
  int conflicts = -1;
  std::string text;
};

std::string Read(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// One shell for all cases.
std::vector<Answer> AskGit(const std::vector<Texts>& cases) {
  const Folder folder;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = folder.path() / std::to_string(i);
    std::ofstream(name + ".base", std::ios::binary) << cases[i].base;
    std::ofstream(name + ".ours", std::ios::binary) << cases[i].ours;
    std::ofstream(name + ".theirs", std::ios::binary) << cases[i].theirs;
  }
  const std::string script =
      "cd '" + folder.path().string() +
      "' && export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=/nowhere"
      " GIT_CEILING_DIRECTORIES=/ && i=0 && while [ -e $i.base ]; do"
      " git merge-file -p -L ours -L base -L theirs $i.ours $i.base $i.theirs > $i.text;"
      " echo $? > $i.status; i=$((i+1)); done";
  EXPECT_EQ(std::system(script.c_str()), 0);  // NOLINT(cert-env33-c)
  std::vector<Answer> answers;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = folder.path() / std::to_string(i);
    Answer answer{.text = Read(name + ".text")};
    std::ifstream(name + ".status") >> answer.conflicts;
    answers.push_back(answer);
  }
  return answers;
}

// Creates texts and changes them the way people and programs do.
class Author {
 public:
  Author(unsigned seed, Lines words) : random_(seed), words_(std::move(words)) {}

  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }

  std::string Line() {
    const std::string word = words_.empty() ? "#" : words_[Below(words_.size())];
    return word == "#" ? "line " + std::to_string(Below(100'000)) : word;
  }

  Lines Page(size_t count) {
    Lines lines(count);
    for (std::string& line : lines) line = Line();
    return lines;
  }

  Lines Edited(Lines lines, size_t edits) {
    for (size_t i = 0; i < edits; ++i) Edit(lines);
    return lines;
  }

  std::string Join(const Lines& lines, const std::string& newline, bool last_newline) {
    std::string text;
    for (const std::string& line : lines) text += line + newline;
    if (!last_newline && !text.empty()) text.resize(text.size() - newline.size());
    return text;
  }

 private:
  void Edit(Lines& lines) {
    const auto at = static_cast<std::ptrdiff_t>(Below(lines.size() + 1));
    const auto left = static_cast<std::ptrdiff_t>(lines.size()) - at;
    const auto count = static_cast<std::ptrdiff_t>(Below(4));
    switch (Below(5)) {
      case 0:  // insert
        for (const std::string& line : Page(1 + Below(4))) lines.insert(lines.begin() + at, line);
        break;
      case 1:  // delete
        lines.erase(lines.begin() + at, lines.begin() + at + std::min(left, 1 + count));
        break;
      case 2: {  // move a few lines
        const Lines moved(lines.begin() + at, lines.begin() + at + std::min(left, 1 + count));
        lines.erase(lines.begin() + at, lines.begin() + at + std::min(left, 1 + count));
        const auto to = static_cast<std::ptrdiff_t>(Below(lines.size() + 1));
        lines.insert(lines.begin() + to, moved.begin(), moved.end());
        break;
      }
      case 3: {  // copy a few lines
        const Lines copied(lines.begin() + at, lines.begin() + at + std::min(left, 1 + count));
        const auto to = static_cast<std::ptrdiff_t>(Below(lines.size() + 1));
        lines.insert(lines.begin() + to, copied.begin(), copied.end());
        break;
      }
      default:
        if (left > 0) lines[static_cast<size_t>(at)] = Line();
    }
  }

  std::mt19937 random_;
  Lines words_;
};

struct Profile {
  Lines words;  // "#", or none: a line that hardly ever repeats
  size_t lines;
  size_t edits;
  size_t cases;
};

std::vector<Texts> MakeCases(const Profile& profile, unsigned seed) {
  Author author(seed, profile.words);
  std::vector<Texts> cases;
  for (size_t i = 0; i < profile.cases; ++i) {
    const Lines base = author.Page(author.Below(profile.lines + 1));
    const Lines shared = author.Chance(2) ? author.Edited(base, 1 + author.Below(3)) : base;
    const auto edits = [&] { return author.Below(profile.edits + 1); };
    const Lines ours = author.Edited(shared, edits());
    const Lines theirs = author.Edited(author.Chance(2) ? shared : base, edits());
    const std::string newline = author.Chance(5) ? "\r\n" : "\n";
    const auto join = [&](const Lines& lines) {
      return author.Join(lines, author.Chance(25) ? "\r\n" : newline, !author.Chance(6));
    };
    cases.push_back({join(base), join(ours), join(theirs)});
  }
  return cases;
}

void ExpectAsGit(const std::vector<Texts>& cases) {
  const std::vector<Answer> answers = AskGit(cases);
  size_t clean = 0;
  size_t different = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [base, ours, theirs] = cases[i];
    const Result<Merged> merged = MergeTexts(base, ours, theirs);
    ASSERT_TRUE(merged) << merged.error().message;
    if (merged->Clean()) ++clean;
    if (static_cast<int>(std::min<size_t>(merged->conflicts.size(), 127)) == answers[i].conflicts &&
        merged->text == answers[i].text)
      continue;
    if (++different > 2) continue;
    ADD_FAILURE() << "case " << i << ": " << merged->conflicts.size() << " conflicts, git has "
                  << answers[i].conflicts << "\nbase:\n"
                  << base << "\nours:\n"
                  << ours << "\ntheirs:\n"
                  << theirs << "\nmerged:\n"
                  << merged->text << "\nby git:\n"
                  << answers[i].text;
  }
  EXPECT_EQ(different, 0u) << "of " << cases.size();
  // The cases cover both outcomes.
  EXPECT_GT(clean, cases.size() / 20);
  EXPECT_LT(clean, cases.size());
}

TEST(MergeAsGit, MergesLinesThatHardlyRepeat) { ExpectAsGit(MakeCases({{}, 40, 6, 1000}, 1)); }

TEST(MergeAsGit, MergesLinesThatRepeatAllTheTime) {
  ExpectAsGit(MakeCases({{"a", "b", "c"}, 20, 5, 1500}, 2));
}

TEST(MergeAsGit, MergesARepeatedLine) { ExpectAsGit(MakeCases({{"a", "a", "b"}, 12, 4, 500}, 3)); }

TEST(MergeAsGit, MergesTextsThatLookLikeCode) {
  const Lines code = {"",
                      "}",
                      "  }",
                      "{",
                      "  return 0;",
                      "",
                      "*/",
                      "int main()",
                      "  int i = 0;",
                      "  if (i == 1) {",
                      "    ++i;",
                      "/*",
                      "  //",
                      "    break;",
                      "  default:",
                      "#include <a>"};
  ExpectAsGit(MakeCases({code, 120, 8, 1000}, 4));
}

// Frequent lines amid new ones do not count as common.
TEST(MergeAsGit, MergesNewLinesWithEmptyOnesAmongThem) {
  Profile profile{{"", "#", "#", "#", "#", "#", "#"}, 30, 3, 600};
  std::vector<Texts> cases = MakeCases(profile, 8);
  Author author(9, profile.words);
  for (Texts& texts : cases) {
    const std::string page = author.Join(author.Page(60), "\n", true);
    const size_t at = texts.ours.find('\n', author.Below(texts.ours.size()));
    if (at != std::string::npos) texts.ours.insert(at + 1, page);
  }
  ExpectAsGit(cases);
}

TEST(MergeAsGit, MergesLargeTextsWithManyEdits) { ExpectAsGit(MakeCases({{}, 2000, 60, 100}, 5)); }

TEST(MergeAsGit, MergesLargeTextsOfFewWords) {
  ExpectAsGit(MakeCases({{"", "}", "a", "b", "c", "d", "e", "f", "g", "h"}, 600, 12, 200}, 6));
}

// With more than 256 edits in one search, git and we each settle for a good path instead of the
// best, and may split a conflict differently. Whether there is one is the same.
TEST(MergeAsGit, RewrittenTextsConflictWhereGitSaysSo) {
  const Lines few = {"", "}", "a", "b", "c", "d", "e", "f", "g", "h"};
  const std::vector<Texts> cases = MakeCases({few, 600, 400, 200}, 7);
  const std::vector<Answer> answers = AskGit(cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Result<Merged> merged = MergeTexts(cases[i].base, cases[i].ours, cases[i].theirs);
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->Clean(), answers[i].conflicts == 0) << "case " << i;
    if (merged->Clean()) {
      EXPECT_EQ(merged->text, answers[i].text) << "case " << i;
    }
  }
}

}  // namespace
}  // namespace cloche::rules
