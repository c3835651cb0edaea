#!/usr/bin/env bash
# demo.sh: three attempts at one bug, each in its own copy of this machine. Needs nothing but the
# built programs; its daemon, its state and its project live in one directory that goes with it.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
export PATH=${CLOCHE_BIN:-$here/build/bin}:$PATH
# Not /tmp: a pool in memory would be small, and older kernels cannot copy from there.
scratch=$(mktemp -d /var/tmp/cloche-demo.XXXXXX)
chmod 711 "$scratch"  # cloched is not root and has to get through
export CLOCHE_STATE_DIR=$scratch/state CLOCHE_RUNTIME_DIR=$scratch/run
unset CLOCHE_SOCKET
attempts=(reckless bubble qsort)

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
milliseconds() { printf '%s' $(($(date +%s%N) / 1000000)); }
# One line per file: checksum, size, name.
listing='find . -type f ! -path "./build/*" -exec cksum {} + | sort'

cp -R "$here/examples/median" "$scratch/project"
cd "$scratch/project"
rm -rf build
sh -c "$listing" > "$scratch/before"

say "A project with a bug. This is the real one:"
show make test
make --no-print-directory test 2>&1 | grep -v '^make' || true
rm -rf build

mode=$(cloche doctor --json | sed -n 's/.*"mode":"\([a-z]*\)".*/\1/p')
say "Three copies of this machine ($mode mode), one for each attempt"
for name in "${attempts[@]}"; do
  begin=$(milliseconds)
  notes=$(cloche new --name "$name" --agent demo --task 'mend median()' 2>&1) || { echo "$notes" >&2; exit 1; }
  show "$(printf 'cloche new --name %-8s  (%d ms)' "$name" $(($(milliseconds) - begin)))"
done

say "All three at once. An agent would send these scripts; here they are examples/attempts/*.sh"
for name in "${attempts[@]}"; do
  show "cloche exec --wall 60s $name -- sh -s < $name.sh"
  cloche exec --quiet --wall 60s "$name" -- sh -s < "$here/examples/attempts/$name.sh" \
    > "$scratch/$name.out" 2>&1 &
done
wait

say "Checked: each copy is built anew and tested, and compared with the real project"
winner='' best=''
printf '%-10s  %-6s  %8s  %13s  %s\n' attempt passed 'test ms' 'files changed' 'last line of its own output'
for name in "${attempts[@]}"; do
  cloche exec --quiet "$name" -- sh -c 'rm -rf build; make build/median_test' > /dev/null 2>&1 || true
  passed=no time=-
  if cloche exec --json "$name" -- build/median_test > "$scratch/result"; then
    passed=yes
    time=$(sed -n 's/.*"duration_s":\([0-9.e-]*\).*/\1/p' "$scratch/result" | awk '{printf "%d", $1 * 1000 + 0.5}')
    if [ -z "$best" ] || [ "$time" -lt "$best" ]; then winner=$name best=$time; fi
  fi
  cloche exec --quiet "$name" -- sh -c "$listing" > "$scratch/after"
  changed=$(sort "$scratch/before" "$scratch/after" | uniq -u | awk '{print $3}' | sort -u | wc -l)
  printf '%-10s  %-6s  %8s  %13s  %s\n' "$name" "$passed" "$time" "$changed" \
    "$(tail -n 1 "$scratch/$name.out")"
done
[ -n "$winner" ] || { echo "no attempt passed: that is a bug, please report it" >&2; exit 1; }

say "The fastest that passed is $winner. What it changed:"
show "cloche exec $winner -- cat median.c | diff -u median.c -"
cloche exec "$winner" -- cat median.c | diff -u --label real --label "$winner" median.c - || true

say "The real project is as it was, although one copy deleted it:"
show ls
ls
sh -c "$listing" | cmp - "$scratch/before" && echo "  (same bytes as at the start)"

say "The copies go, with all that was in them"
show cloche rm --all
cloche rm --all > /dev/null

say "To lift the winner into the real project, with checks and an undo, is promotion: not built yet."
