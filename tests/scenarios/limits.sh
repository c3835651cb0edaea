#!/usr/bin/env bash
# Every limit ends as stated, with a typed result, while the others continue.
. "$(dirname "$0")/../harness/lib.sh"

# limited NAME STATUS SENTENCE: the JSON result in $OUT.
limited() {
  check "$3: the limit is named" field_is limit.name "$1"
  check "$3: exit status $2" field_is exit_status "$2"
  check "$3: cloche ends with it too" exits "$2"
}
hog="$PYTHON -c 'x=bytearray(10**9); print(len(x))'"
cgroups=yes
if [ "$MODE" = rootless ]; then
  try cloche show "$(cloche new 2> /dev/null)" --json
  [ "$(field enforced.cgroup)" != none ] || cgroups=no
fi

if [ $cgroups = yes ]; then
  try cloche run --json --memory 64M -- sh -c "exec $hog"
  limited memory 137 "a memory bomb"
  check "a memory bomb: the state is killed" field_is state killed
  check "a memory bomb: the value is reported" field_is limit.value 67108864
  try cloche run --memory 64M -- sh -c "exec $hog"
  check "a memory bomb is reported in words" says 'killed: memory limit 64 MiB'
  check "a memory bomb prints nothing" prints_nothing
  try cloche run --json --memory 64M -- sh -c "$hog; exit 0"
  limited memory 137 "a memory bomb behind a shell that exits 0"
  try cloche run --json --memory 64M -- sh -c "$hog & wait; sleep 1000"
  limited memory 137 "a memory bomb beside a sleeper"
  try cloche run --json --memory 256M -- sh -c 'head -c 50000000 /dev/zero | tail -c 1 | wc -c'
  check "below the limit nothing happens" field_is limit null
  try cloche run --memory 64M -- sh -c 'dd if=/dev/zero of=/dev/shm/x bs=1M count=200 2>&1'
  check "/dev/shm counts as memory" not exits 0

  # Out of memory in one command: the others of the sandbox continue.
  inside() { cloche exec "$1" -- sh -c 'for p in /proc/[0-9]*; do tr "\0" " " < $p/cmdline; echo; done'; }
  try cloche new --name several --memory 200M
  try cloche exec several --background -- sleep 500
  try cloche exec several -- sh -c 'setsid sleep 600 > /dev/null 2>&1 &'
  try cloche exec --json several -- sh -c "(setsid sleep 700 &); $hog; exit 0"
  limited memory 137 "a memory bomb beside other commands"
  try inside several
  check "the command beside it continues" mentions '^sleep 500'
  check "and a leftover process of an earlier one" mentions '^sleep 600'
  check "children of the bomb end with it, in another session, too" not mentions '^sleep 700'
  try cloche exec several --background -- sh -c "sleep 800; exec $hog"
  try cloche exec --json several -- sh -c "exec $hog"
  limited memory 137 "the next bomb"
  try inside several
  check "all three continue" is "$(grep -c '^sleep [568]00' "$OUT")" 3
  try cloche rm several
  # The kernel takes a while to free that much: nobody else is to blame for it.
  try cloche new --name large --memory 2G
  try cloche exec large --background -- sleep 500
  try cloche exec --json large -- "$PYTHON" -c 'x = b"x" * (3 << 30)'
  limited memory 137 "a large memory bomb"
  try inside large
  check "the others beside it continue, too" mentions '^sleep 500'
  try cloche rm large

  # Limits that programs adapt to, instead of being killed.
  try cloche run --cpu 1 -- sh -c 'nproc; getconf _NPROCESSORS_ONLN'
  check "as many CPUs are counted as the quota is worth" prints "$(printf '1\n1')"
  try cloche run --cpu 1 -- "$PYTHON" -c 'import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))'
  check "Python counts them" prints '1 1'
  of_group='cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null'
  try cloche run --memory 1G -- sh -c "$of_group"
  check "the memory limit is where programs look for it" prints 1073741824
  try cloche new --name told --memory 1G
  try cloche exec told --background -- sleep 500
  try cloche exec told -- sh -c 'g=$(sed -n "s/^[0-9]*:memory:\|^0:://p" /proc/self/cgroup | tail -n 1)
    cat "/sys/fs/cgroup$g/memory.max" "/sys/fs/cgroup/memory$g/memory.limit_in_bytes" 2> /dev/null'
  check "beside another command it is in the command's own group" prints 1073741824
  try cloche rm told
  if command -v java > /dev/null; then
    try cloche run --memory 1G --cpu 1 -- java -XX:+PrintFlagsFinal -version
    heap=$(awk '$2 == "MaxHeapSize" {print $4}' "$OUT")
    check "Java takes a part of it ($heap)" test "$heap" -gt 0 -a "$heap" -lt 1073741824
    try cloche run --memory 1G --cpu 1 -- java -XshowSettings:system -version
    check "Java counts the CPUs" grep -q 'Effective CPU Count: 1' "$ERR" "$OUT"
    check "and knows the limit" grep -q 'Memory Limit: 1.00G' "$ERR" "$OUT"
  else
    echo "skipped: Java's heap: no java here"
  fi
  if command -v node > /dev/null; then
    try cloche run --memory 1G --cpu 1 -- node -p \
      'const b = v8.getHeapStatistics().heap_size_limit; [b < 2 ** 30, os.availableParallelism()].join()'
    check "Node takes a part of it" prints true,1
  else
    echo "skipped: Node's heap: no node here"
  fi
  if command -v go > /dev/null; then
    printf '%s\n' 'package main' 'import ("fmt"; "runtime")' 'func main() { fmt.Println(runtime.GOMAXPROCS(0)) }' > "$WORK/main.go"
    try cloche run --cpu 1 -- go run "$WORK/main.go"
    check "Go uses as many" prints 1
  else
    echo "skipped: Go's threads: no go here"
  fi

  # On cgroup v1 the kernel counts them by themselves.
  cat > "$WORK/buffers.py" << 'END'
