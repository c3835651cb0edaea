#!/usr/bin/env bash
# Services whose data lies on a disk of its own: a btrfs, where a snapshot is all they stand still for, and mounts
# whose top directory is the data. Nothing of a snapshot stays, and no sandbox sees it.
DISK_SIZE=1500M
. "$(dirname "$0")/../harness/disks.sh"
# A subvolume in the middle of others, one that is data itself, and one that is mounted where the data is.
for volume in machine whole top; do btrfs subvolume create "$DISKS/btrfs/$volume" > /dev/null || exit 1; done
mkdir "$DISKS/mounted" && mount -o "loop,subvol=top" "$DISKS/btrfs.img" "$DISKS/mounted" || exit 1

HANG_SECONDS=280
. "$(dirname "$0")/../harness/lib.sh"
export PATH=$SAFE_PATH
command -v redis-server > /dev/null || skip "redis-server is not installed"
free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
started=() # pids of what runs outside
at_end() { local code=$?; for pid in "${started[@]}"; do kill "$pid" 2> /dev/null; done; (exit $code); finish; }
trap at_end EXIT
goes_on() { grep -q '^TracerPid:	0$' "/proc/$1/status" && ! grep -q '^State:	[tT]' "/proc/$1/status"; }
snapshots() { find "$DISKS/btrfs" -maxdepth 3 -name '.cloche-service-*'; btrfs subvolume list -s "$DISKS/btrfs"; }
none_left() { is "$(snapshots)" ""; }
inside() { local box=$1; shift; cloche exec "$box" -- "$@"; }
in_redis() { local box=$1; shift; cloche exec "$box" -- redis-cli -p "$port" "$@"; }
# check_deleted SENTENCE BOX PATHS: these are all below the data that the diff shows as deleted.
check_deleted() {
  check "$1" is "$(cloche diff $2 --json | "$PYTHON" -c '
import json, sys
for change in json.load(sys.stdin)["changes"]:
    if change["kind"] == "deleted" and change["path"].startswith(sys.argv[1]): print(change["path"], end=" ")' "$data/")" "$3"
}
outside() { redis-cli -p "$port" "$@"; }
# redis DIR: of the caller, with data there; sets port and pid.
redis() {
  mkdir -p "$1" && chown "$CALLER_UID:$CALLER_UID" "$1" "$(dirname "$1")"  # a copy is made beside it
  port=$(free_port)
  (cd "$1" && as_caller redis-server --port "$port" --dir "$1" --save '3600 1' --appendonly yes > "$T/redis.log" 2>&1) &
  until_true outside ping
  pid=$(outside info server | tr -d '\r' | sed -n 's/^process_id://p')
  started+=("$pid")
  outside set place reality > "$T/log"
  outside lpush list $(seq 1000) >> "$T/log"
}

