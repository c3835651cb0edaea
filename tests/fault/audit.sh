# Runs inside: everything by which two sandboxes of one plan could differ, and must not. Numbers
# that change each time (descriptors, devices, pids) become a #.
grep -e ^Uid -e ^Gid -e ^Groups -e ^Cap -e ^NoNewPrivs -e ^Seccomp -e ^SigBlk -e ^SigIgn /proc/self/status
cut -d' ' -f 1,3 /proc/self/uid_map /proc/self/gid_map | tr -s ' '
cat /proc/self/limits /proc/self/cgroup | sed 's/s[0-9][0-9]*$/s#/'
cut -d' ' -f 4- /proc/self/mountinfo | sed 's/[0-9][0-9]*/#/g'
ls /dev /dev/pts /dev/shm /sys /run 2>&1
ls /proc/self/fd | tr '\n' ' '
grep -o '^ *[a-z0-9]*:' /proc/net/dev
hostname
umask
id
pwd
readlink /proc/1/exe /proc/1/root 2>&1
cat /proc/sys/user/max_inotify_instances
cat /etc/shadow "$HOME/.ssh/key" .env sub/.env secret 2>&1
ls -A . sub "$HOME" / 2>&1
mknod node c 0 0 2>&1
mount -t tmpfs none /mnt 2>&1
unshare -U true 2>&1
echo x > /proc/sys/kernel/hostname
cat kept-file 2>&1
echo end of audit
