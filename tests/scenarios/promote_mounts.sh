#!/usr/bin/env bash
# Promotions onto filesystems other than the home's: one, several at once, full ones and read-only
# ones. Each time all or nothing. Its mounts are private: a daemon run by a user copies nothing
# below which something is mounted.
[ -n "${OWN_MOUNTS-}" ] || [ "$(id -u)" != 0 ] || exec env OWN_MOUNTS=1 unshare -m "$0" "$@"
HANG_SECONDS=${HANG_SECONDS:-120}
. "$(dirname "$0")/../harness/lib.sh"
inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
shape() { (cd "$WORK" && find . -printf '%p %y %m %U %T@ %l\n' | sort; find . -type f -print0 | sort -z | xargs -0 md5sum); }
side_stores() { find "$WORK" -name .cloche-promotions; }
promote() {
  local box=$1
  shift
  try cloche promote "$box" --yes --allow-triggers --json "$@"
  state=$(field state)
  [ "$state" != null ] || state=$(field error.code)
}
ending() {
  local code=$?
  cd / && stop_daemon && unmount "$WORK/disk" "$WORK/mem"
  (exit $code)
  finish
}
# remount DIR FLAGS: remounts the filesystem itself, wherever it is mounted. 33: read-only, 32:
# writable.
remount() {
  "$PYTHON" -c 'import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).mount(b"none", os.fsencode(sys.argv[1]), None, int(sys.argv[2]), None) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))' "$1" "$2"
}
mkdir "$WORK/disk" "$WORK/mem"
truncate -s 16M "$T/disk.img" && mkfs.ext4 -q "$T/disk.img" || exit 1
mount -o loop "$T/disk.img" "$WORK/disk" && mount -t tmpfs -o size=1m,mode=755 none "$WORK/mem" || exit 1
trap ending EXIT
rmdir "$WORK/disk/lost+found"
for place in . disk mem; do
  mkdir -p "$WORK/$place/d" && echo old > "$WORK/$place/edit" && echo gone > "$WORK/$place/gone" && echo deep > "$WORK/$place/d/deep"
done
chown -R "$CALLER_UID:$CALLER_UID" "$WORK"
stop_daemon  # if mounts do not propagate, only a new daemon sees them
$starter ls > "$T/log" 2>&1
old=$(shape)

# --- Three at once.
cloche new --name box > "$T/log" 2>&1
inside box 'for place in . disk mem; do
  echo new > $place/edit; rm $place/gone; rm -r $place/d; mkdir -p $place/made/below; echo n > $place/made/below/n; ln $place/made/below/n $place/made/link; done' > "$T/log" 2>&1
promote box --dry-run
check "a dry run reports what it would do on all three" is "$state" dry_run
check "and leaves nothing behind" is "$(side_stores)$(shape)" "$old"
promote box
check "it is applied to three filesystems" is "$state" "done"
pr=$(field id)
for place in . disk mem; do
  check "$place has the new files" is "$(cat "$WORK/$place/edit" "$WORK/$place/made/below/n")" $'new\nn'
  check "$place no longer has the old ones" test ! -e "$WORK/$place/gone" -a ! -e "$WORK/$place/d"
  check "$place has both names of one file" test "$WORK/$place/made/below/n" -ef "$WORK/$place/made/link"
done
check "replaced files are kept on their own filesystem" is "$(side_stores | wc -l)" 2
for each in $(side_stores); do check "$each is private" is "$(stat -c %a "$each")" 700; done
check "the sandbox does not see it" not inside box 'ls disk/.cloche-promotions mem/.cloche-promotions'
cloche new --name later > "$T/log" 2>&1
check "nor does a new one" not inside later 'ls disk/.cloche-promotions || ls mem/.cloche-promotions'
inside later "mkdir -p disk/.cloche-promotions/$pr && echo planted > disk/.cloche-promotions/$pr/1" > "$T/log" 2>&1
promote later
check "nothing is promoted into it" is "$state" conflict
check "it stays unchanged" not grep -rqs planted "$WORK/disk"
git -C "$WORK/disk" init -q && check "git does not see it either" not grep -q cloche-promotions <(git -C "$WORK/disk" status --porcelain)
rm -rf "$WORK/disk/.git"
try cloche undo "$pr"
check "it is undone" exits 0
check "nothing of it is left" is "$(side_stores)" ""
rm -rf "$WORK/disk/.git"
content() { (cd "$WORK" && find . -type f -not -path '*/.cloche-promotions/*' -print0 | sort -z | xargs -0 md5sum); }
check "byte for byte" is "$(content)" "$(printf '%s\n' "$old" | grep -E '^[0-9a-f]{32} ')"