# --- The top of a mount, or of a subvolume, is the data.
for place in ext4 btrfs/whole mounted btrfs/machine/lib/redis; do
  redis "$DISKS/$place"
  data=$DISKS/$place
  mkdir "$data/kept" && echo theirs > "$data/kept/file" && ln -s /etc/passwd "$data/link" && mkfifo "$data/fifo" &&
    truncate -s 200M "$data/sparse" && echo tail >> "$data/sparse" && ln "$data/kept/file" "$data/other-name"
  python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"$data/socket\")" # not always copied
  mkdir "$data/goes" && echo deep > "$data/goes/file" && echo soon > "$data/gone" && echo key > "$data/veiled"
  chown -hR "$CALLER_UID:$CALLER_UID" "$data/socket" "$data/kept" "$data/link" "$data/fifo" "$data/sparse" "$data/goes" "$data/gone" "$data/veiled"
  if [ "$MODE" = system ]; then chown 4711:4712 "$data/kept/file"; chmod 640 "$data/kept/file"; fi
  before=$(cd "$data" && find kept link fifo sparse other-name -type d -printf '%p %m %U:%G %T@\n' -o -printf '%p %y %m %U:%G %s %n %l %T@\n' | sort)
  try cloche new --name box --with-service "$port" --hide "$data/veiled"
  check "$place: a sandbox with the service" exits 0
  check_deleted "$place: files that were only copied are not changes" box ""
  check "$place: on the same data" is "$(in_redis box get place) $(in_redis box llen list)" "reality 1000"
  check "$place: every file as it was" is \
    "$(inside box sh -c "cd '$data' && find kept link fifo sparse other-name -type d -printf '%p %m %U:%G %T@\n' -o -printf '%p %y %m %U:%G %s %n %l %T@\n' | sort")" "$before"
  check "$place: two names of one file are that inside" inside box test "$data/kept/file" -ef "$data/other-name"
  check "$place: holes stay holes" test "$(inside box du -m "$data/sparse" | cut -f 1)" -lt 20
  check "$place: the original continues" goes_on "$pid"
  check "$place: no snapshot is left" none_left
  check "$place: nor anything in its data" is "$(ls -A "$data" | grep -c cloche)" 0
  check "$place: nor inside" is "$(inside box ls -A "$data" | grep -c cloche)" 0
  inside box rm -r "$data/goes" "$data/gone"
  gone="$data/goes $data/goes/file $data/gone "
  check_deleted "$place: files deleted inside are in the diff, and nothing that was left out" box "$gone"
  in_redis box set place box > "$T/log"
  outside set place moved-on > "$T/log"
  echo later > "$data/made-later"; echo edited > "$data/kept/file"; mkdir "$data/dir-later"
  check "$place: new files of the original do not get in" not inside box ls "$data/made-later" "$data/dir-later"
  check "$place: nor do its changes" is "$(inside box cat "$data/kept/file")" theirs
  cloche stop box > "$T/log"
  check "$place: nor after a restart" is "$(in_redis box get place) $(inside box sh -c "ls -d '$data'/*later" 2> /dev/null)" "box "
  gone="$data/dir-later $gone$data/made-later "  # made by the original after its copy
  check_deleted "$place: nor is a deletion forgotten" box "$gone"
  cloche snapshot box --name saved > "$T/log"
  in_redis box set place lost > "$T/log"
  inside box sh -c "echo back > '$data/gone'; rm '$data/other-name'"
  check_deleted "$place: a state knows what it deleted" "box --against saved" "$data/other-name "
  cloche rollback box saved > "$T/log" 2>&1
  check_deleted "$place: rollback brings deletions back" box "$gone"
  check "$place: rollback brings its data back" is "$(in_redis box get place)" box
  try cloche fork box --json
  fork=$(field 0.id)
  in_redis "$fork" set place fork > "$T/log"
  check "$place: a fork has its own" is "$(in_redis box get place) $(in_redis "$fork" get place) $(outside get place)" "box fork moved-on"
  try cloche diff box --json
  check "$place: the diff names what is other than reality" mentions "kept/file"
  check_deleted "$place: a fork deletes the same" "$fork" "$gone"
  if mountpoint -q "$data"; then
    try cloche promote "$fork" --yes --json "$data/goes" "$data/gone"
    check "$place: deletions are promoted" is "$status $(ls -d "$data/goes" "$data/gone" 2> /dev/null)" "0 "
    check_deleted "$place: files that a promotion keeps there are not deletions" box "$data/dir-later $data/made-later "
    try cloche undo "$(field id)"
    check "$place: and taken back" is "$status $(cat "$data/goes/file" "$data/gone" | tr '\n' ' ')" "0 deep soon "
  fi
  cloche refresh "$fork" > "$T/log" 2>&1
  try cloche promote "$fork" --yes "$data/made-later"
  check "$place: files newer than the copy are not deleted, not even after a refresh" is "$(cat "$data/made-later")" later
  try cloche promote "$fork" --yes "$data/kept/file"
  check "$place: nor is what was edited since overwritten" is "$(cat "$data/kept/file")" edited
  cloche rm box "$fork" > "$T/log" 2>&1
  kill "$pid"
done

# --- Only we can enter a snapshot.
if [ "$MODE" = system ]; then
  redis "$DISKS/btrfs/machine/lib/redis2"
  data=$DISKS/btrfs/machine/lib/redis2
  echo secret > "$DISKS/btrfs/machine/lib/hidden" && chmod 644 "$DISKS/btrfs/machine/lib/hidden"
  echo key > "$data/key" && chmod 644 "$data/key"
  cloche new --name other --hide "$DISKS/btrfs/machine/lib/hidden" > "$T/log" 2>&1
  stamp=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20)
  mkfifo "$T/hold"
  "$BIN/cloche-service" pause "$pid" "$stamp" --snapshot "$data" < "$T/hold" > "$T/said" &
  holder=$!
  exec 9> "$T/hold"
  until_true test -s "$T/said"
  snapshot=$("$PYTHON" -c 'import json,sys; print(json.load(open(sys.argv[1]))["snapshots"][0])' "$T/said")
  check "the service continues while there is one" goes_on "$pid"
  check "it holds the data of then" test -s "$snapshot/key"
  check "root of another sandbox does not get in" not inside other cat "$snapshot/key"
  check "nor to what is hidden from it" not inside other cat "${snapshot%/redis2}/hidden"
  check "nor can it list it" is "$(inside other sh -c "ls $DISKS/btrfs/machine/.cloche-service-*/" 2> /dev/null)" ""
  check "a snapshot is read-only" not touch "$snapshot/new"
  kill -9 $holder
  until_true none_left
  check "kill -9 of who holds it: it is deleted" none_left
  exec 9>&-
  # Both are killed at once: the next run finds it.
  rm "$T/said"  # of the one before
  "$BIN/cloche-service" pause "$pid" "$stamp" --snapshot "$data" < <(sleep 300 & echo $! > "$T/sleeper"; wait) > "$T/said" &
  holder=$!
  until_true test -s "$T/said"
  guard=$(pgrep -P $holder cloche-service)
  kill -STOP "$guard"  # it must not see the other end before it ends itself
  kill -9 $holder "$guard"
  kill "$(cat "$T/sleeper")"
  check "kill -9 of both leaves it" not none_left
  try cloche new --name clean --with-service "$port" --hide "$data/key"
  check "and the next one removes it" none_left
  check "hidden files are not in the copy" not inside clean ls "$data/key"
  check "the rest is" is "$(in_redis clean get place)" reality
  cloche rm clean > "$T/log"

  # Data with a subvolume in it is not in a snapshot whole: it is copied while the service stands still.
  btrfs subvolume create "$data/nested" > "$T/log" && echo deep > "$data/nested/file"
  try cloche new --name nested --with-service "$port"
  check "a subvolume in the data is copied, too" is "$(inside nested cat "$data/nested/file")" deep
  cloche rm nested > "$T/log"
  btrfs subvolume delete "$data/nested" > "$T/log"

  # --- No room.
  dd if=/dev/urandom of="$data/large" bs=1M count=300 status=none
  try cloche new --name full --with-service "$port" --disk 100M --json
  check "a full sandbox is reported" field_is error.code exhausted
  check "with what to do" is "$(field error.cure)" "give the sandbox more room: --disk SIZE"
  check "and leaves nothing" none_left
  check "no sandbox either" not grep -q '"full"' <(cloche ls --json)
  # --- Any process is killed in the middle: nothing stays but a sandbox that does not pass for
  # whole.
  for victim in client pauser packer; do
    cloche new --name "killed-$victim" --with-service "$port" > "$T/log" 2>&1 &
    job=$!
    until [ -n "$(snapshots)" ] && pgrep -f "^tar --create.*" > /dev/null || ! kill -0 $job 2> /dev/null; do :; done
    pauser=$(pgrep -f "^cloche-service pause $pid " | head -1)
    case $victim in
      client) kill -9 "$(ps -o ppid= -p "$pauser" | tr -d ' ')" ;;
      pauser) kill -9 "$pauser" ;;
      packer) kill -9 "$(pgrep -P "$(ps -o ppid= -p "$pauser" | tr -d ' ')" tar)" ;;
    esac
    wait $job
    status=$?
    check "kill -9 of the $victim: it fails" not exits 0
    until_true none_left
    check "kill -9 of the $victim: no snapshot stays" none_left
    check "kill -9 of the $victim: the original continues" goes_on "$pid"
    cloche rm "killed-$victim" > "$T/log" 2>&1
  done
  rm "$data/large"
  cloche rm other > "$T/log"
