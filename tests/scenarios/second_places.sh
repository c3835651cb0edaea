#!/usr/bin/env bash
# A path hidden in one place is hidden in every other place where it is mounted; directories that
# can only be bound give no way to the host's services. The mounts of this test are private.
[ -n "${OWN_MOUNTS-}" ] || [ "$(id -u)" != 0 ] || exec env OWN_MOUNTS=1 unshare --mount --propagation private "$0" "$@"
[ "$(id -u)" = 0 ] || { echo "skipped: mounting needs root"; exit 77; }
PLACE=$(mktemp -d /mnt/cloche-t.XXXXXX)
. "$(dirname "$0")/../harness/lib.sh"
LISTENERS=()
ending() {
  local code=$?
  cd / && stop_daemon
  [ ${#LISTENERS[@]} = 0 ] || kill "${LISTENERS[@]}" 2> /dev/null
  umount -q -R "$PLACE"/*
  rm -rf "$PLACE" "/cloche-t.$$.sock"
  (exit $code)
  finish
}
trap ending EXIT
chmod 755 "$PLACE"
mkdir "$PLACE"/{home,keys,part,disk}
as_caller sh -c 'mkdir -p ~/.ssh ~/.config/gh ~/plain; echo private > ~/.ssh/id; echo token > ~/.config/gh/hosts.yml; echo known > ~/plain/f'
truncate -s 8M "$T/disk.img" && mkfs.ext4 -q -m 0 "$T/disk.img" && mount -o loop "$T/disk.img" "$PLACE/disk" || exit 1
mkdir "$PLACE"/disk/{.snapshots,timeshift,plain} && echo old | tee "$PLACE"/disk/{.snapshots,timeshift,plain}/f > "$T/log"
mount --bind "$CALLER_HOME" "$PLACE/home" && mount --bind "$CALLER_HOME/.ssh" "$PLACE/keys" && mount --bind "$CALLER_HOME/.config" "$PLACE/part" || exit 1
stop_daemon
$starter ls > "$T/log" 2>&1

try cloche run -- cat "$PLACE/home/plain/f" "$PLACE/disk/plain/f"
check "other files are there" prints $'known\nold'
try cloche run -- sh -c "cat $PLACE/home/.ssh/id; cat $PLACE/home/.config/gh/hosts.yml; cat $PLACE/keys/id; cat $PLACE/part/gh/hosts.yml"
check "hidden files are hidden in a second place of the home" prints_nothing
try cloche run -- sh -c "cat $PLACE/disk/.snapshots/f; cat $PLACE/disk/timeshift/f"
check "and trees of snapshots in every file system" prints_nothing
try cloche run --declared --input "$PLACE/home" -- echo started
check "--input of a second place is refused as the first" exits 125
try cloche run -- cat /proc/1/cmdline
check "the process that keeps a sandbox does not name the host's state" not mentions "$STATE"
[ "$MODE" = rootless ] || exit 0

# Below $PLACE something is mounted, so it is bound.
listen() {
  "$PYTHON" -c 'import os,socket,sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen()
print("ready", flush=True)
while True: s.accept()[0].sendall(b"reached")' "$1" > "$T/ready" &
  LISTENERS+=($!)
  until_true grep -q ready "$T/ready"
  : > "$T/ready"
}
connects() {
  "${@:2}" "$PYTHON" -c 'import socket,sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9).decode())' "$1"
}
for socket in "$PLACE/service.sock" "/cloche-t.$$.sock"; do
  listen "$socket"
  check "$socket: outside it is reached" is "$(connects "$socket" as_caller)" reached
  try connects "$socket" cloche run --
  check "$socket: from inside it is not" prints_nothing
done
