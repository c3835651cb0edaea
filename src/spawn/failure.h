#pragma once

#include <expected>
#include <string>

#include "base/spawn_protocol.h"

namespace cloche::spawn {

// Why a step failed, in terms that policy/cures.cc turns into a sentence.
struct Failure {
  SpawnStep step{};
  std::string operation;
  int error = 0;  // errno
  std::string detail;
};

template <typename T>
using OrFailure = std::expected<T, Failure>;

inline std::unexpected<Failure> Failed(SpawnStep step, std::string operation, int error,
                                       std::string detail = "") {
  return std::unexpected(
      Failure{step, std::move(operation), error < 0 ? -error : error, std::move(detail)});
}

}  // namespace cloche::spawn