import socket
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(1000)
total, ends = 0, []
while len(ends) < 600 and total < 200 << 20:
    end = socket.create_connection(server.getsockname())
    end.setblocking(False)
    ends += [end, server.accept()[0]]
    try:
        while True:
            total += end.send(b"x" * (1 << 20))
    except BlockingIOError:
        pass
print(total >> 20)
END
  try cloche run --memory 64M -- "$PYTHON" "$WORK/buffers.py"
  check "buffers of TCP count, too ($(cat "$OUT") MiB)" test "$(cat "$OUT")" -lt 64

  # The kernel does not count netlink buffers, so a sandbox has few of those sockets.
  cat > "$WORK/netlink.py" << 'END'
import errno, os, socket, struct, sys
unknown = struct.pack("=IHHII", 30016, 1000, 5, 1, 0) + bytes(30000)  # comes back whole, as an error
made, error = [], 0
try:
    while len(made) < 1000:
        made.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0))
except OSError as refused:
    error = refused.errno
for each in made:
    try:
        for _ in range(20):
            each.send(unknown)
    except OSError:
        pass
waiting = sum(int(line.split()[4]) for line in open("/proc/net/netlink").read().splitlines()[1:])
print(len(made) <= 64, errno.errorcode.get(error), waiting < 32 << 20)
END
  try cloche run --memory 64M -- "$PYTHON" "$WORK/netlink.py"
  check "data in netlink sockets is limited by their number" prints 'True ENOBUFS True'

  try cloche run --json --pids 20 -- sh -c 'for i in $(seq 60); do sleep 1000 & done; wait'
  check "too many processes: the limit is named" field_is limit.name pids
  cloche run --json --pids 60 --wall 4s -- bash -c ':(){ :|:& };: ; sleep 1000' > "$T/bomb" 2> /dev/null &
  bomb=$!
  try cloche run -- sh -c 'echo alive; ls / > /dev/null'
  check "while a fork bomb runs another sandbox works" prints alive
  wait $bomb
  status=$?
  cp "$T/bomb" "$OUT"
  check "a fork bomb ends with its time" exits 124
  try cloche run --json --cpu 0.5 -- true
  check "a CPU quota is accepted" exits 0
