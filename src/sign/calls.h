#pragma once

namespace cloche::sign {

// Limits the two processes of cloche-sign to the system calls they need. For good; 0 or -errno.
int KeepCallsOfBridge();  // neither opens, connects, starts nor signals anything
int KeepCallsOfDialer();  // connects

}  // namespace cloche::sign
