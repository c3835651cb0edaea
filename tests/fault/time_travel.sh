#!/usr/bin/env bash
# kill -9 in the middle of snapshot, rollback and fork: afterwards every sandbox is in one of the
# states it could be in, what was acknowledged exists, and nothing is left over.
. "$(dirname "$0")/../harness/lib.sh"
[ "$(id -u)" = 0 ] || skip "to find the processes needs root"
spawn_pid() {
  local daemon
  daemon=$(daemon_pid 2> /dev/null)
  [ -z "$daemon" ] || pgrep -P "$daemon" -f cloche-spawn | head -1
}
digest='for f in f*; do echo "$f"; cat "$f"; done | md5sum'
state_of() { cloche exec "$1" -- sh -c "$digest" 2> "$ERR"; }
# shellcheck disable=SC2034
seen=
is_a_or_b() { seen=$(state_of "$1"); [ -n "$seen" ] && { [ "$seen" = "$a" ] || [ "$seen" = "$b" ]; } || { echo "is '$seen', neither '$a' nor '$b'" >&2; false; }; }

cloche new --name box > /dev/null 2>&1
cloche exec box -- sh -c 'for i in $(seq 400); do echo A > f$i; done' > /dev/null
cloche snapshot box --name a > /dev/null
a=$(state_of box)
cloche exec box -- sh -c 'for i in $(seq 200); do echo BB > f$i; done; rm f39*; ln f1 f999' > /dev/null
cloche snapshot box --name b > /dev/null
b=$(state_of box)
check "there are two states" not is "$a" "$b"

# Snapshots on disk, and in the daemon's list: they never differ.
saved_on_disk() {
  local enter=()
  [ "$MODE" = rootless ] || enter=(nsenter --mount --target "$(spawn_pid)")
  "${enter[@]}" ls "$STATE/pool/snaps"
}
list_differs() {
  cloche ls --all --json | grep -o '"id":"sb_[a-z0-9]*"' | cut -d'"' -f4 |
    as_caller xargs -I {} "$BIN/cloche" snapshots {} --json > "$T/list"
  comm -3 <(saved_on_disk | sort) <(grep -o '"id":"sn_[a-z0-9]*"' "$T/list" | cut -d'"' -f4 | sort) > "$T/differ"
  for each in $(cat "$T/differ"); do grep -o "{\"id\":\"$each[^}]*}" "$T/list"; done >> "$T/differ"
  cat "$T/differ"
}

# Until something fails: everything it writes down was acknowledged.
: > "$T/saved"; : > "$T/forked"
work() {
  local round=$1 n
  for n in $(seq 20); do
    cloche snapshot box --name "s$round-$n" > /dev/null 2>&1 || return
    echo "s$round-$n" >> "$T/saved"
    cloche rollback box a > /dev/null 2>&1 || return
    cloche fork box --name "k$round-$n" --name "l$round-$n" > /dev/null 2>&1 || return
    echo "k$round-$n l$round-$n" >> "$T/forked"
    cloche rollback box b > /dev/null 2>&1 || return
    [ $((round % 2)) = 0 ] || cloche exec -d box -- sleep 1000 > /dev/null 2>&1 || return
  done
}
round=0 hits=0
# hit VICTIM: kills it somewhere in all of this, then checks.
hit() {
  local victim=$1 pid worker
  round=$((round + 1))
  work $round &
  worker=$!
  if [ "$victim" = job ]; then
    pid=$("$PYTHON" "$BIN/kill_job.py" "$(spawn_pid)" "0.$((RANDOM % 40))")
  else
    sleep "0.$(printf '%03d' $((RANDOM % 400)))"  # not for synchronisation: to hit different moments
    if [ "$victim" = cloched ]; then pid=$(daemon_pid 2> /dev/null); else pid=$(spawn_pid); fi
    [ -z "$pid" ] || kill -9 "$pid"
  fi
  [ -z "$pid" ] || hits=$((hits + 1))
  wait $worker
  try cloche ls --all --json
  check "round $round, $victim: the daemon starts or continues" exits 0
  check "round $round: the sandbox is in one of its two states" is_a_or_b box
  cloche snapshots box --json > "$T/list"
  for name in $(cat "$T/saved"); do grep -q "\"$name\"" "$T/list" || echo "$name"; done > "$T/lost"
  check "round $round: every acknowledged snapshot exists" is "$(cat "$T/lost")" ""
  for name in $(cat "$T/forked"); do grep -q "\"$name\"" "$OUT" || echo "$name"; done > "$T/lost"
  check "round $round: every acknowledged fork exists" is "$(cat "$T/lost")" ""
  check "round $round: on disk there is what is listed" is "$(list_differs)" ""
}
for _ in 1 2 3 4 5; do hit cloched; hit cloche-spawn; hit job; hit job; done
check "most kills hit something ($hits)" test $hits -ge 15
for fork in $(tr ' ' '\n' < "$T/forked" | shuf -n 6); do
  check "$fork is in one of the two states" is_a_or_b "$fork"
