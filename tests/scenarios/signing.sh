#!/usr/bin/env bash
# Keys of a real ssh-agent sign for a sandbox that was granted them, and never enter it. A real sshd,
# outside, and git judge.
TEST_ACCOUNT=$(id -u backup 2> /dev/null)  # ssh wants to know who it is
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$BIN/cloche-sign" ] || skip "cloche-sign is not built"
[ -n "$TEST_ACCOUNT" ] || skip "there is no account to borrow"
export PATH=$SAFE_PATH
for tool in sshd ssh ssh-agent git; do command -v $tool > /dev/null || skip "there is no $tool"; done
HANG_SECONDS=120
SERVER=$T/server ADDRESS=127.0.1.9 ME=$(id -un)
mkdir -p "$SERVER/site" "$T/judge"
chmod 700 "$T/judge"
install -d -m 700 -o "$CALLER_UID" "$T/agent" "$T/keys"
CALLER_ENV=(SSH_AUTH_SOCK="$T/agent/socket" CLOCHE_HOSTS="$T/hosts")
echo "$ADDRESS deploy.test" > "$T/hosts"
chmod 644 "$T/hosts"

# --- The keys: in the agent, and nowhere else.
# Not with as_caller: the agent is not one of our processes, and outlives daemons.
agent_user=()
[ "$(id -u)" = "$CALLER_UID" ] || agent_user=(setpriv --reuid "$CALLER_UID" --regid "$CALLER_UID" --clear-groups)
"${agent_user[@]}" env -i ssh-agent -D -a "$T/agent/socket" > "$T/log" 2>&1 &
agent=$! sshd=
at_end() { local code=$?; kill $agent $sshd 2> /dev/null; wait $agent $sshd 2> /dev/null; (exit $code); finish; }
trap at_end EXIT
until_true test -S "$T/agent/socket"
secrets=()
for key in deploy private; do
  as_caller ssh-keygen -q -t ed25519 -N '' -C $key -f "$T/keys/$key"
  as_caller ssh-add -q "$T/keys/$key" 2> "$T/log"
  secrets+=("$(sed -n 3p "$T/keys/$key")")
  cp "$T/keys/$key.pub" "$T/judge"
  install -m 644 "$T/keys/$key.pub" "$WORK/$key.pub"
done
rm -r "$T/keys"
fingerprint=$(ssh-keygen -lf "$T/judge/deploy.pub" | cut -d ' ' -f 2)
is "$(as_caller ssh-add -l | wc -l)" 2 || exit 1

# --- A server that takes both keys.
port=$("$PYTHON" -c "import socket; s = socket.socket(); s.bind(('$ADDRESS', 0)); print(s.getsockname()[1])")
for key in host other; do ssh-keygen -q -t ed25519 -N '' -C $key -f "$T/judge/$key"; done
cat "$T/judge/deploy.pub" "$T/judge/private.pub" > "$SERVER/authorized"
cat > "$SERVER/config" << END
ListenAddress $ADDRESS:$port
HostKey $T/judge/host
AuthorizedKeysFile $SERVER/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
Subsystem sftp internal-sftp
END
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
"$(command -v sshd)" -D -e -f "$SERVER/config" 2> "$SERVER/log" &
sshd=$!
until_true grep -q listening "$SERVER/log" || { cat "$SERVER/log"; exit 1; }
echo "[deploy.test]:$port $(cut -d ' ' -f 1,2 "$T/judge/host.pub")" > "$WORK/known"
host=$(ssh-keygen -lf "$T/judge/host.pub" | cut -d ' ' -f 2)
other=$(ssh-keygen -lf "$T/judge/other.pub" | cut -d ' ' -f 2)
git init -q --bare "$SERVER/repo.git"
chmod 644 "$WORK/known"
stop_daemon
$starter ls > "$T/log" 2>&1
allow=(--allow "ssh://deploy.test:$port" --allow "tcp://$ADDRESS:$port")
options="-F none -o UserKnownHostsFile=$WORK/known -o StrictHostKeyChecking=yes -o BatchMode=yes"
to_server() { cloche exec -q "$1" -- ssh $options -p "$port" "$ME@deploy.test" "$2"; }

# --- Nothing, unless it is granted.
try cloche run "${allow[@]}" -- sh -c 'echo "${SSH_AUTH_SOCK-none}"; ssh-add -l'
check "without a grant there is no agent" mentions '^none$'
check "and no key" not exits 0
refused not_found new --sign nothing
refused invalid new --sign deploy:ssh=example.com
try cloche ls --json
check "a failed grant leaves no sandbox" prints '[]'

# --- One key is granted.
try cloche new --name box --sign deploy "${allow[@]}"
check "a key is granted by its comment" exits 0
try cloche exec box -- ssh-add -L
check "it is listed inside, alone" prints "$(cat "$T/judge/deploy.pub")"
try cloche sign box
check "and outside" mentions "deploy  *$fingerprint  *ssh, git"

