#!/usr/bin/env bash
# kill -9 of any of our processes: after the next start nothing is left over, and kept sandboxes
# are stopped with a reason and usable.
. "$(dirname "$0")/../harness/lib.sh"
owner=0
[ "$MODE" != rootless ] || owner=$CALLER_UID

# Everything on this machine that belongs to this test's daemon. Other daemons may run beside it.
cgroup_names() { cut -d: -f3 "/proc/$1/cgroup" 2> /dev/null | grep -o '[^/]*cloche-[^/]*' | sort -u; }
traces() {
  grep -F -e "$STATE" -e "$RUN" /proc/self/mountinfo | sed 's/^/mount: /'
  losetup -a 2> /dev/null | grep -F "$STATE" | sed 's/^/loop device: /'
  for name in $our_cgroups; do find /sys/fs/cgroup -type d -name "$name" 2> /dev/null; done | sed 's/^/cgroup: /'
  for pid in $(our_processes); do echo "process: $pid $(tr '\0' ' ' < /proc/$pid/cmdline 2> /dev/null)"; done
}
our_cgroups=

spawn_pid() { pgrep -P "$(daemon_pid)" -f cloche-spawn | head -1; }
# Of spawn's children the keeper is the one in spawn's own user namespace.
keeper_pid() {
  local spawn child
  spawn=$(spawn_pid)
  for child in $(pgrep -P "$spawn"); do
    [ "$(readlink "/proc/$child/ns/user")" = "$(readlink "/proc/$spawn/ns/user")" ] && echo "$child"
  done | head -1
}
init_pid() { cloche show "$1" --json > "$OUT" && field init_pid; }
gone() { ! kill -0 "$1" 2> /dev/null || [ "$(awk '{print $3}' "/proc/$1/stat" 2> /dev/null)" = Z ]; }

# victim SENTENCE PID: with a kept sandbox at work and a disposable one beside it.
victim() {
  local sentence=$1 finder=$2 argument=${3-} pid id
  id=$(cloche new --name victim)
  cloche exec victim -- sh -c 'echo kept > file; sync' > /dev/null 2>&1
  our_cgroups="$our_cgroups $(cgroup_names "$(init_pid victim)")"
  cloche exec -d victim -- sleep 7777 > /dev/null
  cloche run -- sh -c 'echo started; exec sleep 8888' > "$T/beside" 2>&1 &
  local beside=$!
  until_true grep -q started "$T/beside"
  pid=$($finder $argument)
  check "$sentence: it is there to be killed" test -n "$pid"
  [ -n "$pid" ] || return
  kill -9 "$pid"
  until_true gone "$pid"
  wait $beside
  local beside_status=$?
  check "$sentence: a client at work is told" test $beside_status != 0
  status=$beside_status
  try cloche ls --json
  [ $status = 0 ] || try cloche ls --json  # the first may meet the end of the old daemon
  check "$sentence: the next command works" exits 0
  check "$sentence: the kept sandbox is still listed" mentions "$id"
  until_true sh -c "! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'sleep 8888'"
  check "$sentence: the disposable command is gone" is $? 0
  try cloche show victim --json
  state=$(field state)
  check "$sentence: the kept one is stopped with a reason, or was kept running" \
    [ "$state" = running -o "$(field reason)" != "" ]
  if [ "$state" != running ]; then
    check "$sentence: and nothing of it runs" not pgrep -f '^sleep 7777'
  fi
  try cloche exec victim -- cat file
  check "$sentence: its files are there" prints kept
  try cloche run -- echo fine
  check "$sentence: new sandboxes work" prints fine
  try cloche rm --all
  check "$sentence: it can be removed" exits 0
}

victim "kill of cloched" daemon_pid
victim "kill of cloche-spawn" spawn_pid
victim "kill of the keeper" keeper_pid
victim "kill of a sandbox's init" init_pid victim

# The client itself, in the middle of output.
cloche run -- sh -c 'yes; true' > /dev/null 2>&1 &
client_of() { pgrep -f "^$BIN/cloche run -- sh -c yes" | tail -1; }
until_true client_of
kill -9 "$(client_of)"
wait 2> /dev/null
empty() { [ "$(cloche ls --all --json)" = '[]' ]; }
check "kill of the client: its sandbox is gone" until_true empty

# Again and again, at whatever moment it hits; then a start, an end, and a look around.
for round in 1 2 3 4 5; do
  for _ in 1 2 3; do cloche run -- sh -c 'echo x > f; sleep 100' > /dev/null 2>&1 & done
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
check "after ten kills the daemon starts" exits 0
while read -r name; do cloche exec "$name" -- true > /dev/null 2>&1 || echo "$name" >> "$T/unusable"; done < <(grep -o '"name":"round[0-9]"' "$OUT" | cut -d'"' -f4)
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
check "no cgroup" not grep '^cgroup' "$T/traces"
