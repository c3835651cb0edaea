#pragma once

namespace cloche::sign {

// What is left to the two processes of cloche-sign. For good; 0 or -errno.
int KeepCallsOfBridge();  // neither opens, connects, starts nor signals anything
int KeepCallsOfDialer();  // connects

}  // namespace cloche::sign
