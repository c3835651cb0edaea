#pragma once

namespace cloche::egress {

// What is left of the kernel once we serve: sockets, pipes, memory. No file, no program, no signal
// to others. 0 or -errno.
int GiveUpOtherCalls();

}  // namespace cloche::egress
