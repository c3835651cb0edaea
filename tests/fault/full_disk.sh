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
check "the disk can be unmounted" unmount "$STATE"

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
check "the disk can be unmounted" unmount "$STATE"

# Full while sandboxes are at work: the host's disk first, so the pool cannot grow.
disk 1500M
try cloche new --name worker
if [ $status = 0 ]; then
  try cloche exec worker -- sh -c 'echo before > kept'
  dd if=/dev/zero of="$STATE/filler" bs=1M > /dev/null 2>&1
  cloche exec worker -- sh -c 'dd if=/dev/zero of=big bs=1M count=2000' > /dev/null 2> "$ERR"
  check "inside, a full disk is an error of write" says 'space\|quota\|[Rr]ead-only\|[Ii]nput/output'
  try cloche exec worker -- cat kept
  check "files written before are there" prints before
  try cloche rm worker
  check "it can be removed on a full disk" exits 0
  rm -f "$STATE/filler"
  try cloche rm --all
  works() { cloche run -- sh -c 'echo again > f; cat f' | grep -q again; }
  check "with room again sandboxes work" until_true works
else
  check "a pool that does not fit is refused with a cure" says 'cure:'
fi
try cloche rm --all
stop_daemon
unmount "$STATE"

# Full while states are saved, returned to and forked.
disk 1500M
try cloche new --name saver
if [ $status = 0 ]; then
  cloche exec saver -- sh -c 'echo before > kept; dd if=/dev/urandom of=data bs=1M count=60' > /dev/null 2>&1
  try cloche snapshot saver --name early
  check "with room a state is saved" exits 0
  cloche exec saver -- sh -c 'echo after > kept' > /dev/null
  dd if=/dev/zero of="$STATE/filler" bs=1M > /dev/null 2>&1
  cloche exec saver -- sh -c 'dd if=/dev/zero of=big bs=1M count=2000' > /dev/null 2>&1
  for words in "snapshot saver" "fork saver"; do
    # shellcheck disable=SC2086
    try cloche $words
    check "on a full disk: $words works, or is refused with a cure" [ $status = 0 -o -n "$(grep cure: "$ERR")" ]
    try cloche exec saver -- cat kept
    check "and the sandbox continues" prints after
  done
  try cloche rollback saver early
  check "a rollback, too" [ $status = 0 -o -n "$(grep cure: "$ERR")" ]
  [ $status = 0 ] && want=before || want=after
  rm -f "$STATE/filler"
  holds() { cloche exec saver -- grep -q $want kept; }
  check "it is the old state or the new one, whole" until_true holds
  for each in $(cloche ls --all --json | grep -o '"id":"sb_[a-z0-9]*"' | cut -d'"' -f4); do
    cloche exec "$each" -- rm -f big > /dev/null 2>&1
  done
  again() { cloche rollback saver early && cloche exec saver -- grep -q before kept; }
  check "with room again it is rolled back" until_true again
  saves() { cloche snapshot saver; }
  check "and saved" until_true saves
  listed=$(cloche snapshots saver --json | grep -o '"id":"sn_[a-z0-9]*"' | cut -d'"' -f4 | sort)
  stop_daemon
  until_true settled
  POOL=$STATE/pool
  [ "$MODE" = rootless ] || { POOL=$DISK/pool; mkdir "$POOL"; mount -o loop,ro "$STATE/pool.img" "$POOL"; }
  check "nothing half-made is left" is "$(ls "$POOL/snaps"; find "$POOL/once" -name 'draft*')" "$listed"
  [ "$MODE" = rootless ] || unmount "$POOL"
fi
