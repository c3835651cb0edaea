#!/usr/bin/env bash
# demo.sh: an update, a patch and a revert race to mend one bug, each in its own copy of this machine. Needs the
# built programs, git and pip; its daemon, its state, its project and its package registry live in one
# directory that goes with it.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export PATH=${CLOCHE_BIN:-$here/build/bin}:$PATH
# Not /tmp: a pool in memory would be small, and older kernels cannot copy from there.
scratch=$(mktemp -d /var/tmp/cloche-demo.XXXXXX)
chmod 711 "$scratch"  # cloched is not root and has to get through
export CLOCHE_STATE_DIR=$scratch/state CLOCHE_RUNTIME_DIR=$scratch/run
unset CLOCHE_SOCKET
export HOME=$scratch/home  # promotions are recorded there
mkdir "$HOME"

clean_up() {
  local pid
  pid=$(cloche status --json 2> /dev/null | sed -n 's/.*"pid":\([0-9]*\).*/\1/p') || true
  if [ -n "$pid" ]; then
    cloche rm --all > /dev/null 2>&1 || true
    kill "$pid"
    while readlink "/proc/$pid/exe" > /dev/null; do sleep 0.02; done  # a zombie has none
  fi
  cd /
  chmod -R u+rwX "$scratch"
  rm -rf "$scratch"
}
trap clean_up EXIT

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
show() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; }
failing_test() { { make --no-print-directory test 2>&1 || true; } | grep -e '^FAIL:' -e '^AssertionError'; }
# One line per file: checksum, size, name.
listing='find . -type f -exec cksum {} + | sort'

"$here/examples/bill/make.sh" "$scratch/bill"
cd "$scratch/bill/project"
sh -c "$listing" > "$scratch/before"

say "A project with a failing test. This is the real one:"
show git log --oneline
git --no-pager log --oneline --no-decorate
show make test
failing_test

mode=$(cloche doctor --json | sed -n 's/.*"mode":"\([a-z]*\)".*/\1/p')
say "Update the dependency, patch around it, or revert? All three at once, each in its own copy of this machine ($mode mode)"
show cat race.toml
cat race.toml
show cloche race
# Outside of a terminal the progress is noise here.
cloche race 2> "$scratch/progress" || { cat "$scratch/progress" >&2; exit 1; }
winner=$(cloche ls --json | sed -n 's/.*"name":"\([a-z0-9-]*\)".*/\1/p')
[ -n "$winner" ] || { echo "no attempt passed: that is a bug, please report it" >&2; exit 1; }

say "All pass the test; the score tells them apart. The best is kept. What it changed:"
show "cloche diff $winner --patch requirements.txt vendor/pennies.py"
cloche diff "$winner" --patch requirements.txt vendor/pennies.py

say "A save-game before a risky step, and back"
show "cloche snapshot $winner --name good"
cloche snapshot "$winner" --name good > /dev/null
risky=(rm -rf bill.py bill_test.py)
[ "$mode" != system ] || risky+=(/usr/include)  # rootless that is read-only
show "cloche exec $winner -- ${risky[*]}"
cloche exec --quiet "$winner" -- "${risky[@]}"
show "cloche diff $winner --against good"
cloche diff "$winner" --against good
show "cloche rollback $winner good"
cloche rollback "$winner" good 2>&1
cloche exec --quiet "$winner" -- sh -c 'ls -d bill.py bill_test.py /usr/include/stdio.h'

say "The real project is as it was: it still fails, and has not lost a byte"
show make test
failing_test
sh -c "$listing" | cmp - "$scratch/before" && echo "  (same bytes as at the start)"

say "What was checked is lifted into it: all of it or nothing, and only if reality still is what the copy saw"
show cloche promote "$winner" --yes
cloche promote "$winner" --yes 2> /dev/null > "$scratch/promoted"
cat "$scratch/promoted"
promotion=$(tail -n 1 "$scratch/promoted")
show make test
make -s test 2>&1 | tail -n 1
show cloche undo "$promotion"
cloche undo "$promotion"
sh -c "$listing" | cmp - "$scratch/before" && echo "  (same bytes as at the start)"

say "The copy goes, with all that was in it"
show cloche rm --all
cloche rm --all > /dev/null