# --- Full in the middle: earlier steps are reverted.
cloche new --name large > "$T/log" 2>&1
inside large 'echo new > edit; echo new > disk/edit; echo new > mem/edit; for i in 1 2 3 4 5 6; do head -c 300000 /dev/urandom > mem/large$i; done' > "$T/log" 2>&1
before=$(content)
promote large
check "a full filesystem is reported" is "$state" exhausted
check "with a cure" is "$(field error.cure)" "make room; nothing was applied"
check "nothing was applied to any of them" is "$(content)" "$before"
check "and nothing is left" is "$(side_stores)" ""
mount -o remount,size=8m "$WORK/mem"
promote large
check "with room it is applied" is "$state" "done"
try cloche undo "$(field id)"
check "and undone" is "$(content)" "$before"

# --- Read-only.
remount "$WORK/disk" 33
promote large
check "a read-only filesystem prevents it" is "$state" conflict
check "and is named" mentions 'read-only'
check "nothing was applied here, either" is "$(content)" "$before"
promote large --exclude "$WORK/disk"
check "without it the rest is applied" is "$state" "done"
try cloche undo "$(field id)"
remount "$WORK/disk" 32
promote large "$WORK/disk"
check "once writable again, it is applied" is "$state" "done"
pr=$(field id)
applied=$(content)
remount "$WORK/disk" 33
try cloche undo "$pr"
check "undo on a read-only one fails" not exits 0
check "and says why" says 'ead-only'
check "nothing was undone" says 'nothing was undone'
check "and nothing was lost" is "$(content)" "$applied"
remount "$WORK/disk" 32
try cloche promotions
check "the next command leaves it alone" is "$(content)" "$applied"
try cloche undo "$pr"
check "once writable again, it is undone" is "$status $(content)" "0 $before"

# --- Not mounted: reported, not lost.
promote large "$WORK/disk"
pr=$(field id)
unmount "$WORK/disk"
try cloche undo "$pr"
check "undo without its filesystem fails" not exits 0
mount -o loop "$T/disk.img" "$WORK/disk"
try cloche undo "$pr"
check "once mounted again, it is undone" is "$status $(content)" "0 $before"

# --- Nobody writes to kept files, not even a sandbox with --rw; and if somebody does, it is
# noticed.
kept() { find "$WORK/disk/.cloche-promotions" -type f -not -name .gitignore -print0 | sort -z | xargs -0 md5sum; }
cloche new --name keeper > "$T/log" 2>&1
inside keeper 'echo newer > disk/edit; rm disk/gone' > "$T/log" 2>&1
promote keeper
pr=$(field id)
before=$(kept)
check "something is kept" test -n "$before"
for how in --rw --ro; do
  try cloche run "$how" "$WORK/disk" -- sh -c 'ls -A disk/.cloche-promotions; for f in disk/.cloche-promotions/*/*; do echo evil > "$f"; done'
  check "$how of its filesystem does not show it" prints_nothing
  check "$how of its filesystem does not lead to it" is "$(kept)" "$before"
done
try cloche run --rw "$WORK/disk/.cloche-promotions" -- true
check "nor can it be granted" says 'promotions keep there'
as_caller mkdir -p "$CALLER_HOME/elsewhere"
cd "$CALLER_HOME/elsewhere" || exit 1
try cloche run -- sh -c "ls -A '$WORK/disk/.cloche-promotions'"
check "another project does not see it, either" prints_nothing
cd "$WORK" || exit 1
first=$(find "$WORK/disk/.cloche-promotions" -type f -not -name .gitignore | head -n 1)
cp -a "$first" "$T/saved" && as_caller sh -c 'echo evil > "$1"' sh "$first"
touch -r "$T/saved" "$first"
try cloche undo "$pr"
check "a kept file that somebody wrote to is not restored" exits 4
check "and is named" says "$WORK/disk/.*was changed since"
check "with a cure" says 'put these paths right by hand'
check "nothing was undone" is "$(cat "$WORK/disk/edit")" newer
