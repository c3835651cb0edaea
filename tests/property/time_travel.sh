#!/usr/bin/env bash
# Random changes in a sandbox, with snapshots, rollbacks and forks at random points.
. "$(dirname "$0")/../harness/lib.sh"

# The lower tree: files, links and attributes of the host.
mkdir -p "$WORK/tree/lower/inner" "$WORK/tree/empty"
for name in a b c lower/a lower/b lower/inner/c; do head -c 5000 /dev/urandom > "$WORK/tree/$name"; done
ln "$WORK/tree/a" "$WORK/tree/lower/same" && ln -s lower "$WORK/tree/link" && mkfifo "$WORK/tree/pipe"
setfattr -n user.below -v host "$WORK/tree/b" 2> /dev/null
chmod 640 "$WORK/tree/lower/a"
[ "$MODE" = system ] || chown -R -h "$CALLER_UID:$CALLER_UID" "$WORK/tree"
before=$(cd "$WORK/tree" && find . -printf '%p %y %m %u %s %T@\n' | sort; find "$WORK/tree" -type f -exec md5sum {} + | sort)
CALLER_ENV=(CLOCHE_SEED="${CLOCHE_SEED-}" CLOCHE_SECONDS="${CLOCHE_SECONDS-}")
HANG_SECONDS=280 python time_travel.py "$WORK/tree" "$BIN"
after=$(cd "$WORK/tree" && find . -printf '%p %y %m %u %s %T@\n' | sort; find "$WORK/tree" -type f -exec md5sum {} + | sort)
check "and the host's files are as they were" is "$after" "$before"
cloche rm --all > /dev/null
