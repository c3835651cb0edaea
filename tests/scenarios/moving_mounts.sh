#!/usr/bin/env bash
# Mounts of the host come and go while a sandbox is stopped: what it changed stays where it was changed.
# Its mounts are nobody else's, and its daemon is in the same namespace.
[ -n "${OWN_MOUNTS-}" ] || [ "$(id -u)" != 0 ] || exec env OWN_MOUNTS=1 unshare --mount --propagation private "$0" "$@"
. "$(dirname "$0")/../harness/lib.sh"
inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
# Paths of the project that differ.
changes() { cloche diff "$1" --name-only "${@:2}" 2> "$ERR" | sed "s,.*$WORK/,," | sort | tr '\n' ' '; }
# Restarts the daemon, so that it sees the host as it is now.
anew() { stop_daemon; $starter ls > "$T/log" 2>&1; }
ending() {
  local code=$?
  cd / && stop_daemon
  for each in a b c; do umount -q "$WORK/$each"; done
  (exit $code)
  finish
}
trap ending EXIT
for name in a b; do
  mkdir "$WORK/$name"
  truncate -s 8M "$T/$name.img" && mkfs.ext4 -q -m 0 "$T/$name.img" || exit 1
  mount -o loop "$T/$name.img" "$WORK/$name" && rmdir "$WORK/$name/lost+found" || exit 1
  echo old > "$WORK/$name/edit"
done
mkdir "$WORK/c" && echo old > "$WORK/c/edit" && echo old > "$WORK/edit"
chown -R "$CALLER_UID:$CALLER_UID" "$WORK"
anew

cloche new --name box > "$T/log" 2>&1
inside box 'for each in . a b; do echo new > $each/edit; done; echo made > a/in-a; echo made > b/in-b' > "$T/log" 2>&1
check "it changed three file systems" is "$(changes box)" "a/edit a/in-a b/edit b/in-b edit "
cloche snapshot box --name saved > "$T/log" 2>&1
cloche stop box > "$T/log" 2>&1

# --- The first of them goes.
umount "$WORK/a" || exit 1
anew
try cloche diff box --json
check "an unmounted disk is reported as unreadable" mentions '"unreadable": *[1-9]'
check "the rest is where it was changed" is "$(changes box)" "b/edit b/in-b edit "
try cloche promote box --dry-run --json
check "a promotion of all of it is refused" field_is error.code unavailable
check "and names the place" mentions "$WORK/a"
check "it runs" is "$(inside box 'cat b/edit b/in-b edit; ls a')" $'new\nmade\nnew'
check "its snapshot shows the same" is "$(changes box --snapshot saved)" "b/edit b/in-b edit "
try cloche promote box --yes --json "$WORK/b"
check "changes on mounted disks can be promoted" field_is state "done"
check "to its place" is "$(cat "$WORK/b/edit" "$WORK/b/in-b" "$WORK/edit")" $'new\nmade\nold'
check "and nowhere else" is "$(ls "$WORK/a")" ""
cloche stop box > "$T/log" 2>&1

# --- It comes back, after another one: in the opposite order.
mount -o loop "$T/a.img" "$WORK/a" || exit 1
anew
check "changes on it are there again" is "$(inside box 'cat a/edit a/in-a b/edit; ls a b')" $'new\nmade\nnew\na:\nedit\nin-a\n\nb:\nedit\nin-b'
check "and told" is "$(changes box "$WORK/a")" "a/edit a/in-a "
try cloche promote box --yes --json
check "all of it can be promoted" field_is state "done"
check "to its place again" is "$(cat "$WORK/a/edit" "$WORK/a/in-a")" $'new\nmade'

# --- Something is mounted over what it changed.
cloche new --name over > "$T/log" 2>&1
inside over 'echo new > c/edit; echo new > edit2' > "$T/log" 2>&1
cloche stop over > "$T/log" 2>&1
mount -t tmpfs -o mode=755 none "$WORK/c" || exit 1
anew
try cloche promote over --dry-run --json
check "changes that something covers are not promoted onto it" field_is error.code unavailable
check "the rest is listed" is "$(changes over)" "edit2 "
