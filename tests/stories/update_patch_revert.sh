#!/usr/bin/env bash
# The scenario of `make demo`: an update from a local registry, a patch and a revert race for a test
# that fails.
. "$(dirname "$0")/story.sh"

as_caller "$EXAMPLES/bill/make.sh" "$WORK" && cd "$WORK/project" || exit 1
try as_caller make test
check "the project has a failing test" says 'AssertionError: 999 != 1000'
watch_reality "$WORK" "$CALLER_HOME"

try cloche race --json --name mend
check "a race of three" field_is lanes.# 3
lanes() {
  "$PYTHON" -c '
import json, sys
for lane in json.load(sys.stdin)["lanes"]:
    print(lane["name"], lane["state"], lane["score"], lane["overlap"], "kept" if lane["kept"] else "gone")' < "$OUT"
}
check "all pass, and the score tells them apart" is "$(lanes)" 'update passed 1000.0 0 kept
revert passed 662.0 1 gone
patch passed 571.0 1 gone'
check "patch and revert change the same file" field_is overlap.0.path "$WORK/project/bill.py"
check "the score decided" field_is decided_by score
check "reality has not changed" reality_is_as_it_was

try cloche exec mend-update -- make test
check "the winner is kept, and its test passes" exits 0
try cloche diff mend-update --name-only
check "it has the new version" mentions "vendor/pennies-1.1.dist-info/METADATA"
check "and asks for it" mentions "/requirements.txt"
try cloche diff mend-update --patch vendor/pennies.py
check "which is from the registry" mentions 'no cent is lost'
try as_caller make test
check "in reality the test still fails" says 'AssertionError: 999 != 1000'
