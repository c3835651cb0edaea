#!/usr/bin/env bash
# `cloche probe` as it ships: every promise held, every control fired, nothing left behind.
HANG_SECONDS=280
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$BIN/cloche-probe" ] || skip "cloche-probe is not built"

left_behind() { ls -d /var/tmp/cloche-probe-* /mnt/cloche-probe-* /run/cloche-p* /dev/shm/p???????????? 2> /dev/null; }
before=$(left_behind)
try cloche probe
cat "$OUT"
check "every promise holds" exits 0
check "every probe ran" not mentions 'did not run'
check "every control fired or says why not" not mentions ' no control  '
check "nothing is left behind" is "$(left_behind)" "$before"
try cloche probe --only PK-01,FS-01 --json
check "and as JSON" field_is passed true
try cloche probe --only NO-SUCH
check "an unknown probe is an error" exits 2
