#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "egress/control.h"

namespace cloche::egress {

// `rate` a second on average, a second's worth at once.
class Bucket {
 public:
  bool Take(uint64_t rate, int64_t now_ms);

 private:
  double tokens_ = -1;  // full at first
  int64_t last_ = 0;
};

// The traffic of a sandbox, over all and for each host. Counted against limits that may change.
class Usage {
 public:
  // Empty when there is room; otherwise what is used up.
  std::string TakeRequest(const Limits& limits, const std::string& host, int64_t now_ms);
  std::string OpenConnection(const Limits& limits, const std::string& host);
  void CloseConnection(const std::string& host);
  std::string AddBytes(const Limits& limits, const std::string& host, bool up, uint64_t bytes);
  uint64_t connections() const { return all_.connections; }

 private:
  struct Sum {
    Bucket requests;
    uint64_t connections = 0, up = 0, down = 0;
  };
  Sum& Of(const std::string& host);

  Sum all_;
  std::map<std::string, Sum> hosts_;
};

}  // namespace cloche::egress
