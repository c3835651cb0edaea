#!/usr/bin/env bash
# kill -9 of any of our processes: after the next start nothing is left over, and kept sandboxes
# are stopped with a reason and usable.
. "$(dirname "$0")/../harness/lib.sh"
# Everything on this machine that belongs to this test's daemon. Other daemons may run beside it.
cgroup_names() { cut -d: -f3 "/proc/$1/cgroup" 2> /dev/null | grep -o '[^/]*cloche-[^/]*' | sort -u; }
traces() {
  grep -F -e "$STATE" -e "$RUN" /proc/self/mountinfo | sed 's/^/mount: /'
  losetup -a 2> /dev/null | grep -F "$STATE" | sed 's/^/loop device: /'
  for name in $our_cgroups; do find /sys/fs/cgroup -type d -name "$name" 2> /dev/null; done | sed 's/^/cgroup: /'
  for pid in $(our_processes); do echo "process: $pid $(tr '\0' ' ' < /proc/$pid/cmdline 2> /dev/null)"; done
}
our_cgroups=

spawn_pid() {
  local daemon
  daemon=$(daemon_pid 2> /dev/null)
  [ -z "$daemon" ] || pgrep -P "$daemon" -f cloche-spawn | head -1
}
# Of spawn's children the keeper is the one in spawn's own user namespace.
keeper_pid() {
  local spawn child
  spawn=$(spawn_pid)
  [ -n "$spawn" ] || return
  for child in $(pgrep -P "$spawn"); do
    [ "$(readlink "/proc/$child/ns/user")" = "$(readlink "/proc/$spawn/ns/user")" ] && echo "$child"
  done | head -1
}
init_pid() { cloche show "$1" --json > "$OUT" && field init_pid; }
gone() { ! kill -0 "$1" 2> /dev/null || [ "$(awk '{print $3}' "/proc/$1/stat" 2> /dev/null)" = Z ]; }

# The processes in the sandboxes of this test, seen from the host.
kept_mark=$((1000000 + $$)) beside_mark=$((2000000 + $$))
runs() { pgrep -f "^sleep $1" > /dev/null; }
runs_no_more() { ! runs "$1"; }

# victim all|one SENTENCE FINDER...: kills what FINDER prints, with a kept sandbox at work and a
# disposable one beside it. "all": everything ends with it; "one": the one beside continues.
victim() {
  local extent=$1 sentence=$2 pid id beside
  shift 2
  id=$(cloche new --name victim 2> /dev/null)
  cloche exec victim -- sh -c 'echo kept > file; sync' > /dev/null 2>&1
  our_cgroups="$our_cgroups $(cgroup_names "$(init_pid victim)")"
  cloche exec -d victim -- sleep $kept_mark > /dev/null
  cloche run -- sleep $beside_mark > "$T/beside" 2>&1 &
  beside=$!
  until_true runs $beside_mark && until_true runs $kept_mark
  pid=$("$@")
  check "$sentence: it is there to be killed" test -n "$pid"
  [ -z "$pid" ] || kill -9 "$pid"
  until_true gone "$pid"
  if [ $extent = all ]; then
    wait $beside
    status=$?
    check "$sentence: a client at work gets an error" test $status != 0 -a $status != 124
    [ "$MODE" != shared ] || root_cloche ls > /dev/null 2>&1
    try cloche ls --json
    check "$sentence: every process of the sandboxes is gone" until_true runs_no_more $kept_mark
  else
    try cloche ls --json
    check "$sentence: the sandbox beside it continues" runs $beside_mark
    kill "$(pgrep -f "^$BIN/cloche run -- sleep $beside_mark")"
    wait $beside
  fi
  check "$sentence: the disposable one is gone" until_true runs_no_more $beside_mark
  check "$sentence: the next command works" is "$(cloche ls --json | grep -c "$id")" 1
  try cloche show victim --json
  check "$sentence: the kept one runs, or is stopped with a reason" \
    [ "$(field state)" = running -o -n "$(field reason)" ]
  try cloche exec victim -- cat file
  check "$sentence: its files are there" prints kept
  try cloche run --json -- sh -c 'echo fine; echo x > new'
  check "$sentence: new sandboxes work" field_is stdout fine
  check "$sentence: and what they changed is counted" field_is changes.added 1
  try cloche rm --all
  check "$sentence: it can be removed" exits 0
}

victim all "kill of cloched" daemon_pid
victim all "kill of cloche-spawn" spawn_pid
victim one "kill of the keeper" keeper_pid
victim one "kill of a sandbox's init" init_pid victim

# The client itself, in the middle of output.
cloche run -- sh -c 'yes; true' > /dev/null 2>&1 &
client_pid() { pgrep -f "^$BIN/cloche run -- sh -c yes"; }
until_true client_pid
kill -9 "$(client_pid)"
wait 2> /dev/null
empty() { [ "$(cloche ls --all --json)" = '[]' ]; }
check "kill of the client: its sandbox is gone" until_true empty

# Again and again, at any moment; then a start, an end, and a look around.
for round in 1 2 3 4 5; do
  for _ in 1 2 3; do cloche run -- sh -c 'echo x > f; sleep 1' > /dev/null 2>&1 & done
  cloche new --name "round$round" > /dev/null 2>&1 &
  sleep "0.0$((round * 2))"  # not for synchronisation: to hit different moments
  pid=$(daemon_pid 2> /dev/null)
  case $((round % 2)) in
    0) spawn=$(spawn_pid); [ -z "$spawn" ] || kill -9 "$spawn" ;;
    1) [ -z "$pid" ] || kill -9 "$pid" ;;
  esac
  wait
done
if [ "$MODE" = shared ]; then root_cloche ls > "$OUT" 2>&1; fi
try cloche ls --json
check "after all of these kills the daemon starts" exits 0
for name in $(grep -o '"name":"round[0-9]"' "$OUT" | cut -d'"' -f4); do
  cloche exec "$name" -- true > /dev/null 2>&1 || echo "$name" >> "$T/unusable"
done
check "every sandbox that is listed can be used" test ! -s "$T/unusable"
try cloche rm --all
try cloche run -- echo fine
check "and sandboxes start" prints fine
stop_daemon
traces > "$T/traces"
status=
: > "$OUT"; : > "$ERR"
check "after the daemon has left there is no mount" not grep '^mount' "$T/traces"
check "no loop device" not grep '^loop' "$T/traces"
check "no process" not grep '^process' "$T/traces"
[ "$MODE" != rootless ] || check "no directory of a sandbox" is "$(find "$STATE" -type d -name '*sb_*')" ""
check "no cgroup" not grep '^cgroup' "$T/traces"
