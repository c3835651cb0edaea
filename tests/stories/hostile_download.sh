#!/usr/bin/env bash
# A hostile download is run: it has no effect, and its attempts are reported.
. "$(dirname "$0")/story.sh"

home_of_straw() {
  as_caller sh -c 'mkdir -p "$1/.ssh" "$1/.aws" && chmod 700 "$1/.ssh"
    echo flag-of-ssh > "$1/.ssh/id_ed25519"; echo flag-of-aws > "$1/.aws/credentials"
    echo "alias l=ls" > "$1/.bashrc"; echo umask 022 > "$1/.profile"' sh "$1"
}
home_of_straw "$CALLER_HOME"
cp "$SCRIPT_DIR/download.sh" install.sh && chmod a+r install.sh
CALLER_ENV=(DEPLOY_TOKEN=flag-of-token)

# A listener, and a process to kill.
cat > "$BIN/door.py" << 'END'
import socket, sys
door = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as file:
    file.write(str(door.getsockname()[1]))
while True:
    guest, _ = door.accept()
    with open(sys.argv[2], "ab") as file:
        file.write(guest.recv(100))
END
: > "$T/visitors" && chmod 666 "$T/visitors"
"$PYTHON" "$BIN/door.py" "$T/port" "$T/visitors" > /dev/null 2>&1 &
door=$!
until_true test -s "$T/port"
new_victim() {
  as_caller sh -c 'sleep 1000 > /dev/null 2>&1 & echo $!' > "$T/victim"
  victim=$(cat "$T/victim")
  attack=(sh install.sh "$victim" "$(cat "$T/port")")
}
victim_lives() { readlink "/proc/$victim/exe" > /dev/null; }  # a zombie has none
straw_dies() { kill "$door" "$victim" 2> /dev/null; }
trap 'straw_dies; finish' EXIT

# Outside, where nobody stops it.
straw=$T/straw
mkdir "$straw" && chown "$CALLER_UID:$CALLER_UID" "$straw"
home_of_straw "$straw"
new_victim
try as_caller env HOME="$straw" "${attack[@]}" steal persist phone_home kill_others through_proc
check "control: outside it steals" is "$(grep -o '^LOOT flag-of-.*' "$OUT" | sort -u | wc -l)" 3
check "control: writes what a shell runs" grep -q evil.example "$straw/.bashrc"
check "control: escapes through /proc" grep -q evil "$straw/.profile"
check "control: phones home" until_true grep -q HELLO "$T/visitors"
check "control: kills" not victim_lives
: > "$T/visitors"

new_victim
watch_reality "$WORK" "$CALLER_HOME" /etc/passwd /etc/cron.d
all=(steal persist persist_in_system phone_home kill_others stay through_proc through_kernel)
for how in run exec; do
  if [ $how = run ]; then
    try cloche run -- "${attack[@]}" "${all[@]}"
  else
    try cloche new --name box
    try cloche exec box -- "${attack[@]}" "${all[@]}"
  fi
  check "$how: it runs to its end" is "$(grep -c '^done: ' "$OUT")" ${#all[@]}
  check "$how: it sees no secret" not mentions flag-of
  check "$how: nobody is called" test ! -s "$T/visitors"
  check "$how: connections fail with an error" mentions '^127.0.0.1 .*refused'
  check "$how: no process outside is hurt" victim_lives
  check "$how: reality has not changed" reality_is_as_it_was
done

# Its attempts are reported.
try cloche logs box
check "its output is kept" mentions '^done: through_kernel'
try cloche show box --json
check "denied calls have a name" mentions '"call":"mount"'
check "the way past the network is a violation" mentions '"class":"violation"'
try cloche diff box --all --name-only
check "its changes are shown: a file that shells run" mentions "^$CALLER_HOME/.bashrc$"
check "a file written through /proc" mentions "^$CALLER_HOME/.profile$"
check "a file of its daemon" mentions "^$CALLER_HOME/beacon"
if [ "$MODE" = system ]; then
  check "cron" mentions '^/etc/cron.d/nice-tool$'
  check "the users of the system" mentions '^/etc/passwd$'
else
  check "of the system it could change nothing" not mentions '^/etc/'
fi
check "the secrets are not part of the diff" not mentions '/\.ssh'

# Its daemon lives only as long as its sandbox runs.
stays() { inside box 'pgrep -f beacon' > /dev/null; }
check "its daemon still runs in the sandbox" stays
cloche stop box > "$OUT" 2>&1
try cloche rm box
check "and goes with it" is "$(pgrep -f 'echo nice-tool > ')" ''
check "reality has not changed" reality_is_as_it_was
check "and nobody was hurt" victim_lives