done
for saved in $(shuf -n 6 "$T/saved"); do
  cloche rollback box "$saved" > /dev/null 2>&1
  check "and so is the sandbox at $saved" is_a_or_b box
  check "and nothing of it is lost" is "$(list_differs)" ""
done

# Nothing is there that is not listed.
ids() { cloche "$@" --all --json | grep -o '"id":"s[bn]_[a-z0-9]*"' | cut -d'"' -f4 | sort; }
sandboxes=$(ids ls)
for each in $sandboxes; do cloche snapshots "$each" --json; done > "$T/list"
snapshots=$(grep -o '"id":"sn_[a-z0-9]*"' "$T/list" | cut -d'"' -f4 | sort)
# Other tests have groups, too: ours is named after the state directory.
ours=$(printf 'cloche-%s-%x' "$(stat -c %D "$STATE")" "$(stat -c %i "$STATE")")
frozen() { find /sys/fs/cgroup -path "*/$ours/*" -name cgroup.freeze -exec grep -l 1 {} + 2> /dev/null; }
check "no cgroup of ours is frozen" is "$(frozen)" ""
stop_daemon
POOL=$STATE/pool
if [ "$MODE" != rootless ]; then
  POOL=$T/pool
  mkdir "$POOL" && mount -o loop,ro "$STATE/pool.img" "$POOL"
fi
check "in kept/ there is what is listed" is "$(ls "$POOL/kept")" "$sandboxes"
comm -3 <(ls "$POOL/snaps") <(echo "$snapshots") > "$T/differ"
for each in $(cat "$T/differ"); do grep -o "{\"id\":\"$each[^}]*}" "$T/list"; done >> "$T/differ"
check "in snaps/ too" is "$(cat "$T/differ")" ""
check "and no draft" is "$(find "$POOL/once" -name 'draft*')" ""
[ "$MODE" = rootless ] || { unmount "$POOL" && rmdir "$POOL"; }
[ "$MODE" != shared ] || root_cloche ls > /dev/null 2>&1
try cloche rm --all
check "all of it can be removed" exits 0

# A note of a rollback, and what may be left of it after a power loss.
if [ "$MODE" = rootless ]; then
  cloche new --name power > /dev/null 2>&1
  id=$(cloche show power --json | grep -o 'sb_[a-z0-9]*' | head -1)
  cloche exec power -- sh -c 'echo saved > file' > /dev/null
  saved=$(cloche snapshot power)
  cloche exec power -- sh -c 'echo later > file' > /dev/null
  other=$(cloche snapshot power)
  stop_daemon
  rm -rf "$POOL/snaps/$other"  # its record stands for that of the abandoned state
  as_caller ln -s "$saved $other" "$POOL/kept/$id.next"
  try cloche exec power -- cat file
  check "noted, and nothing moved: it did not happen" prints later
  try cloche snapshots power --json
  check "and what it would have abandoned is not listed" not mentions "$other"
  stop_daemon
  check "the note is gone" test ! -e "$POOL/kept/$id.next" -a ! -L "$POOL/kept/$id.next"
  as_caller ln -s "$saved sn_gone" "$POOL/kept/$id.next"
  as_caller mv "$POOL/kept/$id" "$POOL/snaps/sn_gone"
  try cloche exec power -- cat file
  check "set aside, and no more: it is completed" prints saved
  stop_daemon
  as_caller ln -s "sn_none sn_gone" "$POOL/kept/$id.next"
  as_caller mv "$POOL/kept/$id" "$POOL/snaps/sn_gone"
  try cloche exec power -- cat file
  check "set aside, and the snapshot is lost: it is taken back" prints saved
  stop_daemon
  as_caller ln -s "sn_none sn_neither" "$POOL/kept/$id.next"
  as_caller mv "$POOL/kept/$id" "$T/aside"
  try cloche ls
  check "neither is there: others still start" exits 0
  try cloche rm --all
  chmod -R u+rwX "$T/aside"
fi
