#!/usr/bin/env bash
# A copy of the machine with what runs on it: a real Redis (everybody), a real PostgreSQL (root).
. "$(dirname "$0")/../harness/lib.sh"
HANG_SECONDS=280  # also how long a service outside may run
export PATH=$SAFE_PATH
command -v redis-server > /dev/null || skip "redis-server is not installed"

free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
started=() # pids of what runs outside
end_services() { for pid in "${started[@]}"; do kill "$pid" 2> /dev/null; done; started=(); }
at_end() { local code=$?; end_services; [ -z "${unit-}" ] || until_true rmdir "$unit"; rm -rf "/run/cloche-t-$$"; (exit $code); finish; }
trap at_end EXIT
# Nobody traces it or has stopped it.
goes_on() { grep -q '^TracerPid:	0$' "/proc/$1/status" && ! grep -q '^State:	[tT]' "/proc/$1/status"; }
state_of() { cloche services "$1" --json > "$T/services" && "$PYTHON" -c 'import json,sys
for s in json.load(open(sys.argv[1])):
    if s["name"] == sys.argv[2]: print(s["state"])' "$T/services" "$2"; }
# It has died, and is back.
is_back() { [ "$(state_of "$1" "$2")" = ready ] && ! grep -q '"restarts":0' "$T/services"; }

# --- Redis, of the caller.
redis_port=$(free_port)
install -d -o "$CALLER_UID" -g "$CALLER_UID" "$WORK/redis"
as_caller env SERVICE_TOKEN=s3cr3t-of-the-host redis-server --port "$redis_port" --dir "$WORK/redis" \
  --save '3600 1' --appendonly yes > "$T/redis.log" 2>&1 &
outside() { redis-cli -p "$redis_port" "$@"; }
inside() { local box=$1; shift; cloche exec "$box" -- redis-cli -p "$redis_port" "$@"; }
until_true outside ping
redis_pid=$(outside info server | tr -d '\r' | sed -n 's/^process_id://p')
started+=("$redis_pid")
outside set place reality > "$T/log"
outside lpush list $(seq 1000) >> "$T/log"

try cloche new --name one --with-service "$redis_port"
check "a sandbox with a service of the machine" exits 0
check "it prints its id, and what runs in it" mentions '^sb_[a-z0-9]*$'
check "with its state and port" says "redis-server *ready *$redis_port"
check "the copy answers on the same port, with the same data" is "$(inside one get place)" reality
check "all of it" is "$(inside one llen list)" 1000
check "the original continues" goes_on "$redis_pid"
inside one set place one > "$T/log"
check "writes to the copy stay there" is "$(outside get place)" reality
outside set place moved-on > "$T/log"
check "writes to the original do not get in" is "$(inside one get place)" one
try cloche new --name two --with-service "pid:$redis_pid" --json
check "by pid, and --json prints one object" field_is services.0.state ready
check "two run their own at once" is "$(inside two get place) $(inside one get place)" "moved-on one"
check "the service's secrets stay outside" is \
  "$(cloche exec one -- sh -c 'cat /proc/[0-9]*/environ 2> /dev/null | tr "\0" "\n" | grep -c s3cr3t')" 0
try cloche show one
check "show tells of it" mentions "redis-server *ready"
try cloche services one redis-server
check "its output can be read" mentions 'Ready to accept connections'

unit=
for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
  [ "$MODE" = system ] && [ -z "$unit" ] && [ -e "$root/cgroup.procs" ] || continue
  unit=$root/cloche-t-$$.service
  mkdir "$unit" && echo "$redis_pid" > "$unit/cgroup.procs" || { rmdir "$unit"; unit=; }
done
if [ -n "$unit" ]; then
  try cloche new --name three --with-service "unit:cloche-t-$$" --json
  check "by unit" field_is services.0.name redis-server
  cloche rm three > "$T/log"
fi

# --- It belongs to the state: saved, restored, copied.
cloche snapshot one --name before > "$T/log"
inside one set place later > "$T/log"
try cloche rollback one before
check "rollback" exits 0
check "the service runs again, on the data of then" is "$(inside one get place)" one
try cloche fork one -n 2 --json
forks=$("$PYTHON" -c 'import json,sys; print(" ".join(s["id"] for s in json.load(open(sys.argv[1]))))' "$OUT")
for fork in $forks; do inside "$fork" append place "-$fork" > "$T/log"; done
for fork in $forks; do
  check "a fork has its own service" is "$(inside "$fork" get place)" "one-$fork"
done
check "and changes nobody else's" is "$(inside one get place)" one
cloche stop one > "$T/log"
check "a stopped one starts it with its next command" is "$(inside one get place)" one

# A service cannot return to a state without its data: the live files would show through.
try cloche new --name early --auto-snapshot every-command --with-service "$redis_port" --json
try cloche undo-command early
check "the copy of its data is not undone" says 'was saved before the data of its service redis-server was copied'
check "it runs on" is "$(inside early ping)" PONG
try cloche undo-command early
check "later commands are" exits 0
before=$(cloche snapshots early --json | "$PYTHON" -c 'import json,sys; print(min(json.load(sys.stdin), key=lambda s: s["created"])["id"])')
try cloche fork "$before" --json
check "a fork of that state has no service" is "$(field 0.services)" '[]'
cloche rm early "$(field 0.id)" > "$T/log"

# --- A service that dies is restarted.
inside one shutdown nosave > "$T/log" 2>&1
until_true is_back one redis-server
check "one that dies is started again" is "$(inside one get place)" one
try cloche services one --json
check "and that is counted" not field_is 0.restarts 0
cloche exec one -- sh -c 'rm -rf redis; echo in the way > redis' > "$T/log"
try cloche services restart one redis-server
check "one that cannot start says why" says 'start service redis-server: '
try cloche exec one -- cat redis
check "and does not keep anybody from mending it" prints 'in the way'
cloche stop one > "$T/log"
try cloche exec one -- true
check "a command that wakes it reports that" says 'service redis-server does not run'
try cloche rollback one before
check "the way back is open" is "$(inside one get place)" one

# --- The original is never left paused, whichever process dies.
stands() { ! grep -q '^TracerPid:	0$' "/proc/$redis_pid/status"; }
dd if=/dev/zero of="$WORK/redis/large" bs=1M count=600 status=none
[ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" "$WORK/redis/large"
for victim in client pauser; do
  cloche new --name "killed-$victim" --with-service "$redis_port" > "$T/log" 2>&1 &
  job=$!
  until stands || ! kill -0 "$job" 2> /dev/null; do sleep 0.01; done
  check "while its data is copied, the original stands still" stands
  pid=$(sed -n 's/^TracerPid:	//p' "/proc/$redis_pid/status")
  [ $victim = pauser ] || pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
  kill -9 "$pid"
  until_true goes_on "$redis_pid"
  check "kill -9 of the $victim: the original continues" is "$(outside ping)" PONG
  wait "$job"
  status=$?
  check "and what was copied is not passed off for whole" not exits 0
  cloche rm "killed-$victim" > "$T/log" 2>&1
done
rm "$WORK/redis/large"

# --- Impossible requests.
dead_port=$(free_port)
refused not_found new --with-service "port:$dead_port"
refused not_found new --with-service unit:no-such-unit
refused not_found new --with-service pid:4194303
refused invalid new --with-service 'what:ever'
refused invalid new --with-service "$redis_port" --service-data "$WORK/not-there"
refused conflict new --with-service "$redis_port" --base "dir:$WORK"
if [ "$MODE" != system ]; then
  mkdir "$T/roots"
  redis-server --port "$dead_port" --dir "$T/roots" --save '' > "$T/log" 2>&1 &
  started+=($!)
  until_true redis-cli -p "$dead_port" ping
  refused denied new --with-service "$dead_port"
fi
before=$(cloche ls --json | grep -o '"id":"sb_' | wc -l)
check "none of them left a sandbox behind" is "$before" 4

if [ "$MODE" = system ] && [ -x /usr/lib/postgresql/15/bin/postgres ]; then
  # --- PostgreSQL, in the middle of writing.
  pg=/usr/lib/postgresql/15/bin
  port=$(free_port)
  install -d -o postgres -g postgres -m 700 "$T/pg" "$T/space"
  install -d -o postgres -g postgres "/run/cloche-t-$$"
  as_postgres() { setpriv --reuid postgres --regid postgres --init-groups env -i PATH="$pg:$PATH" "$@"; }
  (cd "$T/pg" && as_postgres initdb -D "$T/pg" -A trust > "$T/log" 2>&1)
  (cd "$T/pg" && exec setpriv --reuid postgres --regid postgres --init-groups "$pg/postgres" -D "$T/pg" -p "$port" \
    -k "/run/cloche-t-$$" > "$T/pg.log" 2>&1) &
  started+=($!)
  sql() { psql -h 127.0.0.1 -p "$port" -U postgres -Atqc "$1"; }
  sql_in() { local box=$1; shift; cloche exec "$box" -- psql -h 127.0.0.1 -p "$port" -U postgres -Atqc "$1"; }
  until_true sql 'select 1'
  sql "create tablespace far location '$T/space'"
  sql 'create table t(x int); create table u(x int) tablespace far; insert into u select generate_series(1, 500)'
  (until [ -e "$T/enough" ]; do sql 'insert into t select generate_series(1, 100)'; done) > "$T/log" 2>&1 &
  writer=$!
  until_true sh -c "[ \$(psql -h 127.0.0.1 -p $port -U postgres -Atqc 'select count(*) from t') -gt 1000 ]"
  try cloche new --name db --with-service "$port"
  check "a PostgreSQL in the middle of writing" exits 0
  count=$(sql_in db 'select count(*) from t')
  check "its copy recovers: whole transactions" is "$((count > 1000)) $((count % 100))" "1 0"
  check "with its tablespace" is "$(sql_in db 'select count(*) from u')" 500
  touch "$T/enough" && wait "$writer"
  outside_count=$(sql 'select count(*) from t')
  sql_in db 'drop table t; delete from u' > "$T/log"
  check "tables that the copy drops are there outside" is "$(sql 'select count(*) from t') $(sql 'select count(*) from u')" "$outside_count 500"
  try cloche new --name db2 --with-service "$port"
  check "a second one runs beside it" is "$(sql_in db2 'select count(*) from t') $(sql_in db 'select count(*) from u')" "$outside_count 0"
  check "by the socket file, too" is "$(cloche exec db2 -- psql -h "/run/cloche-t-$$" -p "$port" -U postgres -Atqc 'select 1')" 1
  cloche snapshot db2 --name good > "$T/log"
  sql_in db2 'truncate t' > "$T/log"
  cloche rollback db2 good > "$T/log" 2>&1
  check "rollback restarts it on the data of then" is "$(sql_in db2 'select count(*) from t')" "$outside_count"
  cloche exec db2 -- sh -c "while psql -h 127.0.0.1 -p $port -U postgres -qc 'insert into u values (7)'; do :; done" > "$T/log" 2>&1 &
  try cloche fork "$(cloche snapshot db2)" --json
  fork=$(field 0.id)
  check "a fork of a busy one recovers" test "$(sql_in "$fork" 'select count(*) from u')" -ge 500
  cloche exec db2 -- sh -c "echo 'port = nonsense' >> $T/pg/postgresql.conf" > "$T/log"
  try cloche services restart db2 postgres
  check "a bad setting is reported in the service's own words" says 'nonsense\|configuration file'
  cloche rollback db2 good > "$T/log" 2>&1
  check "and undone" is "$(sql_in db2 'select count(*) from t')" "$outside_count"
  check "the original never noticed" is "$(sql 'select count(*) from t')" "$outside_count"
fi
