#pragma once

namespace cloche::apply {

// Restricts cloche-promote to the system calls it needs. 0 or -errno.
int GiveUpOtherCalls();

}  // namespace cloche::apply
