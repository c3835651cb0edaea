#include "daemon/canaries.h"

#include <string>

#include "sys/file.h"

namespace cloche::daemon {

void DrawDecoys(CanaryRequest& canaries) {
  if (!canaries.wanted) return;
  std::string random(kDecoyRandom, '\0');
  sys::RandomBytes(reinterpret_cast<unsigned char*>(random.data()), random.size());
  canaries.decoys = MakeDecoys(random);
}

}  // namespace cloche::daemon
