#pragma once

#include <span>
#include <string_view>

namespace cloche::fuzz {

// The parsers of cloche-egress for bytes of strangers: bytes in, promises checked, true when they
// were accepted. Both fuzzers run these, cloche-fuzz and libFuzzer; inputs to begin with are in
// tests/corpus/egress/NAME.
struct ByteTarget {
  std::string_view name;
  bool (*read)(std::string_view bytes);
};
std::span<const ByteTarget> EgressTargets();

}  // namespace cloche::fuzz
