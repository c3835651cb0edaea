#include "daemon/production_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "egress/host_name.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

constexpr const char* kSystemFile = "/etc/cloche/production-hosts";

std::vector<std::string> Files(Mode mode) {
  const auto variable = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value ? value : "");
  };
  const std::string instead = variable("CLOCHE_PRODUCTION_HOSTS");  // for tests
  std::vector<std::string> files = {instead.empty() ? kSystemFile : instead};
  if (mode == Mode::kSystem || !instead.empty()) return files;
  std::string config = variable("XDG_CONFIG_HOME");
  if (config.empty()) config = variable("HOME") + "/.config";
  files.push_back(config + "/cloche/production-hosts");
  return files;
}

}  // namespace

Result<ProductionHosts> ProductionHosts::Read(Mode mode) {
  ProductionHosts all;
  for (const std::string& path : Files(mode)) {
    std::string text;
    const int error = sys::ReadFileAt(AT_FDCWD, path.c_str(), text);
    if (error == -ENOENT || error == -ENOTDIR) continue;
    if (error < 0)
      return Fail(Code::kUnavailable, fmt::format("read {}: {}", path, strerror(-error)),
                  "make it readable for cloched: it names what must not be granted");
    ASSIGN_OR_RETURN(const ProductionHosts some, Parse(text, path));
    all.hosts_.insert(all.hosts_.end(), some.hosts_.begin(), some.hosts_.end());
    all.denials_.insert(all.denials_.end(), some.denials_.begin(), some.denials_.end());
  }
  return all;
}

Result<ProductionHosts> ProductionHosts::Parse(const std::string& text, const std::string& path) {
  ProductionHosts out;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word, more;
    if (!(words >> word)) continue;
    egress::Rule rule;
    rule.id = "production";
    rule.allow = false;
    rule.first_port = 1;
    rule.last_port = 65535;
    rule.range = ParseIpRange(word);
    const bool wild = word.starts_with("*.");
    if (!rule.range)
      if (const auto name = egress::NormaliseHost(wild ? word.substr(2) : word))
        rule.host = (wild ? "*." : "") + *name;
    if (words >> more || (!rule.range && rule.host.empty()))
      return Fail(Code::kInvalid,
                  fmt::format("read {}: line {}: {} is not a host", path, number,
                              EscapeForTerminal(line.substr(0, 100))),
                  "a line is a name, *.NAME, an address or a range such as 10.0.0.0/8");
    if (!rule.host.empty()) out.hosts_.push_back({rule.host, path});
    out.denials_.push_back(rule);  // a denial covers every kind
  }
  return out;
}

Status ProductionHosts::Check(const egress::Rule& rule) const {
  if (!rule.allow || rule.host.empty()) return {};
  const auto found = std::ranges::find_if(hosts_, [&](const Host& host) {
    return host.pattern == rule.host || egress::HostMatches(host.pattern, rule.host);
  });
  if (found == hosts_.end()) return {};
  return Fail(Code::kDenied,
              fmt::format("grant {}: it is marked as production in {}", rule.host, found->path),
              "no flag grants it: promote the change, and let what runs outside reach it");
}

}  // namespace cloche::daemon
