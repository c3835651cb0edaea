#!/bin/sh
# own_mounts.sh COMMAND...: in a mount namespace of its own, so that tests that run side by side do
# not meet each other's mounts, nor keep them busy.
[ "$(id -u)" != 0 ] || exec unshare --mount --propagation private "$@"
exec "$@"
