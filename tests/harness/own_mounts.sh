#!/bin/sh
# own_mounts.sh MODE COMMAND...: in a mount namespace of its own, so that tests that run side by side
# do not meet each other's mounts, nor keep them busy.
#
# Rootless the uppers lie on the file system of /tmp. It is a new ext4 in memory then: ext4 does not
# reuse the inodes of files that were deleted in the last minute, and searching past those of all
# other tests took a fifth of the processor time of the whole suite.
mode=$1
shift
[ "$(id -u)" = 0 ] || exec "$@"
[ -n "${OWN_MOUNT_NAMESPACE-}" ] ||
  OWN_MOUNT_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$mode" "$@"
unset OWN_MOUNT_NAMESPACE

# Not over the tests themselves, nor where memory is short.
case $0:${CLOCHE_BIN-} in /tmp/* | *:/tmp/*) exec "$@" ;; esac
free=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1)
if [ "$mode" = rootless ] && [ "${free:-0}" -gt 8000000 ]; then
  disk=$(mktemp /dev/shm/cloche-t.XXXXXX) && truncate -s 8G "$disk" || exit 1
  mkfs.ext4 -q -F -m 0 -E nodiscard "$disk" && mount -o loop "$disk" /tmp && chmod 1777 /tmp || exit 1
  rm "$disk"  # ends with its last mount
fi
exec "$@"
