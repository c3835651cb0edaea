#!/usr/bin/env bash
# Services that move, die, hide or belong to others while they are copied, and callers who ask for
# services of others.
. "$(dirname "$0")/../harness/lib.sh"
HANG_SECONDS=280
export PATH=$SAFE_PATH
command -v redis-server > /dev/null || skip "redis-server is not installed"
free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
started=() # pids of what runs outside
at_end() { local code=$?; for pid in "${started[@]}"; do kill -9 "$pid" 2> /dev/null; done; (exit $code); finish; }
trap at_end EXIT
goes_on() { grep -q '^TracerPid:	0$' "/proc/$1/status" && ! grep -q '^State:	[tT]' "/proc/$1/status"; }
stands() { ! grep -q '^TracerPid:	0$' "/proc/$1/status"; }
started_at() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }
boxes() { cloche ls --json | grep -o '"id":"sb_' | wc -l; }
# new_during PID ARGUMENT...: in the background, until process PID stands; sets job.
new_during() {
  local pid=$1
  shift
  cloche new "$@" > "$OUT" 2> "$ERR" &
  job=$!
  until stands "$pid" || ! kill -0 "$job" 2> /dev/null; do sleep 0.005; done
}
copies() { until pgrep -f "cloche-service copy .*$1" > "$T/log" || ! kill -0 "$job" 2> /dev/null; do :; done; }
finished() { wait "$job"; status=$?; }

# --- A worker that has left the family stands still, too.
family_port=$(free_port)
mkdir "$WORK/family" && chown "$CALLER_UID:$CALLER_UID" "$WORK/family"
cp "$BIN/service_family.py" "$WORK/family.py"
as_caller env API_TOKEN=of-the-host "$PYTHON" -B "$WORK/family.py" "$family_port" "$WORK/family" > "$T/family.log" 2>&1 &
until_true test -s "$WORK/family/worker" -a -s "$WORK/family/second"
worker=$(cat "$WORK/family/worker")
family=$(pgrep -f -- "-B $WORK/family.py $family_port" | grep -v "^$worker\$" | while read -r each; do
  [ "$(cat "/proc/$each/comm")" != python3 ] || echo "$each"; done | head -1)
started+=("$worker" "$family")
check "the worker is nobody's child" not test "$(ps -o ppid= -p "$worker" | tr -d ' ')" = "$family"
dd if=/dev/urandom of="$WORK/family/large" bs=1M count=500 status=none
chown "$CALLER_UID:$CALLER_UID" "$WORK/family/large"
new_during "$worker" --name one --with-service "$family_port"
check "it stands still while its data is copied" stands "$worker"
finished
check "a service of two processes is copied" exits 0
check "and what looks like a secret in its environment is named" says 'environment, for they look like secrets: .*API_TOKEN'
check "but not told" not grep -q of-the-host "$ERR"
until_true goes_on "$worker"
check "both continue" goes_on "$family"
cloche services one > "$T/log" 2>&1
# Its copy writes, too, so look at once: the copy must equal a snapshot of that moment.
before=$(cat "$WORK/family/first")
until_true sh -c "[ \"\$(cat '$WORK/family/first')\" != '$before' ]"
check "the worker outside moves on" goes_on "$worker"

# --- Two at once: one waits for the other.
cloche new --name two --with-service "$family_port" > "$T/two" 2>&1 &
second=$!
try cloche new --name three --with-service "$family_port"
check "of two at once, one" exits 0
wait $second
status=$?
cp "$T/two" "$ERR"
check "and the other" exits 0
cloche rm two three > "$T/log" 2>&1

# --- It dies in the middle of it. Its data is what it was.
new_during "$family" --name dying --with-service "$family_port"
copies "$WORK/family"
kill -9 "$family"
finished
check "one that dies while it is copied is copied all the same" exits 0
check "its worker continues" until_true goes_on "$worker"
cloche rm dying one > "$T/log" 2>&1
kill -9 "$worker"

# --- The daemon dies in the middle of it.
redis_port=$(free_port)
mkdir "$WORK/redis" && chown "$CALLER_UID:$CALLER_UID" "$WORK/redis"
as_caller env -i PATH="$PATH" redis-server --port "$redis_port" --dir "$WORK/redis" --save '' > "$T/redis.log" 2>&1 &
until_true redis-cli -p "$redis_port" ping
redis=$(redis-cli -p "$redis_port" info server | tr -d '\r' | sed -n 's/^process_id://p')
started+=("$redis")
mv "$WORK/family/large" "$WORK/redis/large"
# The daemon, which the client talks to, and cloche-spawn, which has root.
for victim in cloched cloche-spawn; do
  daemon=$(daemon_pid)
  [ $victim = cloched ] || daemon=$(pgrep -P "$daemon" cloche-spawn | head -1)
  new_during "$redis" --name "without-$victim" --with-service "$redis_port"
  # Before the copy begins the client would start another daemon, and make it there.
  copies "$WORK/redis"
  kill -9 "$daemon"
  finished
  check "kill -9 of $victim: it fails" not exits 0
  until_true goes_on "$redis"
  check "kill -9 of $victim: the original continues" is "$(redis-cli -p "$redis_port" ping)" PONG
  [ $victim = cloched ] || { pid=$(daemon_pid 2> /dev/null); [ -z "$pid" ] || { kill "$pid"; until_true not kill -0 "$pid"; }; }
  until_true $starter ls
  cloche rm "without-$victim" > "$T/log" 2>&1