else
  refused unavailable run --memory 64M -- true
  refused unavailable run --cpu 1 -- true
  try cloche run --memory 64M -- true
  check "a limit that cannot be enforced is refused with a cure" says 'cure:'
  try cloche show "$(cloche new 2> /dev/null)" --json
  check "defaults that are not enforced are listed" not field_is 'not_enforced.#' 0
  try cloche run --pids 20 -- sh -c 'for i in $(seq 60); do sleep 5 & done; wait'
  check "too many processes fail" says '[Ff]ork\|[Rr]esource'
fi

cat > "$WORK/links.py" << 'END'
import errno, fcntl, os, socket, sys, threading
def make(kind=socket.SOCK_RAW):
    return socket.socket(socket.AF_NETLINK, kind, 0)
def error_of(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
many = [make() for _ in range(60)]
refused = error_of(lambda: [many.append(make()) for _ in range(10)])
here, there = socket.socketpair()  # those on their way count
socket.send_fds(here, [b"x"], [each.fileno() for each in many])
for each in many:
    each.close()
print(refused, error_of(lambda: [many.append(make()) for _ in range(10)]))
here.close(); there.close()
plain, other = make(), make(socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
plain.bind((0, 0)); other.bind((0, 0))
print(plain.getsockname()[0] == os.getpid(), plain.type == socket.SOCK_RAW, other.type == socket.SOCK_DGRAM,
      bool(fcntl.fcntl(plain, fcntl.F_GETFL) & os.O_NONBLOCK), bool(fcntl.fcntl(other, fcntl.F_GETFL) & os.O_NONBLOCK),
      bool(fcntl.fcntl(plain, fcntl.F_GETFD) & fcntl.FD_CLOEXEC), error_of(make, 7), error_of(socket.socketpair, 16, 3))
failed = []
def names():
    for _ in range(50):
        if [name for _, name in socket.if_nameindex()] != ["lo"]:
            failed.append(1)
threads = [threading.Thread(target=names) for _ in range(20)]
for each in threads: each.start()
for each in threads: each.join()
print(len(failed))
END
try cloche run -- "$PYTHON" "$WORK/links.py"
check "sockets of netlink are few, and what programs expect" prints 'ENOBUFS ENOBUFS
True True True False True True ESOCKTNOSUPPORT ENOTSUP
0'
cat > "$WORK/asking.py" << 'END'
import socket
while True:
    socket.if_nameindex()
END
try cloche new --name asking
for _ in 1 2 3 4; do try cloche exec asking --background -- "$PYTHON" "$WORK/asking.py"; done
for round in 1 2 3; do
  try cloche snapshot asking
  check "$round: a sandbox that asks for its addresses all the time can be saved" exits 0
done
try cloche exec asking -- "$PYTHON" -c 'import socket; print(socket.if_nameindex())'
check "and continues" mentions "'lo'"
try cloche rm --force asking

try cloche run -- nproc
check "without --cpu there are as many CPUs as outside" prints "$(nproc)"
try cloche run -- lscpu
check "lscpu finds them" mentions '^CPU(s): *[1-9]'
try cloche run -- sh -c 'find /sys -type f | while read f; do (: >> "$f") 2> /dev/null && echo "$f"; done; mkdir /sys/x /sys/fs/cgroup/x'
check "nothing in /sys can be written" prints_nothing
try cloche run -- "$PYTHON" -c '
import ctypes, platform
libc, context = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong()
number = {"x86_64": 206, "aarch64": 0}[platform.machine()]
print(libc.syscall(number, 1, ctypes.byref(context)), ctypes.get_errno())'
check "contexts of asynchronous I/O, of which the machine has a number, are refused" prints '-1 38'
if [ "$MODE" = rootless ]; then
  try cloche run -- sh -c 'ulimit -Hn'
  check "fewer descriptors may be on their way than programs outside may have" \
    test "$(cat "$OUT")" -lt "$(as_caller sh -c 'ulimit -Sn')"
  try cloche doctor
  check "doctor says which counts sandboxes share with their user" mentions 'epoll watches'
  check "pipes are among them" mentions 'pipes'
  # All sandboxes together leave half of the inotify instances to their user.
  hold='import ctypes, sys, time
libc, count = ctypes.CDLL(None), 0
while libc.inotify_init1(0) >= 0: count += 1
print(count, flush=True)
time.sleep(1000)'
  holders=()
  for i in 1 2 3 4 5; do
    cloche run -- "$PYTHON" -c "$hold" > "$T/held-$i" 2> /dev/null &
    holders+=($!)
    until_true test -s "$T/held-$i"
  done
  try as_caller "$PYTHON" -c 'import ctypes; libc = ctypes.CDLL(None); print([libc.inotify_init1(0) >= 0 for i in range(16)].count(True))'
  check "sandboxes leave inotify instances to the user" prints 16
  check "the second of them has some, too" test "$(cat "$T/held-2")" -gt 0
  kill "${holders[@]}"
  wait "${holders[@]}"
fi

try cloche run --json --wall 1s -- sleep 1000
limited wall 124 "a sleeper"
try cloche run --wall 1s -- sleep 1000
check "a sleeper is reported in words" says 'killed: wall.* limit 1 s'
try cloche run --json --wall 1s -- sh -c 'kill -STOP $$'
limited wall 124 "one that stops itself"
# Another command stops it before it has executed its program, while init waits for that.
cat > "$WORK/stopper.py" << 'END'
import os, signal
while True:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(2000):
        for ahead in (1, 2, 3):
            try:
                os.kill(child + ahead, signal.SIGSTOP)
            except OSError:
                pass
END
try cloche new --name stopped
try cloche exec stopped --background -- "$PYTHON" "$WORK/stopper.py"
for round in 1 2 3; do
  try cloche exec --json --wall 1s stopped -- true
  check "$round: one that is stopped before it began ends, too" is_json
done
try cloche rm stopped
try cloche run --json --wall 1s -- sh -c 'trap "" TERM INT HUP; while :; do sleep 1000; done'
limited wall 124 "one that ignores signals"
try cloche run --json --wall 1s -- sh -c '(setsid sleep 1000 &) ; setsid -w sleep 1000'
limited wall 124 "one that leaves its session"
try cloche run --json --wall 1s -- sh -c 'echo before; sleep 1000'
check "the output before the end is kept" field_is stdout before
try cloche run --json --wall 100s -- sh -c 'exit 3'
check "in time the status is the command's" field_is exit_status 3
try cloche new --name timed
try cloche exec --json --wall 1s timed -- sleep 1000
limited wall 124 "exec --wall"
try cloche exec timed -- echo usable
check "afterwards the sandbox is usable" prints usable

try cloche run --json --idle 1s -- sleep 1000
limited idle 124 "an idle command"
try cloche run --json --life 1s -- sleep 1000
limited life 124 "a command in a sandbox whose life ends"
cloche new --name idler --idle 1s > /dev/null 2>&1
not_running() { cloche show "$1" --json > "$OUT" && [ "$(field state)" != running ]; }
check "an idle sandbox is stopped" until_true not_running idler
try cloche show idler --json
check "and says so" field_is reason 'idle limit 1 s'
cloche new --name mortal --life 1s > /dev/null 2>&1
check "a sandbox ends with its life" until_true not_running mortal
try cloche ls --all --json
check "and says so" mentions 'life limit'
cloche new --name rested --life 1s > /dev/null 2>&1
cloche stop rested > /dev/null 2>&1
has_ended() { cloche show "$1" | grep -q '^state *ended'; }
check "so does one that is stopped" until_true has_ended rested
try cloche exec rested -- echo started
check "and nothing runs in it any more" prints_nothing
try cloche exec mortal -- true
check "nothing more runs in it" exits 125
try cloche ls --json
check "ls leaves out the ended" not mentions '"mortal"'

try cloche run --json --disk 16M -- sh -c 'dd if=/dev/zero of=big bs=1M count=64'
if [ "$(field error.code)" = unavailable ]; then
  check "a disk limit that cannot be enforced is refused" not field_is error.message null
else
  check "a disk filler: it sees a full disk" mentions 'No space left\|quota exceeded'
  check "a disk filler: the limit is named" field_is limit.name disk
  check "a disk filler: it fails" not field_is exit_status 0
fi
try cloche new --name disk --disk 16M
try cloche exec --json disk -- sh -c 'dd if=/dev/zero of=big bs=1M count=64'
check "a disk filler in a kept sandbox: the limit is named" field_is limit.name disk
try cloche exec disk -- sh -c 'rm big && echo again > small && cat small'
check "after deleting there is room again" prints again
cloche exec disk -- sh -c 'dd if=/dev/zero of=big bs=1M count=64' > /dev/null 2>&1
try cloche stop disk
try cloche exec disk -- sh -c 'rm big && echo writable > small && cat small'
check "a full sandbox can be stopped, started and emptied" prints writable
try cloche run --json --inodes 50 -- sh -c 'i=0; while [ $i -lt 20000 ]; do : > f$i || exit 9; i=$((i+1)); done'
if [ "$(field error.code)" = unavailable ]; then
  check "a limit of files that cannot be enforced is refused with a cure" not field_is error.cure ''
else
  check "too many files fail" not exits 0
  check "too many files: the limit is named" field_is limit.name inodes
  cloche new --name counted --inodes 60 > /dev/null 2>&1
  try cloche exec --json counted -- sh -c 'i=0; while [ $i -lt 99 ]; do : > f$i || exit 9; i=$((i+1)); done'
  check "too many files in a kept sandbox: the limit is named" field_is limit.name inodes
  cloche stop counted > /dev/null 2>&1
  try cloche exec counted -- sh -c 'rm f1 && : > other && ls f2 && id -u && stat -c %u f2'
  check "it can be stopped, started and emptied; its files are the caller's" prints "f2
$CALLER_UID
$CALLER_UID"
  try cloche run --in-memory --json -- sh -c 'echo x > new; stat -f -c %T .'
  check "--in-memory: changes are counted" field_is changes.added 1
fi

try cloche run --files 32 -- sh -c 'ulimit -n'
check "the open files are limited" prints 32
try cloche run --files 32 -- "$PYTHON" -c 'l=[open("/dev/null") for i in range(100)]'
check "more than that fail" says 'Too many open files'

try cloche run --json --output 10k -- sh -c 'seq 1 100000; echo the-end'
check "an output flood: kept" test "$(field output.kept_bytes)" -le 10240
check "an output flood: the number of dropped bytes is reported" test "$(field output.dropped_bytes)" -gt 500000
check "an output flood: the tail is kept" is "$(field stdout | tail -2)" the-end
log=$(field output.log)
check "an output flood: the log is there" test -s "$log"
check "an output flood: and may be read by the caller" as_caller test -r "$log"
check "an output flood: and it is complete" is "$(grep -c . "$log" 2> /dev/null)" 100001
try cloche run --output 10k -- sh -c 'seq 1 100000'
check "an output flood: said on standard error" says 'dropped'
try cloche run --json --output 64k -- sh -c 'yes | head -c 300000000'
check "300 MB of output do not hurt" field_is exit_status 0

try cloche new --name budget --commands 2
try cloche exec budget -- true
try cloche exec budget -- true
check "within the budget commands run" exits 0
try cloche exec budget -- true
check "beyond it they do not" exits 125
refused exhausted exec budget -- true

# An unset variable in a script is not a request for no limit.
for option in --memory --wall --commands --name --base --agent; do
  try cloche run $option '' -- echo started
  check "$option with an empty value is refused" exits 125
  check "$option with an empty value: nothing ran" prints_nothing
done
for bad in --memory=0 --memory=-1 --memory=1 --memory=99999999999999999999 --memory=abc --memory=1X \
  --pids=0 --pids=-5 --pids=1e9 --wall=0 --wall=-1s --wall=nan --wall=inf --cpu=-1 --cpu=nan --cpu=0.00001 \
  --memory= --wall= --disk=1 --files=1 --files=999999999999 --output=-1 --life=-1 --idle=x --commands=-1 --inodes=1; do
  try cloche run "$bad" -- echo started
  # Zero means unlimited where that is allowed.
  case $bad in *=0) check "$bad is refused or unlimited" [ "$status" = 125 -o "$status" = 0 ] ;;
  *) check "$bad is refused" exits 125
     check "$bad: nothing ran" prints_nothing
     check "$bad: the message is ours" says '^cloche: ' ;;
  esac
done
