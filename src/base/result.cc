#include "base/result.h"

#include <array>

namespace cloche {
namespace {

struct Row {
  Code code;
  const char* name;
  int http;
  int exit;
};

constexpr std::array kRows = {
    Row{Code::kInvalid, "invalid", 400, 2},         Row{Code::kNotFound, "not_found", 404, 3},
    Row{Code::kConflict, "conflict", 409, 4},       Row{Code::kDenied, "denied", 403, 5},
    Row{Code::kUnavailable, "unavailable", 503, 6}, Row{Code::kExhausted, "exhausted", 429, 7},
    Row{Code::kInternal, "internal", 500, 70},
};

const Row& Find(Code code) {
  for (const Row& row : kRows)
    if (row.code == code) return row;
  return kRows.back();
}

}  // namespace

const char* CodeName(Code code) { return Find(code).name; }
int HttpStatus(Code code) { return Find(code).http; }
int ExitStatus(Code code) { return Find(code).exit; }

Code CodeFromName(const std::string& name) {
  for (const Row& row : kRows)
    if (name == row.name) return row.code;
  return Code::kInternal;
}

}  // namespace cloche
