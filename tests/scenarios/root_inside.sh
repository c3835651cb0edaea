#!/usr/bin/env bash
# Root inside is real enough to install packages and start services; the host does not notice.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" = system ] || skip "about a caller who is root"

fingerprint() {
  find /etc /var/lib/dpkg /opt /srv /usr/local -xdev -printf '%p %m %U %G %s %T@ %l\n' 2> /dev/null |
    grep -v '/etc/mtab' | sort
}
fingerprint > "$T/before"
mkdir -p deb/DEBIAN deb/opt/cloche-test
cat > deb/DEBIAN/control << 'CONTROL'
Package: cloche-test-package
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: a package that exists inside only
CONTROL
cat > deb/DEBIAN/postinst << 'SCRIPT'
#!/bin/sh
set -e
useradd --system --no-create-home cloche-test-user || true
chown cloche-test-user /opt/cloche-test/file
SCRIPT
chmod 755 deb/DEBIAN/postinst
echo installed > deb/opt/cloche-test/file
dpkg-deb --root-owner-group -b deb package.deb > /dev/null
try cloche new --name box
try cloche exec box -- apt-get install -y --no-install-recommends ./package.deb
check "apt-get installs a local package" exits 0
try cloche exec box -- sh -c 'cat /opt/cloche-test/file; dpkg -s cloche-test-package | grep ^Status; stat -c %U /opt/cloche-test/file'
check "it is installed, and its script has run" prints 'installed
Status: install ok installed
cloche-test-user'
try cloche exec box -- apt-get remove -y cloche-test-package
check "apt-get removes it" exits 0
try cloche exec box -- sh -c 'useradd -m -s /bin/sh worker && id worker && ls -ld /home/worker && groupadd crew && usermod -aG crew worker && id -Gn worker'
check "useradd, groupadd, usermod" exits 0
check "the user is in the new group" mentions crew
try cloche exec box -- sh -c 'echo secret > /home/worker/f && chown worker:crew /home/worker/f && chmod 640 /home/worker/f && stat -c "%U:%G %a" /home/worker/f'
check "chown and chmod" prints 'worker:crew 640'
try cloche exec box -- setpriv --reuid worker --regid worker --init-groups sh -c 'id -un; cat ~worker/f; cat /etc/shadow'
check "to become another user" mentions worker
check "with access to that user's files" mentions secret
check "and not root's" says 'Permission denied'
try cloche exec box -- su worker -s /bin/sh -c 'id -un'
check "su" prints worker
try cloche exec box -- sh -c 'chown 12345:54321 /tmp/x 2>/dev/null || { touch /tmp/x; chown 12345:54321 /tmp/x; }; stat -c "%u:%g" /tmp/x'
check "any owner of the ordinary range" prints 12345:54321
try cloche exec box -- sh -c 'echo worker:pw | chpasswd && getent shadow worker | cut -d: -f2 | grep -c "\\$"'
check "a password can be set" prints 1
try cloche exec box -- sh -c "printf '#include <unistd.h>\n' > /etc/cloche.h; ln -s x /etc/cloche-link; mkfifo /etc/cloche-fifo; ls /etc/cloche* | wc -l"
check "/etc can be written" prints 3
try cloche exec box -- sh -c 'rm -rf /usr/share/doc; ls /usr/share/doc 2>/dev/null | wc -l'
check "rm -rf /usr/share/doc" prints 0
check "which is there outside" test "$(ls /usr/share/doc | wc -l)" -gt 0

try cloche exec box -- sh -c 'mkdir -p /tmp/jail/bin && cp "$(command -v busybox)" /tmp/jail/bin/ && chroot /tmp/jail /bin/busybox ls /'
check "chroot" prints bin
try cloche exec box -- "$PYTHON" -c 'import os
here = os.open("/", os.O_RDONLY); os.chroot("/tmp/jail"); os.fchdir(here); os.chdir("../../.."); os.chroot(".")
print(os.path.exists("/tmp/jail/bin/busybox"), os.path.exists("'"$STATE"'/pool.img"))'
check "whose way back leads to the sandbox's own root, and no further" prints 'True False'
try cloche run --drop-root -- chroot / true
check "without its capabilities root may not" says 'Operation not permitted'
cloche exec -d box -- "$PYTHON" -m http.server --bind 127.0.0.1 8099 > /dev/null
fetch() { cloche exec box -- "$PYTHON" -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8099/").status)'; }
check "a service on the loopback device can be used inside" until_true fetch
try "$PYTHON" -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:8099/")'
check "and not from outside" not exits 0
try cloche exec box -- "$PYTHON" -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 80)); print("bound")'
check "low ports can be bound" prints bound
if command -v sshd > /dev/null; then
  try cloche exec box -- sh -c 'sshd -t 2>&1; true'
  check "sshd checks its configuration" exits 0
fi
try cloche exec box -- sh -c 'mount -t tmpfs none /mnt'
check "mount is refused" not exits 0
try cloche exec box -- sh -c 'mknod /tmp/sda b 8 0; dd if=/tmp/sda of=/dev/null count=1'
check "devices are refused" not exits 0
try cloche exec box -- sh -c 'echo 1 > /proc/sys/kernel/sysrq; echo b > /proc/sysrq-trigger; date -s "2001-01-01"; hostname changed; echo still here'
check "the machine cannot be changed" mentions 'still here'
check "its clock is as it was" test "$(date +%Y)" -gt 2001
try cloche exec box -- sh -c 'grep CapEff /proc/self/status'
check "its capabilities are not all" not mentions '000001ffffffffff'
try cloche run --drop-root -- sh -c 'grep CapEff /proc/self/status; chown 12345 /etc/hostname'
check "--drop-root gives them up" mentions 'CapEff:.0000000000000000'
check "--drop-root: and what they allow" says 'not permitted'

fingerprint > "$T/after"
check "of all of this the host has nothing" diff "$T/before" "$T/after"
check "nor a user" not getent passwd worker
try cloche stop box
try cloche exec box -- sh -c 'id -un worker; stat -c %U /home/worker/f'
check "owners survive a stop" prints 'worker
worker'
