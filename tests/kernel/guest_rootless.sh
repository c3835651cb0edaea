# Runs inside a guest: an ordinary user's own daemon, no root anywhere.
. /guest/check.sh
shown="/tmp/rl/out /tmp/rl/err"
mkdir -m 755 /tmp/rl
mkdir -m 700 /run/user-1000
chown 1000:1000 /run/user-1000
as_user() {  # status, /tmp/rl/out, /tmp/rl/err
  timeout 60 su user -c "cd; export CLOCHE_RUNTIME_DIR=/run/user-1000; $1" > /tmp/rl/out 2> /tmp/rl/err
  status=$?
}
echo before > /home/user/.profile
chown 1000:1000 /home/user/.profile

as_user 'cloche run -- sh -c "id -u; echo x >> .profile; tail -n 1 .profile; touch /etc/x"'
check 'home is a copy, the rest read-only' [ "$(tr '\n' ' ' < /tmp/rl/out)" = '1000 x ' ]
check 'writing elsewhere fails' [ $status != 0 ]
check 'the real file is untouched' [ "$(cat /home/user/.profile)" = before ]

as_user 'cloche doctor'
check 'the daemon is the user’s own' grep -q rootless /tmp/rl/out

as_user 'cloche run --memory 64M -- true'
check 'a memory limit without a cgroup is refused' [ $status != 0 ]
check 'and says what would help' grep -q Delegate /tmp/rl/err

as_user 'cloche run --disk 8M -- dd if=/dev/zero of=big bs=1M count=20'
case $(uname -r) in
  6.1.*) check '--disk is refused before 6.6' grep -q 'Linux 6.6' /tmp/rl/err ;;
  *) check '--disk holds' grep -q 'disk limit 8 MiB' /tmp/rl/err ;;
esac

as_user 'cloche new --name box && cloche exec box -- sh -c "echo kept > f" && cloche stop box &&
         cloche exec box -- cat f && cloche rm box'
check 'a stopped sandbox continues with its files' grep -q '^kept$' /tmp/rl/out

# As systemd delegates to a user's unit: a group of its own, with the controllers, and the user's
# processes in it.
group=/sys/fs/cgroup/delegated
mkdir $group /run/delegated
chown 1000:1000 /run/delegated $group $group/cgroup.procs $group/cgroup.subtree_control
delegated() {  # the same as as_user, but in that group and with a daemon of its own
  timeout 60 sh -c 'echo $$ > /sys/fs/cgroup/delegated/cgroup.procs
    exec su user -c "cd; export CLOCHE_RUNTIME_DIR=/run/delegated CLOCHE_STATE_DIR=/home/user/delegated; $0"' \
    "$1" > /tmp/rl/out 2> /tmp/rl/err
  status=$?
}
delegated 'cloche run --memory 64M -- dd if=/dev/zero of=/dev/null bs=256M count=1'
check 'with a delegated cgroup a memory limit holds' grep -q 'killed: memory limit 64 MiB' /tmp/rl/err
delegated 'cloche run --memory 64M --cpu 1 -- sh -c "nproc; cat /sys/fs/cgroup/memory.max; echo max > /sys/fs/cgroup/memory.max"'
check 'and is where programs look for it' [ "$(tr '\n' ' ' < /tmp/rl/out)" = '1 67108864 ' ]
check 'where they cannot change it' grep -q 'Read-only' /tmp/rl/err
delegated 'cloche new --name several --memory 64M; cloche exec several --background -- sleep 500
           cloche exec several -- dd if=/dev/zero of=/dev/null bs=256M count=1; cloche exec several -- pidof sleep'
check 'when one command has used it up, the others continue' grep -q '^[0-9]*$' /tmp/rl/out
check 'and it has ended' grep -q 'killed: memory limit 64 MiB' /tmp/rl/err
delegated 'cloche rm several'
delegated 'cloche run --pids 20 -- sh -c "for i in $(seq 100); do sleep 30 & done; echo all"'
check 'and one of processes' [ -z "$(grep all /tmp/rl/out)" ]

[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
