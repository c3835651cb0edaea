# Disks for a scenario: $DISKS/ext4 and $DISKS/btrfs are file systems of $DISK_SIZE in files, mounted in a mount namespace of
# the test's own. Sourced before lib.sh, which starts the daemon: that has a mount namespace of its own as well.
if [ -z "${DISKS-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
  DISKS=$(mktemp -d /tmp/cloche-disks.XXXXXX)
  chmod 755 "$DISKS"
  DISKS=$DISKS unshare --mount --propagation private "$0" "$@"
  status=$?
  rm -rf "$DISKS"  # nothing is mounted there in this namespace
  exit $status
fi
for kind in ext4 btrfs; do
  truncate -s "$DISK_SIZE" "$DISKS/$kind.img"
  "mkfs.$kind" -q "$DISKS/$kind.img" > /dev/null || exit 1
  mkdir "$DISKS/$kind" && mount -o loop "$DISKS/$kind.img" "$DISKS/$kind" || exit 1
done
