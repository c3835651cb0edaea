# Runs inside a guest: where AppArmor is active, sandboxes run under the installed profile, in both
# modes, and the profile itself forbids what it says.
. /guest/check.sh
work=/run/guest_apparmor
mkdir $work
shown="$work/out $work/err"
not() { ! "$@"; }
run() {
  timeout 60 "$@" > $work/out 2> $work/err
  status=$?
}
end_daemon() {
  pid=$(cloche status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
  kill "$pid"
  while [ -e "/proc/$pid" ]; do usleep 50000; done
}
profile=/usr/local/share/cloche/apparmor/cloche-sandbox
[ -x /usr/sbin/apparmor_parser ] || { echo "SKIP: apparmor_parser is missing: tools/deps.sh test"; exit 77; }
check 'AppArmor is active here' [ "$(cat /sys/module/apparmor/parameters/enabled)" = Y ]

run cloche doctor
check 'without the profile doctor says so' grep -q 'profile cloche-sandbox was not loaded' $work/out
check 'and what to do' grep -q 'make install' $work/out
check 'sandboxes run all the same' cloche run -- true
run cloche run -- cat /proc/self/attr/apparmor/current
check 'unconfined by AppArmor' grep -qx unconfined $work/out
end_daemon

apparmor_parser -K -r $profile 2> $work/err
check 'the profile loads' grep -q '^cloche-sandbox (enforce)$' /sys/kernel/security/apparmor/profiles
run cloche doctor
check 'doctor says that it is enforced' grep -q 'profile cloche-sandbox is enforced' $work/out
run cloche run -- cat /proc/self/attr/apparmor/current /proc/1/attr/apparmor/current
check 'a command runs under it' [ "$(grep -cx 'cloche-sandbox (enforce)' $work/out)" -ge 1 ]
check 'and nothing inside runs unconfined' not grep -q unconfined $work/out
run cloche run -- sh -c 'echo changeprofile unconfined > /proc/self/attr/apparmor/current'
check 'nobody inside gets out of it' [ $status != 0 ]
cloche new --name box > /dev/null 2>&1
run cloche exec box -- cat /proc/self/attr/apparmor/current
check 'exec runs under it' grep -qx 'cloche-sandbox (enforce)' $work/out
run cloche show --json box
check 'show tells it' grep -q '"apparmor":"cloche-sandbox"' $work/out
run cloche run -- sh -c 'touch /etc/x && chown 1000:1000 /etc/x && chmod 4755 /etc/x && mkdir -p /opt/d &&
  mv /etc/x /opt/d/ && ln -s /opt/d /l && rm -r /opt/d && su user -c "id -u"
  sleep 100 & kill $! && echo signalled; cat /proc/sys/kernel/ostype | wc -l'
check 'ordinary commands still work' [ "$(tr '\n' ' ' < $work/out)" = '1000 signalled 1 ' ]
timeout 60 su user -c 'cd; cloche run -- cat /proc/self/attr/apparmor/current' > $work/out 2> $work/err
check 'an ordinary caller too' grep -qx 'cloche-sandbox (enforce)' $work/out
mkdir -m 700 /run/user-1000
chown 1000:1000 /run/user-1000
timeout 60 su user -c 'cd; export CLOCHE_RUNTIME_DIR=/run/user-1000
  cloche run -- cat /proc/self/attr/apparmor/current; cloche doctor' > $work/out 2> $work/err
check 'and without root' grep -qx 'cloche-sandbox (enforce)' $work/out
check 'by a daemon of that user' grep -q rootless $work/out

# The profile alone, without any other layer: each lever works as root, and not under it.
# (Unmounted lazily: a daemon that prepares a sandbox may just be looking at /mnt.)
levers='echo 1 > /proc/sys/kernel/panic_on_oops
mount -t tmpfs none /mnt && umount -l /mnt
head -c 1 /proc/kcore > /dev/null
echo 0 > /sys/kernel/mm/ksm/run
mount -t proc proc /mnt && umount -l /mnt
hostname guest
kill -0 1
unshare -n true
echo changeprofile unconfined > /proc/self/attr/apparmor/current'
echo "$levers" > $work/levers
while read -r lever; do
  run sh -c "$lever"
  check "as root: $lever" [ $status = 0 ]
  run sh -c "echo changeprofile cloche-sandbox > /proc/self/attr/apparmor/current; $lever"
  check "not under the profile: $lever" [ $status != 0 ]
done < $work/levers

# Gone while the daemon runs: no sandbox starts without a layer it had.
apparmor_parser -R $profile 2> /dev/null
run cloche run --hide /mnt -- true
check 'without the profile it had, a daemon refuses' [ $status = 125 ]
check 'and says how to load it' grep -q 'apparmor_parser -r' $work/err
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