# --- A commit, signed inside and pushed, verified outside.
cat > "$WORK/commit.sh" << END
set -e
rm -rf "$WORK/repo" && git init -q -b main "$WORK/repo" && cd "$WORK/repo"
git config user.name agent && git config user.email agent@example.com
git config gpg.format ssh && git config user.signingkey "key::\$(cat "$WORK/deploy.pub")"
echo work > file && git add file && git commit -q -S -m signed
GIT_SSH_COMMAND='ssh $options' git push -q "ssh://$ME@deploy.test:$port$SERVER/repo.git" main
END
chmod 644 "$WORK/commit.sh"
try cloche exec box -- sh "$WORK/commit.sh"
check "git commits with a signature and pushes over ssh" exits 0
echo "agent@example.com $(cut -d ' ' -f 1,2 "$T/judge/deploy.pub")" > "$T/judge/signers"
try git -C "$SERVER/repo.git" -c gpg.ssh.allowedSignersFile="$T/judge/signers" verify-commit main
check "the commit is verified outside" exits 0
check "as that key's" says "Good \"git\" signature for agent@example.com with ED25519 key $fingerprint"
try cloche sign box log --json
check "the commit is on record" mentions "\"kind\":\"sign\",\"name\":\"deploy\",\"decision\":\"allow\",\"use\":\"git\",\"fingerprint\":\"$fingerprint\",\"namespace\":\"git\""
check "so is the push, with user and host" mentions "\"decision\":\"allow\",\"use\":\"ssh\".*\"user\":\"$ME\",\"host\":\"$host\""
check "one line each" is "$(grep -c '"decision":"allow"' "$OUT")" 2
try cloche sign box log
check "for people, too" mentions "allow  sign .*deploy .*ssh as $ME at $host"
try cloche net box log
check "the log of the network has them" mentions 'allow  sign '

# --- A deploy.
echo '<h1>new</h1>' > "$WORK/index.html" && chmod 644 "$WORK/index.html"
try cloche exec box -- scp $options -P "$port" "$WORK/index.html" "$ME@deploy.test:$SERVER/site/"
check "scp deploys" cmp "$WORK/index.html" "$SERVER/site/index.html"
try to_server box "echo done > $SERVER/site/done; cat $SERVER/site/index.html"
check "a command runs at the host" prints '<h1>new</h1>'
check "there" test -e "$SERVER/site/done"

# --- The other key.
try cloche exec box -- ssh $options -o IdentitiesOnly=yes -i "$WORK/private.pub" -p "$port" "$ME@deploy.test" true
check "a key that was not granted opens nothing" not exits 0
cat > "$WORK/agent.py" << 'END'
import base64, os, socket, struct, sys
def text(b): return struct.pack(">I", len(b)) + b
def ask(message):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(20)
    link.connect(os.environ["SSH_AUTH_SOCK"])
    try:
        link.sendall(text(message))
        head = link.recv(4)
    except OSError:
        return "closed"
    return link.recv(1)[0] if len(head) == 4 else "closed"
def blob(name): return base64.b64decode(open(name).read().split()[1])
for name in sys.argv[1:]:
    key = blob(name)
    print("list", ask(b"\x0b"))
    print("sign", ask(b"\x0d" + text(key) + text(b"SSHSIG" + text(b"git") + text(b"") + text(b"sha512") + text(b"h" * 64)) + bytes(4)))
    print("file", ask(b"\x0d" + text(key) + text(b"SSHSIG" + text(b"file") + text(b"") + text(b"sha512") + text(b"h" * 64)) + bytes(4)))
    print("blind", ask(b"\x0d" + text(key) + text(b"anything at all") + bytes(4)))
    print("remove", ask(b"\x12" + text(key)), "all", ask(b"\x13"), "v1", ask(b"\x09"))
print("add", ask(b"\x11" + text(b"ssh-ed25519") + text(b"p" * 32) + text(b"s" * 64) + text(b"mine")))
print("add card", ask(b"\x14" + text(b"/lib/x.so") + text(b"1234")))
print("lock", ask(b"\x16" + text(b"word")), "unlock", ask(b"\x17" + text(b"word")))
print("extension", ask(b"\x1b" + text(b"query")))
print("long", ask(b"\x0d" + bytes(40000)))
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["SSH_AUTH_SOCK"])
link.sendall(b"\xff\xff\xff\xff")
print("longer", link.recv(1))
END
chmod 644 "$WORK/agent.py"
try cloche exec box -- "$PYTHON" "$WORK/agent.py" "$WORK/private.pub"
check "nor does it sign when it is asked for by hand" mentions '^sign 5$'
check "keys are not removed from inside" mentions '^remove 5 all 5 v1 5$'
check "nor added" mentions '^add 5$'
check "nor from a card" mentions '^add card 5$'
check "nor locked" mentions '^lock 5 unlock 5$'
check "nothing else is let through" mentions '^extension 5$'
check "a message that is too long ends the connection" mentions '^long closed$'
check "at once" mentions "^longer b''$"
try cloche exec box -- "$PYTHON" "$WORK/agent.py" "$WORK/deploy.pub"
check "the granted key does sign" mentions '^sign 14$'
check "but not files in general" mentions '^file 5$'
check "nor what nobody can tell" mentions '^blind 5$'
check "and the running command reports it" says 'signature refused: .*; see: cloche sign sb_'
check "the agent still has both keys" is "$(as_caller ssh-add -l | wc -l)" 2
try cloche sign box log --json
check "refusals are on record" mentions '"decision":"deny".*"reason":"this key is not granted"'
check "and say why" mentions 'keys are neither added, removed nor locked from inside'

