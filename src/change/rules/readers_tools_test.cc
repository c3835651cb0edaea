// Compares the judges with the tools themselves: tests/property/readers.py makes changes and asks
// git, make, bash, Python, node, cmake and the usual parsers whether something else runs after
// them. CLOCHE_SEED and CLOCHE_CASES (texts for each tool) vary or lengthen the run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "change/rules/corpus.h"

namespace cloche::rules {
namespace {

namespace fs = std::filesystem;

std::string Setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string Escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out.push_back(c);
    }
  }
  return out;
}

bool Alarms(const std::vector<Trigger>& triggers) {
  return std::ranges::any_of(triggers,
                             [](const Trigger& t) { return t.severity == Severity::kAlarm; });
}

struct Count {
  size_t all = 0;
  size_t running = 0;  // the tool runs something else
  size_t needless = 0;
};

TEST(ReadersTools, AnythingElseThatAToolRunsIsAnAlarm) {
  std::string name = fs::temp_directory_path() / "cloche-readers-XXXXXX";
  const fs::path folder = ::mkdtemp(name.data());
  const std::string cases = folder / "cases";
  const std::string seed = Setting("CLOCHE_SEED", "1");
  const std::string command = "python3 '" + std::string(CLOCHE_SOURCE_DIR) +
                              "/tests/property/readers.py' " + seed + " " +
                              Setting("CLOCHE_CASES", "40") + " '" + cases + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(cert-env33-c)
  std::ifstream file(cases, std::ios::binary);
  std::map<std::string, Count> counts;
  std::string tool;
  std::string path;
  bool must = false;
  size_t before_size = 0;
  size_t after_size = 0;
  while (file >> tool >> path >> must >> before_size >> after_size) {
    file.get();
    std::string before(before_size, '\0');
    std::string after(after_size, '\0');
    file.read(before.data(), static_cast<std::streamsize>(before_size));
    file.read(after.data(), static_cast<std::streamsize>(after_size));
    ASSERT_TRUE(file.good());
    if (!path.starts_with('/')) path.insert(0, "/h/u/app/");
    const bool alarms = Alarms(FindTriggers(
        {.path = path, .before = Version{.content = before}, .after = Version{.content = after}},
        corpus::kRoots));
    EXPECT_TRUE(alarms || !must) << tool << " with seed " << seed
                                 << " runs something else:\n--- before\n"
                                 << Escaped(before) << "\n--- after\n"
                                 << Escaped(after);
    Count& count = counts[tool];
    ++count.all;
    count.running += must ? 1 : 0;
    count.needless += alarms && !must ? 1 : 0;
  }
  for (const auto& [each, count] : counts) {
    std::cout << each << ": " << count.all << " changes, " << count.running
              << " that run something else, " << count.needless << " needless alarms\n";
    // Without these, a pass would mean nothing.
    EXPECT_GT(count.running, 0u) << each;
    EXPECT_LT(count.needless, count.all - count.running) << each << " alarms at everything";
  }
  EXPECT_GE(counts.size(), 11u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cloche::rules
