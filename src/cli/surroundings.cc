#include "cli/surroundings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/error_json.h"
#include "base/text.h"
#include "cli/helper_process.h"
#include "cli/owned_fd.h"
#include "cli/print.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostProjectFile = 64 << 10;

// A program of its own knows what may stand there: most who start us have no such file.
Status CheckProjectFile(const std::string& path) {
  ASSIGN_OR_RETURN(HelperProcess helper, HelperProcess::Start("cloche-pipeline", {"check", path}));
  const Json answer = Json::parse(helper.ReadLine(), nullptr, false);
  if (!answer.is_object()) return Fail(Code::kInternal, "cloche-pipeline gave no answer");
  if (answer.contains("error")) return std::unexpected(ErrorFromJson(answer["error"]));
  return {};
}

}  // namespace

Result<Surroundings> ReadSurroundings() {
  Surroundings around;
  char cwd[PATH_MAX];
  // The kernel answers "(unreachable)/..." for a directory outside this mount namespace's root.
  if (getcwd(cwd, sizeof cwd) == nullptr || cwd[0] != '/')
    return Fail(Code::kInvalid,
                fmt::format("read the current directory: {}", strerror(errno ? errno : ENOENT)),
                "cd to a directory that exists");
  around.cwd = cwd;
  // Where it really is: what is hidden in it must not be found behind a link.
  char home[PATH_MAX];
  if (const char* given = getenv("HOME"); given != nullptr && given[0] == '/')
    around.home = realpath(given, home) != nullptr ? home : given;
  around.project = FindProject(around.cwd, around.home, [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
  });
  for (char** variable = environ; *variable != nullptr; ++variable)
    around.environment.emplace_back(*variable);
  return around;
}

Status ReadProjectFile(Surroundings& around, bool check) {
  if (around.project.empty()) return {};
  const std::string path = around.project + "/cloche.toml";
  const OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return {};
  const auto fail = [&](const char* why) {
    return Fail(Code::kInvalid, fmt::format("read {}: {}", EscapeForTerminal(path), why),
                "what it says binds promotions: mend it, or remove it");
  };
  if (!file) return fail(strerror(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return fail("it is no file");
  std::string text;
  char buffer[16 << 10];
  ssize_t size = 0;
  while (text.size() <= kMostProjectFile && (size = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(size));
  if (size < 0) return fail(strerror(errno));
  if (text.size() > kMostProjectFile) return fail("longer than 64 KiB");
  if (!IsUtf8(text)) return fail("it is not UTF-8");
  if (text.find('\0') != std::string::npos) return fail("it holds a NUL");
  if (check) CLOCHE_TRY(CheckProjectFile(path));
  around.project_file = std::move(text);
  return {};
}

}  // namespace cloche::cli