fi

if [ "$MODE" = system ] && [ -x /usr/lib/postgresql/15/bin/postgres ]; then
  # --- A PostgreSQL in the middle of writing, its tablespace on another subvolume: one instant for both.
  pg=/usr/lib/postgresql/15/bin
  port=$(free_port)
  data=$DISKS/btrfs/machine/pg space=$DISKS/mounted/space
  install -d -o postgres -g postgres -m 700 "$data" "$space"
  (cd "$data" && setpriv --reuid postgres --regid postgres --init-groups "$pg/initdb" -D "$data" -A trust > "$T/log" 2>&1)
  (cd "$data" && exec setpriv --reuid postgres --regid postgres --init-groups "$pg/postgres" -D "$data" -p "$port" -c unix_socket_directories= > "$T/pg.log" 2>&1) &
  started+=($!)
  sql() { psql -h 127.0.0.1 -p "$port" -U postgres -Atqc "$1"; }
  sql_in() { local box=$1; shift; cloche exec "$box" -- psql -h 127.0.0.1 -p "$port" -U postgres -Atqc "$1"; }
  until_true sql 'select 1'
  sql "create tablespace far location '$space'"
  sql 'create table t(x int); create table u(x int) tablespace far'
  (until [ -e "$T/enough" ]; do sql 'begin; insert into t select generate_series(1, 100); insert into u select generate_series(1, 100); commit'; done) > "$T/log" 2>&1 &
  writer=$!
  until_true sh -c "[ \$(psql -h 127.0.0.1 -p $port -U postgres -Atqc 'select count(*) from t') -gt 1000 ]"
  for n in 1 2; do
    try cloche new --name "db$n" --with-service "$port"
    check "a PostgreSQL on two subvolumes, $n" exits 0
    counts=$(sql_in "db$n" 'select (select count(*) from t), (select count(*) from u), (select count(*) from t) % 100')
    check "whole transactions, the same in both, $n" is "$counts" "${counts%%|*}|${counts%%|*}|0"
  done
  touch "$T/enough" && wait "$writer"
  sql_in db1 'drop table t; drop table u' > "$T/log"
  check "tables that one copy drops are in the other, and outside" test \
    "$(sql 'select count(*) from u')" -ge "$(sql_in db2 'select count(*) from u')"
  check "no snapshot is left of either" none_left
fi
