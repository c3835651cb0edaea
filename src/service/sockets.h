#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "service/answers.h"

namespace cloche::service {

// A socket somebody listens on, in our network namespace.
struct Listener {
  Address address;
  uint64_t inode = 0;
  uint32_t uid = 0;  // of who made it; not known of socket files
};

std::vector<Listener> ListenersHere();

std::set<uint64_t> SocketsOf(int pid);  // by inode; empty also when we may not look

}  // namespace cloche::service
