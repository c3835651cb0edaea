# Runs inside a guest: the daemon becomes the user cloche once there is one, and takes over what it
# left under the fallback id.
. /guest/check.sh
shown=/run/out
daemon_pid() { cloche status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
uid_of() { awk '/^Uid/ {print $2, $3, $4, $5}' "/proc/$1/status"; }

cloche new --name box > /run/out 2>&1
cloche exec box -- sh -c 'echo kept > /root/file' >> /run/out 2>&1
pid=$(daemon_pid)
check 'without a user it is nobody known' [ "$(uid_of "$pid")" = '61842 61842 61842 61842' ]
cloche doctor > /run/out
check 'and doctor says so' grep -q '! user .*61842' /run/out
kill "$pid"
while [ -e "/proc/$pid" ]; do usleep 50000; done

# A hard link in the daemon's directory to somebody else's file: the file keeps its owner.
echo secret > /var/lib/cloche/secret
ln /var/lib/cloche/secret /var/lib/cloche/daemon/secret
echo 'cloche:x:990:990::/:/usr/sbin/nologin' >> /etc/passwd
cloche exec box -- cat /root/file > /run/out 2>&1
check 'its sandboxes are known to the next one' grep -qx kept /run/out
uid=$(id -u cloche)
check 'which is the user cloche' [ "$(uid_of "$(daemon_pid)")" = "$uid $uid $uid $uid" ]
check 'nothing is left of the fallback id' [ -z "$(find /var/lib/cloche/daemon -user 61842)" ]
check 'and nothing else was taken' [ "$(stat -c %u /var/lib/cloche/secret)" = 0 ]
cloche doctor > /run/out
check 'doctor is content' grep -q 'the daemon runs as cloche' /run/out
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed on $(uname -r)"
