#!/usr/bin/env bash
# A fix is tried out before it is committed: made and tested in a sandbox, read as a diff, applied as a patch.
. "$(dirname "$0")/story.sh"

as_caller "$EXAMPLES/bill/make.sh" "$WORK" && cd "$WORK/project" || exit 1
try as_caller make test
check "the project has a failing test" says '^FAIL: test_the_bill_is_paid'
watch_reality "$WORK" "$CALLER_HOME"

try cloche new --name fix
try cloche exec fix -- make test
check "it fails in a sandbox, too" says '^FAIL: test_the_bill_is_paid'
try cloche exec fix -- sh -c '
  sed -i "s/return pennies.split/shares = pennies.split/" bill.py
  printf "    shares[0] += total - sum(shares)\n    return shares\n" >> bill.py'
check "the fix is written there" exits 0
try cloche exec fix -- make test
check "with it the test passes" exits 0
check "all of them" says '^Ran 3 tests'
check "reality has not changed" reality_is_as_it_was
try as_caller make test
check "and still fails" not exits 0

try cloche diff fix --name-only
check "the diff is the fix and nothing else" prints "$WORK/project/bill.py"
try cloche diff fix --stat
check "with its size" mentions '1 file changed, 3 insertions(+), 1 deletion(-)'
cloche diff fix --patch > "$T/fix.patch"
chmod a+r "$T/fix.patch"
try as_caller git apply --check "$T/fix.patch"
check "as a patch it fits" exits 0
check "to look at it changes nothing" reality_is_as_it_was
try as_caller git apply "$T/fix.patch"
try as_caller make test
check "applied to reality it makes the test pass" exits 0
try as_caller git diff --name-only
check "git sees the same one file" prints bill.py
check "which is the same to the byte" is "$(cksum < bill.py)" "$(inside fix 'cksum < bill.py')"
try cloche diff fix --name-only
check "now the sandbox does not differ from reality" prints ''
