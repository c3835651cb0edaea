# Runs inside a guest: a real Redis is taken along into the copy, by root and by an ordinary user
# with a daemon of their own.
. /guest/check.sh
command -v redis-server > /dev/null || { echo 'SKIP: redis-server is missing: tools/deps.sh test'; exit 77; }
work=/run/guest_services
mkdir $work
shown="$work/out $work/err $work/redis.log"
mkdir -m 700 /run/user-1000
chown 1000:1000 /run/user-1000

as() {  # as WHO COMMAND: what it prints; $work/err
  case $1 in
    root) sh -c "cd; $2" ;;
    user) su user -c "cd; export CLOCHE_RUNTIME_DIR=/run/user-1000; $2" ;;
  esac 2> $work/err
}
ready() {  # COMMAND... succeeds, sooner or later
  tries=0
  until "$@" > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || return 1
    usleep 100000
  done
}
# Nobody traces it or has stopped it, and it answers.
goes_on() {
  grep -q '^TracerPid:	0$' "/proc/$redis/status" && ! grep -q '^State:	[tT]' "/proc/$redis/status" &&
    [ "$(outside ping)" = PONG ]
}
outside() { redis-cli -p "$port" "$@"; }
inside() { as "$who" "cloche exec $1 -- redis-cli -p $port $2"; }
run_id() { inside one 'info server' | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p'; }
started_again() {
  now=$(run_id)
  [ -n "$1" ] && [ -n "$now" ] && [ "$1" != "$now" ]
}

port=6400
start() {  # start WHO DIRECTORY: a Redis with data in it, $port and $redis
  port=$((port + 1))
  as "$1" "exec redis-server --port $port --dir $2 --save '3600 1' --appendonly yes" >> $work/redis.log &
  ready outside ping
  redis=$(outside info server | tr -d '\r' | sed -n 's/^process_id://p')
  outside set place reality > $work/out
  outside lpush list $(seq 1000) >> $work/out
}

for who in root user; do
  as $who 'mkdir redis'
  start $who redis

  as $who "cloche new --name one --with-service $port" > $work/out
  check "$who: it says what runs inside" grep -q "redis-server  *ready  *$port" $work/err
  check "$who: the original continues" goes_on
  check "$who: the copy has the data" [ "$(inside one 'get place') $(inside one 'llen list')" = 'reality 1000' ]
  inside one 'set place one' > $work/out
  check "$who: writes to the copy stay there" [ "$(inside one 'get place') $(outside get place)" = 'one reality' ]
  outside set place moved-on > $work/out
  as $who "cloche new --name two --with-service pid:$redis" > $work/out
  check "$who: two run their own at once" [ "$(inside two 'get place') $(inside one 'get place')" = 'moved-on one' ]

  as $who 'cloche snapshot one --name before' > $work/out
  inside one 'set place later' > $work/out
  first=$(run_id)
  as $who 'cloche rollback one before' > $work/out
  check "$who: after a rollback it has the data of then" [ "$(inside one 'get place')" = one ]
  check "$who: it was started again" started_again "$first"
  check "$who: nobody else noticed" [ "$(inside two 'get place') $(outside get place)" = 'moved-on moved-on' ]
  as $who 'cloche rm one two' > $work/out
  check "$who: the original continues without them" goes_on
  if [ $who = user ]; then
    as root "cloche new --name foreign --with-service $port" > $work/out
    check "another user's home is reported as hidden" grep -q 'cure: no sandbox of yours sees it' $work/err
  fi

  kill "$redis"
done

# As a distribution has it: a unit, of a user of its own.
who=root
mkdir /var/lib/redis /sys/fs/cgroup/cache.service
chown 1000:1000 /var/lib/redis
start user /var/lib/redis
echo "$redis" > /sys/fs/cgroup/cache.service/cgroup.procs
as root 'cloche new --name unit --with-service cache' > $work/out
check 'unit: it is found by its cgroup, and has its data' [ "$(inside unit 'get place')" = reality ]
check 'unit: which is its user’s' \
  [ "$(as root 'cloche exec unit -- stat -c %u /var/lib/redis/appendonlydir')" = 1000 ]
inside unit 'set place unit' > $work/out
check 'unit: writes to the copy stay there' [ "$(inside unit 'get place') $(outside get place)" = 'unit reality' ]
check 'unit: the original continues' goes_on
as root 'cloche rm unit' > $work/out
kill "$redis"

[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