# --- The keys are nowhere inside.
echo "hopefully in this file" > "$WORK/look_here" && chmod 644 "$WORK/look_here"
look_for() { printf '%s\n' "$@" | cloche exec box -- sh -c "grep -rlFsf - '$CALLER_HOME' '$WORK' '$T' /dev/shm /run; echo end"; }
try look_for "${secrets[@]}"
check "no private key is inside" prints end
try look_for 'hopefully in this file'
check "(which would have been found)" mentions look_here
signer() { local pid; for pid in $(our_processes); do [ "$(readlink "/proc/$pid/exe")" != "$BIN/cloche-sign" ] || echo "$pid"; done; }
for pid in $(signer); do
  check "cloche-sign has no rights" is "$(sed -n 's/^Cap[PEB][a-z]*:	//p' "/proc/$pid/status" | sort -u)" 0000000000000000
  check "and few system calls" is "$(sed -n 's/^Seccomp:	//p' "/proc/$pid/status")" 2
  check "it is its owner's" is "$(sed -n 's/^Uid:	\([0-9]*\).*/\1/p' "/proc/$pid/status")" "$CALLER_UID"
done

# --- Narrow grants.
try cloche run --sign deploy:git "${allow[@]}" -- ssh $options -p "$port" "$ME@deploy.test" true
check "one for commits opens no host" not exits 0
check "which is reported" says 'signature refused: this key is not granted for logins'
try cloche run --sign "deploy:ssh=$host" "${allow[@]}" -- ssh $options -p "$port" "$ME@deploy.test" echo in
check "one for a host opens it" prints in
try cloche run --sign "$fingerprint:ssh=$other" "${allow[@]}" -- ssh $options -p "$port" "$ME@deploy.test" echo in
check "one for another does not" not prints in
check "which is reported, too" says 'not granted for logins at this host'
try cloche run --sign deploy --sign-limit 2 -- sh -c "for i in 1 2 3; do echo x | ssh-keygen -q -Y sign -n git -f '$WORK/deploy.pub' > /dev/null && echo signed; done"
check "no more than so many a minute" is "$(grep -c signed "$OUT")" 2
check "and that is reported" says 'more than 2 signatures in a minute'

# --- It lasts as long as it is granted.
cloche stop box > "$T/log"
try to_server box 'echo again'
check "after stop and start" prints again
try cloche fork box --json
fork=$(field 0.id)
try to_server "$fork" 'echo forked'
check "a fork has it" prints forked
cloche rm "$fork" > "$T/log"
try cloche sign box rm deploy
check "revoked" mentions 'none: no key is granted'
try to_server box 'echo in'
check "it fails at once" not prints in
try cloche exec box -- ssh-add -l
check "nothing is listed" mentions 'no identities'
try cloche sign box add private:ssh
check "another is granted while it runs" mentions 'private .* ssh'
try to_server box 'echo in'
check "and works" prints in
refused not_found sign box rm deploy
refused not_found sign box add nothing

# --- When cloche-sign dies, or the agent.
id=$(cloche show box --json | sed -n 's/.*"id":"\(sb_[a-z0-9]*\)".*/\1/p')
for pid in $(signer); do kill -9 "$pid"; done
closed() { cloche sign box --json | grep -q '"state":"closed"'; }
check "its death closes" until_true closed
try to_server box 'echo in'
check "nothing is signed" not prints in
cloche stop box > "$T/log"
try to_server box 'echo in'
check "the next start opens it again" prints in
kill $agent
wait $agent 2> /dev/null
try to_server box 'echo in'
check "without the agent nothing is signed" not prints in
try cloche exec box -- echo on
check "and everything else continues" prints on
try cloche sign box log
check "which is on record" mentions 'the ssh-agent does not answer'
cloche rm box > "$T/log"
nobody_signs() { [ -z "$(signer)" ]; }
check "cloche-sign goes with the sandbox" until_true nobody_signs