done

# --- No room.
left=$(boxes)
refused exhausted new --with-service "$redis_port" --disk 100M
check "the original continues" goes_on "$redis"
check "no sandbox is left" is "$(boxes)" "$left"

# --- Another process by now, other names, other machines.
try as_caller "$BIN/cloche-service" pause "$redis" "$(($(started_at "$redis") + 1))"
check "a process of that number that started later is not paused" mentions '"code":"not_found"'
check "indeed" goes_on "$redis"
for name in $'unit:\e[31mred' unit: unit:../.. unit:system.slice unit:/ 'unit:a b;c' unit:-.mount; do
  refused not_found new --with-service "$name"
done
try cloche new --with-service $'unit:\e[31mred'
check "escapes in a name do not reach the terminal" not grep -q $'\e' "$ERR"
refused not_found new --with-service port:0
refused not_found new --with-service pid:0
refused invalid new --with-service pid:-1
refused invalid new --with-service port:99999999999999999999
refused not_found new --with-service port:65536
refused invalid new --with-service "$redis_port" --service-data /proc/1
refused invalid new --with-service "$redis_port" --service-data /
refused invalid new --with-service "$redis_port" --service-command no-such-program-anywhere
if [ "$MODE" = system ]; then
  # Its own view of the machine: another directory at that path.
  hidden_port=$(free_port)
  mkdir "$T/shown" "$T/behind"
  echo ours > "$T/shown/file"
  unshare -m sh -c "mount --bind '$T/behind' '$T/shown' && cd '$T/shown' && exec redis-server --port $hidden_port --dir '$T/shown' --save ''" > "$T/log" 2>&1 &
  until_true redis-cli -p "$hidden_port" ping
  started+=("$(redis-cli -p "$hidden_port" info server | tr -d '\r' | sed -n 's/^process_id://p')")
  refused conflict new --with-service "$hidden_port"
fi

# --- Services of others.
if [ "$MODE" != system ]; then
  others_port=$(free_port)
  mkdir -m 700 "$T/roots" && echo secret > "$T/roots/data"
  (cd "$T/roots" && exec env -i PATH="$PATH" SECRET_SAUCE=of-root redis-server --port "$others_port" --dir "$T/roots" --save '' > "$T/log" 2>&1) &
  until_true redis-cli -p "$others_port" ping
  others=$(redis-cli -p "$others_port" info server | tr -d '\r' | sed -n 's/^process_id://p')
  started+=("$others")
  for ref in "$others_port" "pid:$others" "port:$others_port"; do
    refused denied new --with-service "$ref"
    check "and nothing of it is revealed: $ref" not grep -q -e of-root -e "$T/roots" "$OUT"
  done
  refused denied new --with-service "$others_port" --service-data "$WORK/redis" --service-command 'redis-server'
  try as_caller "$BIN/cloche-service" pause "$others" "$(started_at "$others")"
  check "nor is it paused for another user" mentions '"code":"denied"'
  check "indeed not" goes_on "$others"
  # The caller's own service, root's data.
  refused unavailable new --with-service "$redis_port" --service-data "$T/roots"
  check "the original continues after that" goes_on "$redis"
  # A declared service runs as its caller only.
  cloche new --name mine > "$T/log" 2>&1
  id=$(cloche show mine --json | "$PYTHON" -c 'import json,sys; print(json.load(sys.stdin)["id"])')
  as_caller "$PYTHON" - "$RUN/cloched.sock" "$id" > "$OUT" 2>&1 << 'END'
import http.client, json, socket, sys
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
link = Unix("localhost")
body = {"services": [{"name": "root", "program": "/usr/bin/id", "argv": ["id"], "uid": 0, "gid": 0, "groups": [0], "cwd": "/"}]}
link.request("POST", "/v1/sandboxes/%s/services" % sys.argv[2], json.dumps(body), {"Content-Type": "application/json"})
print(link.getresponse().read().decode())
END
  try cloche services mine root
  check "a service that shall run as root does not" not mentions 'uid=0'
  cloche rm mine > "$T/log" 2>&1
fi
check "no sandbox of all these is left" is "$(boxes)" "$left"
