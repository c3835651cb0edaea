#pragma once

#include <expected>
#include <string>
#include <utility>

namespace cloche {

// The small set of ways things fail. Each has one HTTP status and one exit status (see ExitStatus).
enum class Code {
  kInvalid,      // the request makes no sense: 400, exit 2
  kNotFound,     // no such sandbox, command, file: 404, exit 3
  kConflict,     // the name is taken, the state forbids it: 409, exit 4
  kDenied,       // the caller may not: 403, exit 5
  kUnavailable,  // a layer or a daemon is missing here: 503, exit 6
  kExhausted,    // a limit, quota or budget is used up: 429, exit 7
  kInternal,     // our fault: 500, exit 70
};

// One line "verb object: reason", and the command or change that cures it (may be empty).
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string cure;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> Fail(Code code, std::string message, std::string cure = "") {
  return std::unexpected(Error{code, std::move(message), std::move(cure)});
}

const char* CodeName(Code code);  // "not_found"
Code CodeFromName(const std::string& name);
int HttpStatus(Code code);
int ExitStatus(Code code);

}  // namespace cloche

// Returns from the enclosing function when `expr` failed.
#define CLOCHE_TRY(expr)                                            \
  do {                                                              \
    if (auto cloche_try_result = (expr); !cloche_try_result)        \
      return std::unexpected(std::move(cloche_try_result).error()); \
  } while (0)

// The same in a coroutine.
#define CLOCHE_CO_TRY(expr)                                            \
  do {                                                                 \
    if (auto cloche_try_result = (expr); !cloche_try_result)           \
      co_return std::unexpected(std::move(cloche_try_result).error()); \
  } while (0)

#define CLOCHE_CONCAT_(a, b) a##b
#define CLOCHE_CONCAT(a, b) CLOCHE_CONCAT_(a, b)
#define CLOCHE_ASSIGN_IMPL(temporary, lhs, expr)                        \
  auto temporary = (expr);                                              \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  lhs = std::move(*temporary)
// ASSIGN_OR_RETURN(auto x, MakeX());
#define ASSIGN_OR_RETURN(lhs, expr) \
  CLOCHE_ASSIGN_IMPL(CLOCHE_CONCAT(cloche_result_, __LINE__), lhs, expr)
