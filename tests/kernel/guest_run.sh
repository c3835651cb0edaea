# Runs inside a guest: `cloche run` copies this machine, contains, limits, leaves nothing behind.
. /guest/check.sh
work=/run/guest_run
mkdir $work
shown="$work/out $work/err"
run() {  # status, $work/out and $work/err of one `cloche run`
  timeout 60 cloche run "$@" > $work/out 2> $work/err
  status=$?
}
# Everything on the root file system with its owner, mode, size and time of change, without Cloche's
# own state (system mode, rootless).
listing() {
  find / -xdev \( -path /var/lib/cloche -o -path /home/user/.local \) -prune -o \
    -exec stat -c '%n %F %u:%g %a %s %Z' {} + | sort
}
mounts() { cut -d' ' -f5,9- /proc/self/mountinfo | sort; }

# The first run starts the daemon and makes its pool; the comparison begins after it.
run -- true
check 'true runs' [ $status = 0 ]
su user -c 'cd; cloche run -- true' > /dev/null 2>&1
[ $status = 0 ] || { cloche doctor; cat $work/err; exit 1; }

listing > $work/before
mounts > $work/mounts.before

run -- sh -c 'id -u; touch /etc/x; rm -rf /usr/share/doc; ls /usr/share/doc 2> /dev/null | wc -l
              echo inside'
check 'a command runs as root of its copy' [ $status = 0 ]
check 'it sees its own changes' [ "$(tr '\n' ' ' < $work/out)" = '0 0 inside ' ]
listing > $work/after
check 'the root file system is unchanged' diff $work/before $work/after
check 'the documentation is still there' [ -s /usr/share/doc/alpha/README ]
check '/etc/x was not made' [ ! -e /etc/x ]

run -- sh -c 'exit 42'
check 'the exit status is passed through' [ $status = 42 ]

# busybox dd fills its whole buffer before it writes.
run --memory 64M -- dd if=/dev/zero of=/dev/null bs=256M count=1
check 'a memory bomb does not succeed' [ $status != 0 ]
check 'a memory bomb ends as memory limit' grep -q 'killed: memory limit 64 MiB' $work/err
run --memory 64M -- sh -c 'dd if=/dev/zero of=/dev/null bs=256M count=1; true'
check 'a shell around it does not hide it' grep -q 'killed: memory limit 64 MiB' $work/err

run --memory 64M --cpu 1 -- sh -c 'nproc; cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max; (echo max > /sys/fs/cgroup/memory.max) 2> /dev/null || echo refused'
check 'its limits are where programs look for them' [ "$(tr '\n' ' ' < $work/out)" = '1 67108864 100000 100000 refused ' ]

# Out of memory in one command: the others of the sandbox continue.
cloche new --name several --memory 64M > $work/out 2> $work/err
cloche exec several --background -- sleep 500 > $work/out 2> $work/err
cloche exec several -- sh -c 'setsid sleep 600 > /dev/null 2>&1 &' > $work/out 2> $work/err
timeout 60 cloche exec several -- sh -c '(setsid sleep 700 &); dd if=/dev/zero of=/dev/null bs=256M count=1; true' > $work/out 2> $work/err
check 'a memory bomb beside other commands ends' grep -q 'killed: memory limit 64 MiB' $work/err
timeout 60 cloche exec several -- sh -c 'ps -o args | grep "^sleep"; cat /sys/fs/cgroup$(sed s/0:://  /proc/self/cgroup)/memory.max' > $work/out 2> $work/err
check 'and nobody else' [ "$(sort $work/out | tr '\n' ' ')" = '67108864 sleep 500 sleep 600 ' ]
cloche rm several > $work/out 2> $work/err

run --pids 20 -- sh -c 'for i in $(seq 100); do sleep 30 & done; echo all started'
check 'a fork bomb does not succeed' [ $status != 0 ]
check 'a fork bomb did not start all' [ -z "$(grep 'all started' $work/out)" ]

run --wall 1s -- sleep 100
check 'a sleeper ends as wall limit' grep -q 'killed: wall' $work/err
check 'a sleeper does not succeed' [ $status != 0 ]

timeout 60 su user -c 'cd; cloche run -- sh -c "id -u; cat /etc/shadow"' > $work/out 2> $work/err
status=$?
check 'an ordinary user keeps the same uid' [ "$(head -n 1 $work/out)" = 1000 ]
check 'an ordinary user cannot read /etc/shadow' [ $status != 0 ]

# Teardown continues after the reply; it has to end by itself.
settled() {
  tries=0
  until mounts | cmp -s - $work/mounts.before && ! pidof sleep > /dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { mounts | diff $work/mounts.before -; ps; return 1; }
    usleep 100000
  done
}
check 'no mount and no process is left' settled
listing > $work/after
check 'the root file system is unchanged at the end' diff $work/before $work/after

[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
