#!/usr/bin/env bash
# run.sh KERNEL SCRIPT: boots a throw-away machine with Debian's KERNEL (6.1, 6.12), runs the shell
# script SCRIPT in it as root, prints its output and returns its exit status.
#   124  the guest did not finish in CLOCHE_GUEST_SECONDS (180)
#   125  the guest died without telling an exit status; the end of its console is printed
#   77   no kernel package or no QEMU here, with the reason
# CLOCHE_BUILD_DIR names the build whose programs go into the guest (default: build).
# CLOCHE_GUEST_DISK: an image that stays; if it is there already it is booted as it is.
# CLOCHE_GUEST_PID: a file that gets QEMU's process id, for tests that pull the plug.
# KVM is not used: TCG gives the same machine everywhere, also where /dev/kvm is absent or odd.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# != 2 ]; then
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
fi
series=$1
script=$2
build=${CLOCHE_BUILD_DIR:-$here/../../build}
seconds=${CLOCHE_GUEST_SECONDS:-180}
[ -r "$script" ] || { echo "run.sh: cannot read $script" >&2; exit 2; }
[ -e "$build/CMakeCache.txt" ] ||
  { echo "run.sh: $build is not a build directory: make build" >&2; exit 2; }
build=$(cd "$build" && pwd)

command -v qemu-system-x86_64 > /dev/null ||
  { echo "SKIP: qemu-system-x86_64 is missing: tools/deps.sh test" >&2; exit 77; }
if ! command -v busybox > /dev/null || ldd "$(command -v busybox)" > /dev/null 2>&1; then
  echo "SKIP: there is no static busybox here: tools/deps.sh test" >&2
  exit 77
fi
kernel=$build/guest/$series
"$here/kernel.sh" "$series" "$kernel"

# rdrand: without a source of entropy the first getrandom() in the guest blocks for six seconds.
# Linux 6.12 spins early in its boot when TCG claims cmpxchg16b.
case $series in
  6.1) cpu=qemu64,+rdrand ;;
  *) cpu=qemu64,+rdrand,-cx16 ;;
esac

work=$(mktemp -d)
qemu=
finish() {
  [ -z "$qemu" ] || { kill -TERM "$qemu" && wait "$qemu"; } 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

disk=${CLOCHE_GUEST_DISK:-$work/root.img}
[ -e "$disk" ] || "$here/root.sh" "$build" "$kernel" "$script" "$disk"

mkdir -p "$work/initramfs"/{bin,dev,root}
cp "$(command -v busybox)" "$work/initramfs/bin/busybox"
cp "$here/initramfs-init" "$work/initramfs/init"
release=$(< "$kernel/release")
modules=$work/initramfs/lib/modules/$release
mkdir -p "$modules"
cp "$kernel/lib/modules/$release"/modules.* "$modules/"
for part in drivers fs/ext4 fs/jbd2 fs/mbcache.ko lib/libcrc32c.ko; do
  [ -e "$kernel/lib/modules/$release/kernel/$part" ] || continue
  mkdir -p "$(dirname "$modules/kernel/$part")"
  cp -r "$kernel/lib/modules/$release/kernel/$part" "$modules/kernel/$part"
done
(cd "$work/initramfs" && find . | cpio -o -H newc -R 0:0 --quiet) > "$work/initramfs.cpio"

clock="no_timer_check tsc=reliable"
# One thread for all CPUs: with more a kernel that patches its own code may run half of a new instruction, and dies.
# `timeout` bounds QEMU itself, so that a guest that spins, panics or deadlocks ends like any other.
timeout --kill-after=5 "$seconds" qemu-system-x86_64 \
  -nodefaults -no-user-config -no-reboot -display none -nic none \
  -accel tcg,thread=single -cpu "$cpu" -smp 2 -m 1024 \
  -kernel "$kernel/vmlinuz" -initrd "$work/initramfs.cpio" \
  -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on nokaslr $clock" \
  -drive "file=$disk,if=virtio,format=raw,cache=unsafe" \
  -chardev stdio,id=output,signal=off \
  -serial "file:$work/console" -serial chardev:output -serial "file:$work/status" \
  -pidfile "${CLOCHE_GUEST_PID:-$work/pid}" < /dev/null &
qemu=$!
status=0
wait "$qemu" || status=$?
qemu=
if [ -s "$work/status" ]; then
  exit "$(tr -cd 0-9 < "$work/status")"
fi
tail -n 40 "$work/console" >&2 || true
if [ "$status" = 124 ] || [ "$status" = 137 ]; then
  echo "run.sh: the $series guest did not finish within $seconds s" >&2
  exit 124
fi
echo "run.sh: the $series guest ended without an exit status (qemu: $status)" >&2
exit 125
