#!/usr/bin/env bash
# Files inside answer as files outside do, but for the table of docs/file-system.md.
. "$(dirname "$0")/../harness/lib.sh"
[ "$(stat -f -c %T "$WORK")" = ext2/ext3 ] || skip "the table compares with ext4"
TABLE=$SCRIPT_DIR/../../docs/file-system.md
# Rows that hold for this mode: case, outside, inside.
listed() {
  sed -n 's/^| `\([a-z]*\.[^`]*\)` | `\([^`]*\)` | `\([^`]*\)` | \([^|]*\) |.*/\4: \1 \2 \3/p' "$TABLE" |
    sed -n "s/^.*\(every mode\|$MODE\).*: //p" | sort
}
for where in outside inside; do
  as_caller mkdir "$WORK/$where" && as_caller "$PYTHON" "$BIN/posix.py" --lower "$WORK/$where" || exit 1
done
as_caller "$PYTHON" "$BIN/posix.py" "$WORK/outside" | sort > "$T/outside"
try cloche run -- "$PYTHON" "$BIN/posix.py" "$WORK/inside"
check "the battery runs to its end inside" exits 0
sort "$OUT" > "$T/inside"
check "it has the same cases" is "$(cut -d' ' -f1 "$T/inside")" "$(cut -d' ' -f1 "$T/outside")"
check "there are many" [ "$(wc -l < "$T/outside")" -gt 45 ]
join "$T/outside" "$T/inside" | awk '$2 != $3' > "$T/different"
check "nothing differs but what docs/file-system.md lists" is "$(join -v 1 "$T/different" <(listed))" ""
check "and in the way it says" diff "$T/different" <(listed | join - "$T/different" -o 1.1,1.2,1.3)
check "nothing is listed that does not differ" is "$(listed | join -v 1 - "$T/different")" ""
