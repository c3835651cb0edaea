#!/usr/bin/env bash
# A state directory on a full or tiny disk: refused clearly, nothing half-made, and it recovers.
. "$(dirname "$0")/../harness/lib.sh"
[ "$(id -u)" = 0 ] || skip "mounting a small file system needs root"
stop_daemon
# Not below /tmp: a mount there is in the way of every rootless sandbox that works in /tmp.
DISK=$(mktemp -d /mnt/cloche-t.XXXXXX)
chmod 755 "$DISK"
STATE=$DISK/state

# disk SIZE: a file system of that size as the state directory.
disk() {
  umount "$STATE" 2> /dev/null
  rm -rf "$STATE"
  mkdir -p "$STATE"
  rm -f "$T/disk.img"
  truncate -s "$1" "$T/disk.img"
  mkfs.ext4 -q -F "$T/disk.img"
  mount -o loop "$T/disk.img" "$STATE" || { echo "cannot mount"; exit 1; }
  chmod 711 "$STATE"
  [ "$MODE" != rootless ] || { chown "$CALLER_UID" "$STATE"; chmod 700 "$STATE"; }
}
undo() { cd /; stop_daemon; umount "$STATE" 2> /dev/null; rm -rf "$DISK"; finish; }
trap undo EXIT
cd "$WORK" || exit 1
settled() { [ -z "$(our_processes)" ]; }

disk 16M
try cloche run -- echo ran
if [ $status = 0 ]; then
  check "on 16 MB it works" prints ran
else
  check "on 16 MB it is refused" exits 125
  check "and says which directory or disk" says 'state\|disk\|space\|pool'
  check "with a cure" says 'cure:'
  check "nothing ran" prints_nothing
fi
stop_daemon
check "no process is left" until_true settled
check "no loop device on the pool is left" not sh -c "losetup -a | grep -F '$STATE/'"
check "the disk can be unmounted" umount "$STATE"

disk 1500M
dd if=/dev/zero of="$STATE/filler" bs=1M > /dev/null 2>&1
try cloche new --name half
full=$status
if [ $full != 0 ]; then
  check "on a full disk a sandbox is refused with a cure" says 'cure:'
  rm -f "$STATE/filler"
    try cloche ls --all --json
  check "nothing is half-made" prints '[]'
  try cloche new --name half
  check "with room again it works" exits 0
fi
try cloche rm --all
stop_daemon
check "no process is left" until_true settled
check "no loop device on the pool is left" not sh -c "losetup -a | grep -F '$STATE/'"
check "the disk can be unmounted" umount "$STATE"

# Full while sandboxes are at work: the host's disk first, so the pool cannot grow.
disk 1500M
try cloche new --name worker
if [ $status = 0 ]; then
  try cloche exec worker -- sh -c 'echo before > kept'
  dd if=/dev/zero of="$STATE/filler" bs=1M > /dev/null 2>&1
  cloche exec worker -- sh -c 'dd if=/dev/zero of=big bs=1M count=2000' > /dev/null 2> "$ERR"
  check "inside, a full disk is an error of write" says 'space\|quota\|[Rr]ead-only\|[Ii]nput/output'
  try cloche exec worker -- cat kept
  check "what was written before is there" prints before
  try cloche rm worker
  check "it can be removed on a full disk" exits 0
  rm -f "$STATE/filler"
  try cloche rm --all
  works() { cloche run -- sh -c 'echo again > f; cat f' | grep -q again; }
  check "with room again sandboxes work" until_true works
else
  check "a pool that does not fit is refused with a cure" says 'cure:'
fi
