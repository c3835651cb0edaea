#!/usr/bin/env bash
# The pool's image has no holes, whatever sandboxes delete: on a full host nothing is lost that was synced.
. "$(dirname "$0")/../harness/lib.sh"
[ "$(id -u)" = 0 ] || skip "mounting a small file system needs root"
stop_daemon
# Not below /tmp: a mount there is in the way of every rootless sandbox that works in /tmp.
DISK=$(mktemp -d /mnt/cloche-t.XXXXXX)
chmod 755 "$DISK"
STATE=$DISK/state IMAGE=$DISK/state/pool.img
undo() { cd /; stop_daemon; umount -q "$DISK/trim"; umount -q "$STATE"; rm -rf "$DISK"; finish; }
trap undo EXIT
mkdir "$STATE" "$DISK/trim"
truncate -s 700M "$T/disk.img" && mkfs.ext4 -q -F -m 0 "$T/disk.img" || exit 1
mount -o loop "$T/disk.img" "$STATE" && chmod 711 "$STATE" || exit 1
cd "$WORK" || exit 1

allocated() { echo $(($(stat -c '%b * %B' "$IMAGE"))); }
is_whole() { sync -f "$IMAGE"; [ "$(allocated)" -ge "$(stat -c %s "$IMAGE")" ] || { ls -ls "$IMAGE" >&2; false; }; }
# fill_host BYTES: and leaves this much.
fill_host() {
  fallocate -l $((1 << 30)) "$STATE/filler" 2> /dev/null  # fails, and takes what there is
  truncate -s "$(($(stat -c '%b * %B' "$STATE/filler") - $1))" "$STATE/filler"
}
# As an earlier version left it.
make_holes() {
  mount -o loop "$IMAGE" "$DISK/trim" && fstrim "$DISK/trim"
  unmount "$DISK/trim"
  ! is_whole 2> /dev/null
}

try cloche new --name box
check "a sandbox starts" exits 0
check "a new image is whole" is_whole
cloche exec box -- sh -c 'dd if=/dev/urandom of=old bs=1M count=100; sync; rm old; sync' > "$T/log" 2>&1
spawn=$(ps -o pid= --ppid "$(daemon_pid)" | head -1)
check "the pool is mounted without discard" not grep -q "/pool .*[ ,]discard" "/proc/${spawn// /}/mountinfo"
check "a deleted file leaves no hole" is_whole

fill_host 0
wrote=$(cloche exec box -- sh -c 'head -c 150000000 /dev/urandom | tee new | sha256sum && sync' 2> "$ERR")
check "on a full host a sandbox writes into its pool" is "${#wrote}" 67
cloche stop box > "$T/log" 2>&1
rm "$STATE/filler"
stop_daemon
check "and it is there when it is read from the disk" is "$(cloche exec box -- sha256sum new < /dev/null | cut -c -64)" "${wrote%  -}"
check "the image is whole" is_whole

cloche exec box -- rm new > "$T/log" 2>&1
stop_daemon
check "an image with holes can be made" make_holes
try cloche run -- true
check "its holes are filled at start" is_whole
stop_daemon
make_holes
fill_host $((8 << 20))  # for the registry
try cloche run -- echo ran
check "if the disk cannot hold them nothing starts" exits 125
check "that is reported" says 'has holes'
check "with a cure" says 'cure: '
rm "$STATE/filler"
try cloche exec box -- echo ran
check "with room again it works" prints ran
check "and the image is whole" is_whole
