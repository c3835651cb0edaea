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
#include "cli/print.h"
#include "sys/fd.h"

namespace cloche::cli {
namespace {

constexpr size_t kMostProjectFile = 64 << 10;

// A program of its own knows what may stand in them: most callers have no such files.
Status ReadDefaults(Surroundings& around, const std::string& project, const std::string& settings) {
  ASSIGN_OR_RETURN(HelperProcess helper,
                   HelperProcess::Start("cloche-pipeline", {"check", project, settings}));
  const Json answer = Json::parse(helper.ReadLine(), nullptr, false);
  if (!answer.is_object()) return Fail(Code::kInternal, "cloche-pipeline gave no answer");
  if (answer.contains("error")) return std::unexpected(ErrorFromJson(answer["error"]));
  around.wishes = Field(answer, "wishes");
  around.settings = Field(answer, "settings");
  return {};
}

// The person's own; "" when there is none.
std::string SettingsPath(const std::string& home) {
  const char* given = getenv("XDG_CONFIG_HOME");
  const std::string directory = given != nullptr && given[0] == '/' ? given
                                : home.empty()                      ? ""
                                                                    : home + "/.config";
  if (directory.empty()) return "";
  const std::string path = directory + "/cloche/config.toml";
  return access(path.c_str(), F_OK) == 0 ? path : "";
}

Result<std::string> ReadProjectText(const std::string& path) {
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return "";
  const auto fail = [&](const char* why) {
    return Fail(Code::kInvalid, fmt::format("read {}: {}", EscapeForTerminal(path), why),
                "what it says binds promotions: mend it, or remove it");
  };
  if (!file.valid()) return fail(strerror(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return fail("not a file");
  std::string text;
  char buffer[16 << 10];
  ssize_t size = 0;
  while (text.size() <= kMostProjectFile && (size = read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(size));
  if (size < 0) return fail(strerror(errno));
  if (text.size() > kMostProjectFile) return fail("longer than 64 KiB");
  if (!IsUtf8(text)) return fail("it is not UTF-8");
  if (text.find('\0') != std::string::npos) return fail("it holds a NUL");
  return text;
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
  // The real path: files hidden in it must not be found behind a link.
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

Status ReadProjectFile(Surroundings& around) {
  const std::string path = around.project.empty() ? "" : around.project + "/cloche.toml";
  if (!path.empty()) {
    ASSIGN_OR_RETURN(around.project_file, ReadProjectText(path));
  }
  const std::string settings = SettingsPath(around.home);
  if (around.project_file.empty() && settings.empty()) return {};
  return ReadDefaults(around, around.project_file.empty() ? "" : path, settings);
}

}  // namespace cloche::cli
