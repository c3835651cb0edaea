#!/usr/bin/env bash
# One ordinary user of root's daemon gets half of the pool, and no more, however many sandboxes have it.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" = shared ] || skip "about two users of root's daemon"
other_cloche() { as_user $((CALLER_UID + 1)) "$BIN/cloche" "$@"; }
stop_daemon
DISK=$(mktemp -d /mnt/cloche-t.XXXXXX)
chmod 755 "$DISK"
STATE=$DISK/state
undo() { cd /; stop_daemon; umount "$STATE" 2> /dev/null; rm -rf "$DISK"; finish; }
trap undo EXIT
truncate -s 1500M "$T/disk.img"
mkfs.ext4 -q -F "$T/disk.img"
mkdir -p "$STATE" && mount -o loop "$T/disk.img" "$STATE" || exit 1
chmod 711 "$STATE"
cd "$WORK" || exit 1
root_cloche ls > /dev/null
[ "$(cat /sys/fs/btrfs/*-*/qgroups/mode 2> /dev/null | grep -c squota)" != 0 ] || skip "the kernel has no simple quotas"

fill() { cloche exec "$1" -- dd if=/dev/zero of="$WORK/$2" bs=1M count="$3"; }
cloche new --name one > /dev/null 2>&1
cloche new --name two > /dev/null 2>&1
try fill one a 300
check "a user writes into a sandbox" exits 0
try cloche fork one --name fork
check "copies it" exits 0
try fill two b 2000
check "and is stopped below what all have" not exits 0
check "with the reason, and what to do" says 'your share of the pool.*cloche rm'
try other_cloche run -- sh -c "dd if=/dev/zero of=/tmp/x bs=1M count=100 2>&1 && echo wrote"
check "another user has room" mentions wrote
try fill fork c 300
check "a fork is of the same user" not exits 0
try cloche rm two one fork
check "removing the sandboxes" exits 0
free_again() { cloche run -- dd if=/dev/zero of=/tmp/x bs=1M count=200; }
check "is to be had again" until_true free_again
