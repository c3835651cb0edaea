#!/usr/bin/env bash
# root.sh BUILD KERNEL_DIR SCRIPT IMAGE: an ext4 image with a small complete system: busybox, what
# `cmake --install` puts on a machine, mkfs.btrfs, apparmor_parser, a Redis, the kernel's modules, two users, and SCRIPT
# as /guest/script, beside the other files of its folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
kernel=$2
script=$3
image=$4
PATH=$PATH:/usr/sbin:/sbin

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
mkdir -p "$tree"/{dev,proc,sys,run,tmp,mnt,guest,root,home/user,etc,var/{lib,log,tmp,cache}} \
         "$tree"/usr/{bin,sbin,lib,lib64,local,share/doc}
# Debian's merged /usr.
for name in bin sbin lib lib64; do ln -s usr/$name "$tree/$name"; done
chmod 1777 "$tree/tmp" "$tree/var/tmp"
chmod 700 "$tree/root"

busybox=$(command -v busybox)
cp "$busybox" "$tree/usr/bin/busybox"
"$busybox" --list | grep -vxE 'busybox|init' | while read -r applet; do
  ln -s busybox "$tree/usr/bin/$applet"
done
ln -s /usr/bin/busybox "$tree/usr/sbin/modprobe"  # the kernel's own idea of where modprobe is
cp "$here/init" "$tree/usr/sbin/init"
cp -r "$kernel/lib/modules" "$tree/usr/lib/"

cat > "$tree/etc/passwd" << 'END'
root:x:0:0:root:/root:/bin/sh
user:x:1000:1000::/home/user:/bin/sh
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
END
printf 'root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n' > "$tree/etc/group"
cat > "$tree/etc/shadow" << 'END'
root:$6$guest$notahash:19000:0:99999:7:::
user:!:19000:0:99999:7:::
END
chmod 640 "$tree/etc/shadow"
basename "$kernel" > "$tree/guest/kernel"
echo guest > "$tree/etc/hostname"
printf '127.0.0.1 localhost guest\n' > "$tree/etc/hosts"
printf 'PRETTY_NAME="Cloche test guest"\nID=guest\n' > "$tree/etc/os-release"
for package in alpha beta gamma; do
  mkdir -p "$tree/usr/share/doc/$package"
  echo "documentation of $package" > "$tree/usr/share/doc/$package/README"
done
echo 'umask 022' > "$tree/home/user/.profile"

DESTDIR=$tree cmake --install "$build" --prefix /usr/local > /dev/null
for program in mkfs.btrfs btrfs apparmor_parser redis-server redis-cli; do
  ! command -v $program > /dev/null || cp "$(command -v $program)" "$tree/usr/sbin/"
done
[ ! -d /etc/apparmor.d/abi ] || { mkdir "$tree/etc/apparmor.d"; cp -r /etc/apparmor.d/abi "$tree/etc/apparmor.d/"; }

# The libraries of the dynamic programs, at the paths they are loaded from.
find "$tree/usr/local" "$tree/usr/sbin" -type f -perm /111 | while read -r file; do
  ldd "$file" 2> /dev/null || true
done | grep -oE '/[^ ]+' | sort -u | while read -r library; do
  case $library in "$tree"*) continue ;; esac
  [ -f "$library" ] || continue
  case $library in
    /usr/*) to=$tree$library ;;
    /lib* | /bin* | /sbin*) to=$tree/usr$library ;;
    *) to=$tree$library ;;
  esac
  mkdir -p "$(dirname "$to")"
  cp -L "$library" "$to"
done

cp "$(dirname "$script")"/*.sh "$tree/guest/"
cp "$script" "$tree/guest/script"

# Owned by root, no matter who builds it; the one home directory is then given to its user.
rm -f "$image"
truncate -s 2G "$image"
mke2fs -q -t ext4 -L root -E root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1 \
  -O ^resize_inode -d "$tree" "$image"
{
  if [ "$(id -u)" != 0 ]; then
    (cd "$tree" && find . -mindepth 1 -printf '/%P\n') |
      while read -r path; do printf 'sif %s uid 0\nsif %s gid 0\n' "$path" "$path"; done
  fi
  for path in /home/user /home/user/.profile; do
    printf 'sif %s uid 1000\nsif %s gid 1000\n' $path $path
  done
} | debugfs -w -f - "$image" > /dev/null 2>&1
