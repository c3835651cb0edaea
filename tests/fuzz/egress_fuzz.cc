// The parsers of cloche-egress, with inputs of tests/corpus/egress changed at random.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "egress_targets.h"
#include "fuzz.h"

namespace cloche::fuzz {
namespace {

using Corpus = std::vector<std::string>;

const Corpus& CorpusOf(std::string_view name) {
  static std::map<std::string_view, Corpus> read;
  Corpus& corpus = read[name];
  if (!corpus.empty()) return corpus;
  const std::filesystem::path folder =
      std::filesystem::path(CLOCHE_SOURCE_DIR) / "tests/corpus/egress" / name;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  Require(!corpus.empty(), "there is a corpus", folder);
  return corpus;
}

bool FuzzBytes(Random& random, std::string_view name) {
  static constexpr std::string_view kWords[] = {"\r\n",
                                                "\r\n\r\n",
                                                "\n",
                                                std::string_view("\0", 1),
                                                "chunked",
                                                "Content-Length: 1\r\n",
                                                "Transfer-Encoding: chunked\r\n",
                                                "Host: a.example\r\n",
                                                "\x1e",
                                                "\x1f",
                                                "\x1etransfer-encoding\037chunked\x1e",
                                                "\x1e:path\x1f/x",
                                                "0\r\n\r\n",
                                                "%2e",
                                                "..",
                                                "//",
                                                "@",
                                                "*.",
                                                ":",
                                                "443",
                                                "65536",
                                                "[::1]",
                                                "127.0.0.1",
                                                "10.0.0.0/8",
                                                "https://",
                                                "\x16\x03\x01",
                                                std::string_view("\xc0\x0c", 2),
                                                "\x05",
                                                "\"",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                "null",
                                                ",",
                                                "-",
                                                " "};
  for (const ByteTarget& target : EgressTargets()) {
    if (target.name != name) continue;
    const Corpus& corpus = CorpusOf(name);
    std::string bytes = corpus[random.Below(corpus.size())];
    if (!random.OneIn(8)) bytes = Mutate(random, std::move(bytes), kWords);
    return target.read(bytes);
  }
  Require(false, "a target of this name", std::string(name));
  return false;
}

}  // namespace

bool FuzzEgressDns(Random& random) { return FuzzBytes(random, "dns"); }
bool FuzzEgressHello(Random& random) { return FuzzBytes(random, "hello"); }
bool FuzzEgressCertificate(Random& random) { return FuzzBytes(random, "certificate"); }
bool FuzzEgressRedact(Random& random) { return FuzzBytes(random, "redact"); }
bool FuzzEgressHttp(Random& random) { return FuzzBytes(random, "http"); }
bool FuzzEgressH2(Random& random) { return FuzzBytes(random, "h2"); }
bool FuzzEgressSocks(Random& random) { return FuzzBytes(random, "socks"); }
bool FuzzEgressRule(Random& random) { return FuzzBytes(random, "rule"); }
bool FuzzEgressControl(Random& random) { return FuzzBytes(random, "control"); }
bool FuzzEgressCanary(Random& random) { return FuzzBytes(random, "canary"); }

}  // namespace cloche::fuzz
