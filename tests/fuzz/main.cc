// cloche-fuzz TARGET [ROUNDS [FIRST]]: feeds mutated input to code that reads what others wrote.
// Each round depends on its number alone, so `cloche-fuzz TARGET 1 N` repeats round N. CTest runs
// a few seconds of each target; for longer, by hand:
//   build-asan/tests/cloche-fuzz plan 10000000
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz.h"

namespace cloche::fuzz {
namespace {

struct Target {
  std::string_view name;
  bool (*function)(Random&);
};

constexpr Target kTargets[] = {
    {"plan", FuzzPlan},
    {"request", FuzzRequest},
    {"text", FuzzText},
    {"frames", FuzzFrames},
    {"quantity", FuzzQuantity},
    {"messages", FuzzMessages},
    {"seccomp", FuzzSeccomp},
    {"cures", FuzzCures},
    {"changes", FuzzChanges},
    {"patches", FuzzPatches},
    {"egress-dns", FuzzEgressDns},
    {"egress-hello", FuzzEgressHello},
    {"egress-certificate", FuzzEgressCertificate},
    {"egress-redact", FuzzEgressRedact},
    {"egress-http", FuzzEgressHttp},
    {"egress-socks", FuzzEgressSocks},
    {"egress-rule", FuzzEgressRule},
    {"egress-h2", FuzzEgressH2},
    {"egress-control", FuzzEgressControl},
    {"egress-canary", FuzzEgressCanary},
    {"sign", FuzzSign},
};

uint64_t round_number = 0;

int Run(const Target& target, uint64_t rounds, uint64_t first) {
  uint64_t accepted = 0;
  for (round_number = first; round_number < first + rounds; ++round_number) {
    Random random(round_number);
    accepted += target.function(random) ? 1 : 0;
  }
  std::printf("%s: %llu rounds, %llu accepted\n", target.name.data(),
              static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(accepted));
  if (rounds < 1000 || (accepted > 0 && accepted < rounds)) return 0;
  std::printf("this judges nothing: all or none were accepted\n");
  return 1;
}

}  // namespace

void Require(bool holds, const std::string& promise, const std::string& evidence) {
  if (holds) return;
  std::printf("round %llu: broken: %s\n  %s\n", static_cast<unsigned long long>(round_number),
              promise.c_str(), evidence.c_str());
  std::fflush(stdout);
  std::abort();
}

}  // namespace cloche::fuzz

int main(int argc, char** argv) {
  using namespace cloche::fuzz;
  const uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  for (const Target& target : kTargets)
    if (argc > 1 && target.name == argv[1]) return Run(target, rounds, first);
  std::printf("usage: cloche-fuzz TARGET [ROUNDS [FIRST]]; targets:");
  for (const Target& target : kTargets) std::printf(" %s", target.name.data());
  std::printf("\n");
  return 2;
}
