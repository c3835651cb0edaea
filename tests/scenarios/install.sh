#!/usr/bin/env bash
# `cmake --install` and cloche-setup: what is put where, that systemd and AppArmor understand it, and
# that the user exists afterwards. The machine this installs on is a sandbox. Arguments: MODE BUILD.
. "$(dirname "$0")/../harness/lib.sh"
BUILD=$2
SOURCE=$(cd "$SCRIPT_DIR/../.." && pwd)
chmod 700 "$T"

DESTDIR=$T/dest cmake --install "$BUILD" --prefix /usr > "$OUT" 2> "$ERR"
status=$?
check "it installs into DESTDIR" exits 0
check "exactly these files" is "$(cd "$T/dest" && find . -type f | sort)" "$(sort << 'END'
./usr/bin/cloche
./usr/lib/systemd/system/cloched.service
./usr/lib/systemd/system/cloched.socket
./usr/lib/sysusers.d/cloche.conf
./usr/libexec/cloche/cloche-ca
./usr/libexec/cloche/cloche-diff
./usr/libexec/cloche/cloche-egress
./usr/libexec/cloche/cloche-git
./usr/libexec/cloche/cloche-pipeline
./usr/libexec/cloche/cloche-probe
./usr/libexec/cloche/cloche-promote
./usr/libexec/cloche/cloche-service
./usr/libexec/cloche/cloche-setup
./usr/libexec/cloche/cloche-sign
./usr/libexec/cloche/cloche-spawn
./usr/libexec/cloche/cloched
./usr/share/cloche/apparmor/cloche-sandbox
./usr/share/cloche/apparmor/cloche-spawn
./usr/share/systemd/user/cloched.service
./usr/share/systemd/user/cloched.socket
END
)"
check "units name the program without DESTDIR" grep -qx 'ExecStart=/usr/libexec/cloche/cloched' \
  "$T/dest/usr/lib/systemd/system/cloched.service"
check "no place holder is left" not grep -rqI '@[A-Z_]*@' "$T/dest"
check "texts are readable by all, and no programs" is "$(find "$T/dest/usr/lib" "$T/dest/usr/share" \
  -type f ! -perm 644)" ""

cmake --install "$BUILD" --prefix "$T/usr" > "$OUT" 2> "$ERR"
for kind in system user; do
  option='' where=lib
  [ $kind = system ] || option=--user where=share
  XDG_RUNTIME_DIR=$T try systemd-analyze verify $option "$T/usr/$where/systemd/$kind"/cloched.{socket,service}
  check "systemd accepts the $kind units" exits 0
  check "without a word about them" not says cloched
done
check "the unit of a user delegates its cgroup" grep -qx Delegate=yes "$T/usr/share/systemd/user/cloched.service"
HOME=$T XDG_RUNTIME_DIR=$T try env -u XDG_DATA_HOME systemd-analyze --user unit-paths
check "systemd finds it when it is installed with PREFIX=~/.local, too" mentions "^$T/.local/share/systemd/user\$"
try apparmor_parser --skip-kernel-load --skip-cache "$T/usr/share/cloche/apparmor/cloche-sandbox"
check "AppArmor accepts the profile of sandboxes" exits 0
if [ -e /etc/apparmor.d/abi/4.0 ]; then
  try apparmor_parser --skip-kernel-load --skip-cache "$T/usr/share/cloche/apparmor/cloche-spawn"
  check "AppArmor accepts the profile of cloche-spawn" exits 0
else
  echo "the profile of cloche-spawn needs AppArmor 4 and was not parsed"
fi

getent passwd > "$T/passwd"
if [ "$BUILD" = "$SOURCE/build" ]; then install="make -C '$SOURCE' install PREFIX=/usr"; else
  install="cmake --install '$BUILD' --prefix /usr && /usr/libexec/cloche/cloche-setup"; fi
try cloche run -- sh -c "userdel cloche 2> /dev/null; ($install) > /dev/null && getent passwd cloche &&
  getent group cloche && cloche --version && /usr/libexec/cloche/cloche-setup"
check "after an install as root the user exists" mentions '^cloche:.*:/usr/sbin/nologin$'
check "with a group of its own" mentions '^cloche:[^:]*:[0-9]*:$'
check "and the program is there" mentions '^cloche [0-9]'
check "a second set-up does no harm" exits 0
try cloche run -- sh -c "userdel cloche 2> /dev/null; rm -f /usr/bin/systemd-sysusers /bin/systemd-sysusers
  ($install) > /dev/null && getent passwd cloche"
check "without systemd-sysusers too" mentions '^cloche:.*:/usr/sbin/nologin$'
check "this machine has no user more" is "$(getent passwd)" "$(cat "$T/passwd")"
