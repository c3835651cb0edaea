// The same targets under libFuzzer; libfuzzer.sh builds and runs this. CLOCHE_FUZZ names the
// target.
#include <cstdio>
#include <cstdlib>

#include "egress_targets.h"
#include "fuzz.h"

namespace cloche::fuzz {

void Require(bool holds, const std::string& promise, const std::string& evidence) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n  %s\n", promise.c_str(), evidence.c_str());
  std::abort();
}

}  // namespace cloche::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  static const char* name = std::getenv("CLOCHE_FUZZ");
  for (const auto& target : cloche::fuzz::EgressTargets()) {
    if (name != nullptr && target.name == name)
      target.read({reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
