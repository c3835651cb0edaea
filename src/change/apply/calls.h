#pragma once

namespace cloche::apply {

// From here on cloche-promote has the calls that it needs, and no others. 0 or -errno.
int GiveUpOtherCalls();

}  // namespace cloche::apply
