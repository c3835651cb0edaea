#!/usr/bin/env bash
# Two approaches at once: two forks of one state edit the same file, are compared, and one is kept.
. "$(dirname "$0")/story.sh"

as_caller "$EXAMPLES/bill/make.sh" "$WORK" && cd "$WORK/project" || exit 1
watch_reality "$WORK" "$CALLER_HOME"
try cloche new --name base
inside base 'echo shared > notes' > "$OUT" 2> "$ERR"
try cloche fork base --name patch --name guess
check "two forks of one sandbox" exits 0

cloche exec patch -- git apply ../remainder.patch > "$T/left" 2>&1 &
left=$!
cloche exec guess -- sed -i 's/pennies.split(total, people)/[total] * people/' bill.py > "$T/right" 2>&1 &
right=$!
wait $left
check "one edits a file" is "$?" 0
wait $right
check "the other edits it, too, at the same time" is "$?" 0

try cloche diff patch --against guess --name-only
check "compared: the one file" prints "$WORK/project/bill.py"
try cloche diff patch --against guess --patch
check "lines of one are added" mentions '^+    paid = pennies.split'
check "lines of the other are removed" mentions '^-    return \[total\]'
try cloche diff guess --against patch --patch
check "or the other way round" mentions '^+    return \[total\]'
check "changes common to both are left out" not mentions notes
try cloche diff patch --against base --name-only
check "against their origin it is their own edit only" prints "$WORK/project/bill.py"

try cloche exec patch -- make test
check "the test passes in the one" exits 0
try cloche exec guess -- make test
check "and fails in the other" says 'FAILED (failures=2)'
try cloche rm guess base
check "the loser and the common base can be removed" exits 0
try cloche ls --json
check "one is kept" field_is '#' 1
check "the right one" field_is 0.name patch
try cloche exec patch -- sh -c 'cat notes; tail -n 1 bill.py'
check "it needs neither of them" prints "$(printf 'shared\n    return paid')"
check "reality has not changed" reality_is_as_it_was
