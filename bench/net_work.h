#pragma once

#include <string>
#include <vector>

namespace cloche::bench {

// Requests to a web server, by the same program inside a sandbox and outside; milliseconds.
// `words`:
//   download HOST PORT BYTES
//   upload HOST PORT BYTES
//   connect HOST PORT COUNT PATH   the median of so many connections with a request each
//   requests HOST PORT COUNT PATH  all of them, over 16 kept connections
//   hold HOST PORT COUNT           so many connections, each until its request is answered
double DoNetWork(const std::vector<std::string>& words);

}  // namespace cloche::bench
