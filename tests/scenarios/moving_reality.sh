#!/usr/bin/env bash
# The host edits, replaces, truncates and deletes files of a project while a sandbox reads them, on ext4 and on
# btrfs: no read fails for it, none is torn, all of it is reported, and refresh brings it.
DISK_SIZE=200M
. "$(dirname "$0")/../harness/disks.sh"

. "$(dirname "$0")/../harness/lib.sh"
move=("$PYTHON" -B "$BIN/moving_reality.py")

# only WORDS FILE: nothing but these was seen of the two files of that name.
only() {
  [ "$(grep -cE -e "^[a-z]*/$2( ($1))+$" "$T/reads")" = 2 ] || { grep -e "/$2 " "$T/reads" >&2; false; }
}

for kind in ext4 btrfs; do
  project=$DISKS/$kind/project
  mkdir "$project" && chown "$CALLER_UID:$CALLER_UID" "$project" && cd "$project" || exit 1
  check "$kind: the project is on it" is "$(stat -f -c %T .)" "$(echo $kind | sed s,ext4,ext2/ext3,)"
  as_caller "${move[@]}" make
  as_caller git init -q -b main .
  try cloche new --name $kind
  check "$kind: a sandbox" exits 0
  cloche exec $kind -- sh -c 'echo mine > merged/mine; echo inside > both' 2> "$ERR"
  { cloche exec $kind -- "${move[@]}" read 400 > "$T/reads" 2> "$ERR"; echo $? > "$T/over-$kind"; } &
  edits=$(as_caller "${move[@]}" edit "$T/over-$kind")
  wait
  status=$(cat "$T/over-$kind")
  cp "$T/reads" "$OUT"
  check "$kind: it reads while the host makes $edits times 14 edits" exits 0
  [ "$edits" -gt 20 ] || not_ok "$kind: enough of them to mean something"
  check "$kind: a file replaced by a rename is whole, old or new" only whole replaced
  check "$kind: a file held open, too" only whole held
  check "$kind: a file edited in place, too" only whole edited
  check "$kind: a file truncated and written is whole or empty" only 'whole|empty' cut
  check "$kind: a file deleted and made again is whole or absent" only 'whole|ENOENT' deleted
  check "$kind: a file of a replaced directory is whole or absent" only 'whole|ENOENT' folder/file
  check "$kind: directories can be listed" only empty ''
  check "$kind: no handle is ever stale" not grep -q -e ESTALE -e EIO "$T/reads"

  try cloche show $kind --json
  check "$kind: show says what changed outside" field_is staleness.both_paths.0 "$project/both"
  check "$kind: and counts it" test "$(field staleness.changed)" -ge 12
  try cloche ls
  check "$kind: so does ls" mentions "$kind .*changed, 1 here too"
  cloche stop $kind > "$OUT" 2>&1
  try cloche refresh $kind
  check "$kind: refresh" exits 0
  check "$kind: names what it leaves" mentions "left as it is inside: $project/both"
  "${move[@]}" final > "$T/outside"
  try cloche exec $kind -- "${move[@]}" final
  check "$kind: untouched files are as outside" diff <(grep -v ^both "$T/outside") <(grep -v ^both "$OUT")
  check "$kind: a touched file is its own" mentions '^both inside'
  try cloche exec $kind -- cat merged/mine same
  check "$kind: its new file is there" mentions mine
  check "$kind: a file deleted outside is not" says 'same: No such file'
  try cloche show $kind --json
  check "$kind: it is not behind any more" field_is staleness.changed 0
done
