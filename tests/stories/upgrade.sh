#!/usr/bin/env bash
# An upgrade breaks fifteen tests: in a sandbox, where it is seen, and taken back.
. "$(dirname "$0")/story.sh"

# The project, and a registry with two versions of what it needs.
cp -R "$SCRIPT_DIR/fixtures/titles" "$WORK/project" && cd "$WORK/project" || exit 1
"$PYTHON" -B "$EXAMPLES/publish.py" "$WORK/registry" "$SCRIPT_DIR"/fixtures/registry/*
chown -R "$CALLER_UID:$CALLER_UID" "$WORK" && chmod -R a+rX "$WORK"
install=(python3 -m pip --isolated install --quiet --upgrade --target vendor --no-compile --no-cache-dir
         --disable-pip-version-check --root-user-action ignore --index-url "file://$WORK/registry")
tests=(env PYTHONPATH=vendor python3 -B titles_test.py)
try as_caller "${install[@]}" -r requirements.txt
check "the old version is installed" grep -q -e '-".join' vendor/slugs.py
try as_caller "${tests[@]}"
check "with it all tests pass" exits 0
check "forty of them" says '^Ran 40 tests'
watch_reality "$WORK" "$CALLER_HOME"

try cloche new --name upgrade
try cloche exec upgrade -- "${tests[@]}"
check "in a sandbox they pass, too" exits 0
try cloche snapshot upgrade --name before
try cloche exec upgrade -- "${install[@]}" slugs
check "the upgrade goes well" exits 0
try cloche exec upgrade -- sh -c 'ls vendor'
check "it is the new version" mentions '^slugs-2.0.dist-info'
try cloche exec upgrade -- "${tests[@]}"
check "but the tests fail" exits 1
check "fifteen of them" says '^FAILED (failures=15)'
check "namely those it broke" is "$(grep -c '^FAIL: test_.*_' "$ERR")" 15
try cloche diff upgrade --against before --patch vendor/slugs.py
check "the diff shows why" mentions '^+    return "_".join'
check "reality never saw it" reality_is_as_it_was
try as_caller "${tests[@]}"
check "and passes" exits 0

try cloche rollback upgrade before
check "rollback" exits 0
try cloche exec upgrade -- "${tests[@]}"
check "all tests pass again" exits 0
check "all forty" says '^Ran 40 tests'
try cloche diff upgrade --name-only
check "as if nothing had been" prints ''
check "reality never saw anything" reality_is_as_it_was
