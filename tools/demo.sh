#!/usr/bin/env bash
# demo.sh: three attempts at one bug race, each in its own copy of this machine. Needs nothing but the
# built programs; its daemon, its state and its project live in one directory that goes with it.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export PATH=${CLOCHE_BIN:-$here/build/bin}:$PATH
# Not /tmp: a pool in memory would be small, and older kernels cannot copy from there.
scratch=$(mktemp -d /var/tmp/cloche-demo.XXXXXX)
chmod 711 "$scratch"  # cloched is not root and has to get through
export CLOCHE_STATE_DIR=$scratch/state CLOCHE_RUNTIME_DIR=$scratch/run
unset CLOCHE_SOCKET

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
# One line per file: checksum, size, name.
listing='find . -type f ! -path "./build/*" -exec cksum {} + | sort'

cp -R "$here/examples/median" "$scratch/project"
cp -R "$here/examples/attempts" "$scratch/attempts"
cd "$scratch/project"
rm -rf build
sh -c "$listing" > "$scratch/before"

say "A project with a bug. This is the real one:"
show make test
make --no-print-directory test 2>&1 | grep -v '^make' || true
rm -rf build

mode=$(cloche doctor --json | sed -n 's/.*"mode":"\([a-z]*\)".*/\1/p')
say "Three attempts at once, each in its own copy of this machine ($mode mode); race.toml says what to check"
show cloche race --report race.html
# Outside of a terminal the progress is noise here.
cloche race --report "$scratch/race.html" 2> "$scratch/progress" || { cat "$scratch/progress" >&2; exit 1; }
winner=$(cloche ls --json | sed -n 's/.*"name":"\([a-z0-9-]*\)".*/\1/p')
[ -n "$winner" ] || { echo "no attempt passed: that is a bug, please report it" >&2; exit 1; }

say "The best that passed is kept. What it changed:"
show "cloche diff $winner --patch median.c"
cloche diff "$winner" --patch median.c

say "A save-game before a risky step, and back"
show "cloche snapshot $winner --name good"
cloche snapshot "$winner" --name good > /dev/null
risky=(rm -rf median.c)
[ "$mode" != system ] || risky+=(/usr/include)  # rootless that is read-only
show "cloche exec $winner -- ${risky[*]}"
cloche exec --quiet "$winner" -- "${risky[@]}"
show "cloche diff $winner --against good"
cloche diff "$winner" --against good
show "cloche rollback $winner good"
cloche rollback "$winner" good 2>&1
cloche exec --quiet "$winner" -- sh -c 'ls median.c /usr/include/stdio.h'

say "The real project is as it was, although one copy deleted it:"
show ls
ls
sh -c "$listing" | cmp - "$scratch/before" && echo "  (same bytes as at the start)"

say "The copy goes, with all that was in it"
show cloche rm --all
cloche rm --all > /dev/null

say "To lift the winner into the real project, with checks and an undo, is promotion: not built yet."
