# Runs inside a guest: the machine is what the other guest tests take for granted.
set -eu
expected=$(cat /guest/kernel)
uname -r
case $(uname -r) in
  "$expected".*) ;;
  *) echo "wrong kernel: $(uname -r) is not $expected"; exit 1 ;;
esac

root=$(awk '$2 == "/" && $1 != "rootfs" {print $3}' /proc/mounts)
[ "$root" = ext4 ] || { echo "/ is $root"; exit 1; }
for path in /run /tmp; do
  [ "$(awk -v p=$path '$2 == p {print $3}' /proc/mounts)" = tmpfs ] ||
    { echo "$path is not a tmpfs"; exit 1; }
done

for controller in cpu memory pids; do
  grep -qw $controller /sys/fs/cgroup/cgroup.controllers ||
    { echo "no $controller controller"; exit 1; }
done
mkdir /sys/fs/cgroup/smoke
[ -e /sys/fs/cgroup/smoke/memory.max ] ||
  { echo "controllers are not enabled below the root"; exit 1; }

mkdir /var/lower /var/upper /var/work /var/merged
echo lower > /var/lower/file
mount -t overlay -o lowerdir=/var/lower,upperdir=/var/upper,workdir=/var/work overlay /var/merged
echo changed > /var/merged/file
[ "$(cat /var/lower/file)" = lower ] && [ "$(cat /var/upper/file)" = changed ]

truncate -s 128M /var/pool.img
mkfs.btrfs -q /var/pool.img > /dev/null
mkdir /var/pool
mount -t btrfs -o loop /var/pool.img /var/pool
btrfs -q subvolume create /var/pool/upper
btrfs quota enable /var/pool
umount /var/pool
[ -z "$(losetup -a)" ]

[ "$(ls /sys/class/net)" = lo ] || { echo "the guest has a network device"; exit 1; }
su user -c 'id -u' | grep -qx 1000
echo "guest is sound"
