#pragma once

namespace cloche::egress {

// Restricts us to the system calls that serving needs: sockets, pipes, memory. No file, no program,
// no signal to others. 0 or -errno.
int GiveUpOtherCalls();

}  // namespace cloche::egress
