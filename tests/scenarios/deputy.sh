#!/usr/bin/env bash
# The system daemon does nothing for ordinary callers that they could not do themselves.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" = shared ] || skip "about an ordinary caller of root's daemon"

secret=$T/secret
echo flag-of-root > "$secret" && chmod 600 "$secret"
mkdir "$T/private" && echo flag-of-root > "$T/private/file" && chmod 700 "$T/private"
echo flag-of-group > "$T/groupfile" && chown 0:4242 "$T/groupfile" && chmod 640 "$T/groupfile"
try cloche run -- cat "$secret"
check "a 0600 file of root cannot be read" not mentions flag
check "and fails as outside" says 'Permission denied'
try cloche run -- cat "$T/private/file"
check "nor one in a private directory" not mentions flag
try cloche run -- cat /etc/shadow
check "nor /etc/shadow" prints_nothing
try cloche run -- cat "$T/groupfile"
check "nor a file of another group" not mentions flag
SUPPLEMENTARY=$CALLER_UID,4242
try cloche run -- cat "$T/groupfile"
check "but one of the caller's groups" prints flag-of-group
SUPPLEMENTARY=
try cloche run -- sh -c "echo x > '$T/new'; chmod 777 '$secret'; chown $CALLER_UID '$secret'; rm -f '$secret'; mv '$secret' /tmp/y; ln '$secret' ./l"
check "the caller cannot change, own, remove, move or link it" is "$(stat -c '%a %u' "$secret")" '600 0'
try cloche run -- sh -c "ls '$secret' && ! test -e '$T/new' && ! test -w /etc/passwd && ! test -w /usr/bin"
check "not even in the copy" exits 0

try cloche run -- id -u
check "the caller keeps the same uid" prints "$CALLER_UID"
try cloche run -- sh -c 'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status'
check "no capability of any kind" is "$(grep -vc '0000000000000000$' "$OUT")" 0
try cloche run -- sh -c 'unshare -Ur id; su -c id; sudo -n id; newgrp root'
check "nothing makes the caller root" not mentions 'uid=0'
try cloche run -- sh -c 'find /usr/bin -perm -4000 -exec {} --version \; ; grep nosuid /proc/self/mounts | grep -c " / "'
check "set-user-id programs gain nothing" is "$(tail -1 "$OUT")" 1
try cloche run -- sh -c 'cat /proc/1/environ; ls -l /proc/1/root/ /proc/1/fd; kill -9 1; echo survived'
check "init is out of reach" mentions survived
try cloche run --drop-root -- id -u
check "--drop-root changes nothing for ordinary users" prints "$CALLER_UID"

# Links and paths in arguments of the caller.
as_caller sh -c "ln -s '$secret' l; ln -s '$T/private' d; ln -s / r; mkdir out"
for option in --ro --rw; do
  for path in l d r "$secret" "$T/private" d/file "r$secret" /root; do
    try cloche run $option "$path" -- sh -c "cat l d/file 'r$secret' '$secret' '$T/private/file' 2>&1"
    check "$option $path shows nothing of root's" not mentions flag
  done
done
try cloche run --rw "$T" -- sh -c "echo x > '$T/made'; rm -f '$secret'"
check "--rw of root's directory does not let the caller write" test ! -e "$T/made" -a -e "$secret"
try cloche run --rw /var/lib -- sh -c 'echo x > /var/lib/cloche-test-made'
check "--rw /var/lib neither" test ! -e /var/lib/cloche-test-made
rm -f /var/lib/cloche-test-made
cd / || exit 1  # exists in every base
for base in "$T/private" "$WORK/d" "$WORK/r" /root /; do
  try cloche run --base "dir:$base" -- /bin/sh -c 'id -u; cat /file /etc/shadow 2>&1'
  check "--base dir:$base shows nothing of root's" not mentions 'flag\|root:[^:]*\$'
done
cd "$WORK" || exit 1
try cloche run --declared --input "$secret" -- cat "$secret"
check "--declared --input neither" not mentions flag
try cloche run --declared --out "$T/private" -- sh -c "cat '$T/private/file'; echo x > '$T/private/new'"
check "--declared --out neither" not mentions flag
check "nor writes" test ! -e "$T/private/new"

# Views prepared while callers could read a path are not shown when they no longer may.
mkdir -p "$T/open/inner" && chmod 755 "$T/open" "$T/open/inner"
for option in --ro --hide; do
  path=$T/open/inner
  [ $option = --ro ] || path=$T/open/inner/nothing
  chmod 755 "$T/open"
  for _ in 1 2 3; do try cloche run $option "$path" -- ls "$T/open/inner"; done
  check "$option of a readable path" exits 0
  chmod 700 "$T/open"
  echo flag-of-root > "$T/open/inner/file"
  try cloche run $option "$path" -- cat "$T/open/inner/file"
  check "$option shows nothing that was closed since" not mentions flag
  rm "$T/open/inner/file"
done

# The caller's own root file system: root inside is root over the caller's files only.
if command -v busybox > /dev/null; then
  as_caller sh -c 'mkdir -p fs/bin fs/tmp; cp "$(command -v busybox)" fs/bin/; for t in sh cat id chown ls; do ln -s busybox fs/bin/$t; done'
  cp "$secret" fs/secret; chmod 600 fs/secret
  cd / || exit 1
  try cloche run --base "dir:$WORK/fs" -- /bin/sh -c 'id -u; cat /secret'
  check "dir: it runs" mentions '^[0-9]'
  check "dir: a file of root in the caller's directory stays unreadable" not mentions flag
  before=$(stat -c %u "$WORK/fs/bin/busybox")
  try cloche run --base "dir:$WORK/fs" -- /bin/sh -c 'chown 0 /bin/busybox; ls -ln /bin/busybox'
  check "dir: ownership outside is unchanged" is "$(stat -c %u "$WORK/fs/bin/busybox")" "$before"
fi

# The host judges: nothing of root's was touched.
check "root's file is as it was" is "$(cat "$secret")" flag-of-root
check "and its directory" is "$(ls "$T/private")" file
try cloche new --name box
try cloche show box --json
check "show lists the caller's uid" field_is enforced.uid "$CALLER_UID"
check "show lists no capabilities" field_is enforced.capabilities.# 0
try cloche exec box -- cat "$secret"
check "exec is not a way around" not mentions flag
