#!/usr/bin/env bash
# explain and doctor describe what really happens.
. "$(dirname "$0")/../harness/lib.sh"
as_caller sh -c 'mkdir -p .git; echo x > .env'

try cloche explain
check "explain succeeds" exits 0
check "explain lists the mounts" mentions '/proc'
check "explain says nothing else" says_nothing
try cloche explain --differences
check "--differences succeeds" exits 0
for word in /run hidden; do check "--differences speaks of $word" grep -qi "$word" "$OUT"; done
check "--differences speaks of variables or services" grep -qi 'variable\|service' "$OUT"
check "--differences leaves out the plan" not mentions 'Mounts, in order'
for word in dev sys; do check "--differences speaks of /$word" mentions "/$word"; done
try cloche explain --json
for key in plan.mounts plan.uid differences hidden; do check "--json has $key" not field_is "$key" null; done
check "the plan has the caller's uid" field_is plan.uid "$CALLER_UID"
check "the project's secrets are named" mentions '\.env'
try cloche explain --pids 777 --ro /usr --json
check "explain takes the options of run" mentions 777
try cloche ls --all --json
check "explain starts nothing" prints '[]'
try cloche explain --memory=-1
check "explain refuses what run refuses" exits 2
try cloche explain --base nowhere
check "and so for a base" exits 2

try cloche doctor
check "doctor names the mode" mentions "$([ "$MODE" = rootless ] && echo rootless || echo system)"
check "doctor names the kernel" mentions "$(uname -r | cut -d. -f1,2)"
for word in seccomp landlock cgroup; do check "doctor speaks of $word" grep -qi $word "$OUT"; done
check "doctor's status is 0 or 1" [ "$status" = 0 -o "$status" = 1 ]
try cloche doctor --json
check "doctor --json: every check has a status" "$PYTHON" -c '
import json, sys
for check in json.load(open(sys.argv[1]))["checks"]:
    assert check["status"] in ("ok", "missing", "weak", "info"), check
    assert check["status"] == "ok" or check["status"] == "info" or check.get("cure"), check' "$OUT"

try cloche status
check "status shows the daemon" exits 0
try cloche
check "without a subcommand there is help" grep -qi usage "$OUT" "$ERR"
try cloche --help
check "--help succeeds" exits 0
for word in run new exec shell ls show logs stop rm explain doctor probe status; do
  check "--help lists $word" mentions "\\b$word\\b"
done
try cloche --version
check "--version succeeds" exits 0
try cloche no-such-command
check "an unknown subcommand is refused" exits 2
check "and nothing is printed" prints_nothing

stop_daemon
try cloche status
case $MODE in
  shared) ;;
  *) check "without a daemon status says so" exits 6
     try cloche run -- echo again
     check "and the next command starts one" prints again ;;
esac
