#!/usr/bin/env bash
# Mounts that the host adds after the daemon has started are copied like the rest, and unmounted
# ones are gone, also where mounts do not propagate. The mounts of this test are private.
[ -n "${OWN_MOUNTS-}" ] || [ "$(id -u)" != 0 ] || exec env OWN_MOUNTS=1 unshare --mount --propagation private "$0" "$@"
[ "$(id -u)" = 0 ] || { echo "skipped: mounting needs root"; exit 77; }
# Not below /tmp, where a mount is in the way of rootless sandboxes.
PLACE=$(mktemp -d /mnt/cloche-t.XXXXXX)
. "$(dirname "$0")/../harness/lib.sh"
ending() {
  local code=$?
  cd / && stop_daemon
  umount -q -R "$PLACE"/*
  rm -rf "$PLACE"
  (exit $code)
  finish
}
trap ending EXIT
chmod 755 "$PLACE"
mkdir "$PLACE"/{bind,tmpfs,disk,source} && echo bound > "$PLACE/source/f" && chown -R "$CALLER_UID:$CALLER_UID" "$PLACE"/*
truncate -s 8M "$T/disk.img" && mkfs.ext4 -q -m 0 -E "root_owner=$CALLER_UID:$CALLER_UID" "$T/disk.img" || exit 1
is_free() { [ -z "$(losetup -j "$T/disk.img")" ]; }
in_memory() { mount -t tmpfs -o "uid=$CALLER_UID,mode=755" none "$1" && echo "$2" > "$1/f" && chown "$CALLER_UID" "$1/f"; }
at_work() { (cd "$1" && shift && try cloche run "$@"; exit $status); status=$?; }

if [ "$MODE" = rootless ]; then
  in_memory "$PLACE/tmpfs" new || exit 1
  at_work "$PLACE/tmpfs" -- cat f
  check "files under an unseen mount are not shown in its place" not prints new
  check "it is refused" exits 125
  check "the message names the mount" says "$PLACE/tmpfs"
  check "and what to do" says 'cure: end the daemon'
  try cloche run -- echo ran
  check "elsewhere sandboxes start" prints ran
  stop_daemon
  at_work "$PLACE/tmpfs" -- sh -c 'cat f; echo changed > f'
  check "the next daemon sees it" prints new
  check "as a copy" is "$(cat "$PLACE/tmpfs/f")" new
  # With a mount inside, /mnt can only be bound: the sockets in it are covered by name.
  as_caller "$PYTHON" -c 'import os, socket, sys, time
held = []
for name in (sys.argv[1] + "/source/s", "\0x /mnt/injected", "\0x\n1: 2 3 4 5 6 7 /mnt/injected"):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].bind(name)
    held[-1].listen()
print("listens as", os.getpid(), flush=True)
time.sleep(300)' "$PLACE" > "$T/listens" &
  until_true grep -q listens "$T/listens"
  try cloche explain --json
  check "an abstract name that looks like a path covers nothing" not mentions /mnt/injected
  check "a socket that services made is covered" mentions "$PLACE/source/s"
  try cloche run -- "$PYTHON" -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$PLACE/source/s"
  check "and cannot be connected to" exits 1
  kill "$(sed 's/.* //' "$T/listens")"
  umount "$PLACE/tmpfs" || exit 1
  at_work "$PLACE/tmpfs" -- ls
  check "one that is gone is not shown either" exits 125
  # Anybody may mount something in /tmp, which is empty inside from then on.
  mkdir "$T/below" "$CALLER_HOME/.ssh" && echo key > "$CALLER_HOME/.ssh/id_rsa" && chown -R "$CALLER_UID" "$CALLER_HOME"
  cloche new --name box > "$T/log" 2>&1
  cloche exec box -- sh -c 'echo promoted > made' > "$T/log" 2>&1
  stop_daemon
  in_memory "$T/below" other || exit 1
  try cloche exec box -- sh -c "ls -A $T && cat made $CALLER_HOME/.ssh/id_rsa"
  check "beside a mount below /tmp home and project are there, and nothing else" prints $'home\nwork\npromoted'
  check "credentials in that home are hidden" says 'id_rsa: No such file'
  check "reality has nothing of it" is "$(ls -A "$WORK")" ""
  try cloche promote box --yes
  check "it is promoted" is "$(cat "$WORK/made")" promoted
  umount "$T/below"
  exit 0
fi

for passing in private shared; do
  stop_daemon
  mount "--make-r$passing" / || exit 1
  $starter run -- true > "$T/log" 2>&1
  cloche new --name "box-$passing" > "$T/log" 2>&1
  cloche stop "box-$passing" > "$T/log" 2>&1
  in_memory "$PLACE/tmpfs" new && mount --bind "$PLACE/source" "$PLACE/bind" && mount -o loop "$T/disk.img" "$PLACE/disk" || exit 1
  echo on-disk > "$PLACE/disk/f" && chown "$CALLER_UID" "$PLACE/disk/f"
  try cloche run -- cat "$PLACE/tmpfs/f" "$PLACE/bind/f" "$PLACE/disk/f"
  check "$passing: later mounts are there" prints $'new\nbound\non-disk'
  try cloche run -- sh -c "for each in tmpfs bind disk; do echo changed > $PLACE/\$each/f || exit; done; cat $PLACE/*/f"
  check "$passing: it can be changed" prints $'changed\nchanged\nbound\nchanged'
  check "$passing: in the copy only" is "$(cat "$PLACE"/*/f | tr '\n' ' ')" "bound on-disk bound new "
  try cloche exec "box-$passing" -- cat "$PLACE/tmpfs/f"
  check "$passing: a sandbox that was stopped sees it, too" prints new
  cloche rm "box-$passing" > "$T/log" 2>&1
  mkdir "$PLACE/tmpfs/below" && in_memory "$PLACE/tmpfs/below" nested || exit 1
  try cloche run -- cat "$PLACE/tmpfs/below/f"
  check "$passing: one on top of another" prints nested
  umount "$PLACE/tmpfs/below" "$PLACE/tmpfs" && in_memory "$PLACE/tmpfs" another || exit 1
  try cloche run -- sh -c "cat $PLACE/tmpfs/f; ls $PLACE/tmpfs"
  check "$passing: another in its place" prints $'another\nf'
  umount "$PLACE"/{tmpfs,bind,disk} || exit 1
  check "$passing: an unmounted disk is let go of" until_true is_free
  try cloche run -- ls "$PLACE"/{tmpfs,bind,disk}
  check "$passing: and no longer there" prints "$(printf '%s:\n\n' "$PLACE"/{bind,disk,tmpfs})"
done
