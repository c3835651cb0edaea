#!/usr/bin/env bash
# A btrfs subvolume is another device, but not a mount: a sandbox sees and changes it as any
# directory, and so do diff, refresh and promotion.
DISK_SIZE=256M
. "$(dirname "$0")/../harness/disks.sh"
HANG_SECONDS=${HANG_SECONDS:-120}
. "$(dirname "$0")/../harness/lib.sh"
inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
kinds() { cloche diff "$1" --json > "$OUT" 2> "$ERR"; "$PYTHON" "$BIN/changes.py" kinds "$P" < "$OUT" | sort; }
content() { (cd "$P" && find . -printf '%p %y %m\n' | sort; find . -type f -print0 | sort -z | xargs -0 md5sum); }
promote() {
  try cloche promote "$@" --yes --allow-triggers --json
  state=$(field state)
  [ "$state" != null ] || state=$(field error.code)
}
# The project is a subvolume itself, with others in it.
P=$DISKS/btrfs/project
for volume in "$P" "$P/part" "$P/gone" "$P/gone/inner"; do btrfs subvolume create "$volume" > "$T/log" || exit 1; done
mkdir "$P/part/d" "$P/gone/d"
for file in top part/edit part/away part/d/deep gone/d/file gone/inner/file; do echo old > "$P/$file"; done
chown -R "$CALLER_UID:$CALLER_UID" "$P"
cd "$P" || exit 1
stop_daemon
$starter ls > "$T/log" 2>&1
before=$(content)

cloche new --name box > "$T/log" 2>&1
inside box 'echo new > part/edit; rm part/away; rm -r part/d; echo made > part/made; rm -r gone; echo new > top' > "$T/log" 2>&1
check "changes in a subvolume are listed with their kinds" is "$(kinds box)" "$(sort <<< 'modified part/edit
deleted part/away
deleted part/d
deleted part/d/deep
added part/made
deleted gone
deleted gone/d
deleted gone/d/file
deleted gone/inner
deleted gone/inner/file
modified top')"
check "reality has none of it" is "$(content)" "$before"

# --- Replaced files are kept where nobody sees them: a subvolume inside another has no such place.
promote box
check "a change inside one is not promoted" is "$state" unavailable
check "and the reason is given" mentions 'btrfs subvolume inside'
check "and what to do" mentions 'mount --bind'
check "nothing was applied" is "$(content)" "$before"
promote box "$P/top"
check "a change beside it is" is "$state $(cat top)" "done new"
try cloche undo "$(field id)"
check "and undone" is "$status $(content)" "0 $before"

# --- A whole subvolume is neither deleted nor moved: its content would have to be kept, too.
promote box "$P/gone"
check "a whole subvolume is not deleted" is "$state $(content)" "unavailable $before"
cloche new --name mover > "$T/log" 2>&1
inside mover 'mv part moved; echo new > top' > "$T/log" 2>&1
check "a moved subvolume is listed as moved" is "$(kinds mover)" "modified top
renamed moved from part"
promote mover
check "but not moved, nor is anything else of that promotion applied" is "$state $(content)" "unavailable $before"
promote mover --exclude "$P/moved" --exclude "$P/part"
check "without it the rest is" is "$state $(cat top)" "done new"

# --- A mounted subvolume is a file system like any other.
mount --bind "$P/part" "$P/part" || exit 1
stop_daemon
$starter ls > "$T/log" 2>&1
cloche new --name mounted > "$T/log" 2>&1
inside mounted 'echo new > part/edit; rm -r part/d' > "$T/log" 2>&1
promote mounted "$P/part"
check "the cure is one" is "$state $(cat part/edit; ls -A part)" $'done new\n.cloche-promotions\naway\nedit'
check "no sandbox sees what is kept" not inside mounted 'ls part/.cloche-promotions'
try cloche undo "$(field id)"
check "and can be undone" is "$status $(cat part/edit part/d/deep; ls -A part)" $'0 old\nold\naway\nd\nedit'
