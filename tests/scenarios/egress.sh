#!/usr/bin/env bash
# A sandbox reaches the hosts it was granted, and nothing else. Servers on the host's loopback
# judge: they record every request.
. "$(dirname "$0")/../harness/lib.sh"
. "$SCRIPT_DIR/../harness/world.sh"
HANG_SECONDS=120
printf '%s\n' 'granted.test 127.0.1.1' 'other.test 127.0.1.2' 'late.test 127.0.1.3' 'a.wild.test 127.0.1.4' \
  'prod.wild.test 127.0.1.5' 'prod.test 127.0.1.5' > "$SERVERS/names"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$SERVERS/key.pem" -out "$SERVERS/cert.pem" -days 2 -subj /CN=granted.test \
  -addext 'subjectAltName=DNS:granted.test,DNS:late.test' 2> "$T/log"
chmod 644 "$SERVERS/cert.pem"
cp "$SERVERS/cert.pem" "$T/cert.pem"
begin_world egress_servers.py ports
await_world
read -r HTTP TLS < "$READY"
printf '%s\n' '# not for agents' prod.test prod.wild.test > "$T/production"
chmod 644 "$T/production"
# Without a list of production hosts for the machine: rootless, the user's own counts; a system
# daemon ignores it.
install -d -m 700 -o "$CALLER_UID" -g "$CALLER_UID" "$CALLER_HOME/.config" "$CALLER_HOME/.config/cloche"
echo mine.test > "$CALLER_HOME/.config/cloche/production-hosts"
chown "$CALLER_UID" "$CALLER_HOME/.config/cloche/production-hosts"
try cloche run --allow some.test:443 -- true
check "a grant needs no list of production hosts" exits 0
[ "$MODE" != rootless ] || refused denied new --allow mine.test:443
CALLER_ENV=("${WORLD_ENV[@]}" CLOCHE_PRODUCTION_HOSTS="$T/production")
restart_daemon

get=(curl -sS -m 20)
hello() { is "$("${get[@]}" "$1")" "hello from $2"; }
check "the servers answer, outside" hello "http://127.0.1.1:$HTTP/" 127.0.1.1
check "and over TLS" is "$(curl -sS -m 20 --cacert "$T/cert.pem" --resolve "granted.test:$TLS:127.0.1.1" "https://granted.test:$TLS/")" \
  "hello from 127.0.1.1"
: > "$LOG"
granted=(--allow "http://granted.test:$HTTP" --allow "granted.test:$TLS" --allow "tcp://127.0.1.1:$HTTP" --allow "tcp://127.0.1.1:$TLS")

# --- Nothing, unless it is granted.
try cloche run -- "${get[@]}" "http://granted.test:$HTTP/"
check "without a grant there is no network" not exits 0
check "and that is reported, with the cure" says 'blocked: no network is granted to sb_[a-z0-9]*; grant what it needs with: --allow'
try cloche run -- false
check "of who did not look for one nothing is" not says 'no network'
try cloche run -- sh -c "$PYTHON -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 5)' 2> /dev/null; true"
check "nor does it take a failure to be told" says 'blocked: no network is granted to sb_'
check "of a command that ends well" exits 0
try cloche run --json -- "$PYTHON" -c 'import socket; socket.create_connection(("192.0.2.1", 80), 5)'
check "in JSON, too" mentions '"notices":\["blocked: no network is granted'
try cloche run -- sh -c 'ip -o route 2> /dev/null; cat /proc/net/route'
check "and no route" not mentions 'default\|	00000000	'
check "nobody was asked for a name" not heard .

# --- Rules that cannot be meant.
for own in localhost:5432 127.0.0.1:5432 '[::1]:5432'; do
  refused invalid run --allow "$own" -- true
  check "$own is the sandbox's own, and the error names what is meant" mentions 'host.cloche:5432'
done
refused invalid run --allow '*:443' -- true
check "every host takes a yes" mentions 'every HTTPS host.*--yes'
try cloche run --yes --allow '*:443' -- true
check "which may be given at once" exits 0
refused invalid run --allow "tcp://0.0.0.0/0:$HTTP" -- true
check "so does a range that is much of the internet" mentions 'much of the internet.*--yes'
reserved='import os, socket, sys
proxy = os.environ["CLOCHE_PROXY"].split("//")[-1].strip("/").split(":")
s = socket.create_connection((proxy[0], int(proxy[1])))
s.sendall(("CONNECT 127.0.1.1:%s HTTP/1.1\r\nHost: 127.0.1.1:%s\r\n\r\n" % (sys.argv[1], sys.argv[1])).encode())
print(s.recv(100).split(b"\r\n")[0].decode())'
try cloche run --yes --allow "tcp://0.0.0.0/0:$HTTP" -- "$PYTHON" -c "$reserved" "$HTTP"
check "and it names no reserved address" prints "HTTP/1.1 403 Forbidden"
try cloche run --allow "tcp://127.0.1.1:$HTTP" -- "$PYTHON" -c "$reserved" "$HTTP"
check "which a rule of its own does" prints "HTTP/1.1 200 Connection established"
refused invalid run --allow @nowhere -- true
check "presets are named" mentions '@npm, '
try cloche net presets
check "and listed" mentions '@npm .*registry'
try cloche net presets --json
check "as JSON, too" "$PYTHON" -c 'import json, sys; assert any(each["name"] == "@debian" and each["rules"] for each in json.load(open(sys.argv[1])))' "$OUT"
try cloche run --allow http://granted.test -- "${get[@]}" http://granted.test/
check "a private address is refused with the rule that would do" says 'blocked: granted.test is 127.0.1.1.*--allow http://granted.test=127.0.1.1'
try cloche run --allow "http://granted.test=127.0.1.1:$HTTP" -- "${get[@]}" "http://granted.test:$HTTP/"
check "which does" prints "hello from 127.0.1.1"
try cloche run --allow "http://granted.test=127.0.1.1:$HTTP" --allow "http://other.test:$HTTP" -- "${get[@]}" "http://other.test:$HTTP/"
check "for that name, not for others" not mentions 'hello'
try cloche run --allow some.test:443 -- "$PYTHON" -c 'import socket
q = b"\0\1\1\0\0\1\0\0\0\0\0\0\5_http\4_tcp\6mirror\4test\0\0\41\0\1"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(9); s.sendto(q, ("192.0.2.1", 53)); s.recv(999)'
check "a query for a service names its host" says 'blocked: mirror.test is not granted.*--allow http://mirror.test'
: > "$LOG"

# --- Granted hosts.
try cloche run "${granted[@]}" -- "${get[@]}" "http://granted.test:$HTTP/"
check "a granted host is reached, with no settings inside" prints "hello from 127.0.1.1"
check "the server heard it" heard "GET granted.test:$HTTP / at 127.0.1.1"
check "its name was asked for" heard 'name granted.test'
try cloche run "${granted[@]}" -- curl -sS -m 20 --cacert "$T/cert.pem" "https://granted.test:$TLS/"
check "over TLS, end to end" prints "hello from 127.0.1.1"
try cloche run "${granted[@]}" -- sh -c "echo | openssl s_client -connect granted.test:$TLS -servername granted.test 2>&1"
check "openssl sees the server's own certificate" mentions 'CN = granted.test'
try cloche run "${granted[@]}" -- "$PYTHON" -c "import urllib.request as u; print(u.urlopen('http://granted.test:$HTTP/').read().decode(), end='')"
check "python, too" prints "hello from 127.0.1.1"
try cloche run "${granted[@]}" -- sh -c "curl -sS -m 60 http://granted.test:$HTTP/20000000 | wc -c"
check "20 MB come in" prints 20000000
try cloche run "${granted[@]}" -- sh -c "head -c 20000000 /dev/zero | curl -sS -m 60 --data-binary @- http://granted.test:$HTTP/"
check "20 MB go out" prints 20000000
try cloche run "${granted[@]}" -- sh -c 'echo "$CLOCHE_PROXY"; env | grep -ci _proxy='
check "a proxy is offered, and not pressed on anybody" mentions '^http://127.0.0.1:[0-9]*$'
try cloche run "${granted[@]}" -- sh -c "curl -sS -m 20 -p -x \$CLOCHE_PROXY http://granted.test:$HTTP/"
check "by HTTP CONNECT" prints "hello from 127.0.1.1"
try cloche run "${granted[@]}" --proxy-env -- sh -c "curl -sS -m 20 -x \$all_proxy http://granted.test:$HTTP/"
check "by SOCKS5, and --proxy-env sets the variables" prints "hello from 127.0.1.1"

# --- And nothing else.
: > "$LOG"
try cloche run "${granted[@]}" -- "${get[@]}" "http://other.test:$HTTP/"
check "another name is not reached" not exits 0
check "its owner learns how to grant it" says "blocked: other.test.*grant it with: .*other.test"
try cloche run "${granted[@]}" -- "${get[@]}" "http://198.18.0.7:$HTTP/"
check "an address is not reached" not prints "hello from 127.0.1.1"
check "and that is reported" says 'blocked: 198.18.0.7'
try cloche run "${granted[@]}" -- "${get[@]}" -H "Host: other.test" "http://granted.test:$HTTP/"
check "nor somebody else by the Host of a request" not mentions hello
try cloche run "${granted[@]}" -- sh -c "curl -sS -m 20 -p -x \$CLOCHE_PROXY http://other.test:$HTTP/"
check "nor by the proxy" not exits 0
try cloche run "${granted[@]}" -- "${get[@]}" -6 "http://[2001:db8::1]:$HTTP/"
check "nor by IPv6" not mentions hello
try cloche run "${granted[@]}" -- "${get[@]}" "http://127.0.0.1:$HTTP/"
check "the host's loopback is not the sandbox's" not exits 0
check "the servers heard of none of it" not heard 'other.test\|127.0.1.2\|GET'
cat > "$WORK/udp.py" << 'END'
import errno, socket
for family, to in ((socket.AF_INET, ("198.18.0.7", 443)), (socket.AF_INET6, ("2001:db8::1", 443)), (socket.AF_INET, ("224.0.0.251", 5353))):
    try:
        socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", to)
        print("sent")
    except OSError as error:
        print(errno.errorcode[error.errno])
for kind, protocol in ((socket.SOCK_RAW, 1), (socket.SOCK_DGRAM, 1)):
    try:
        socket.socket(socket.AF_INET, kind, protocol).sendto(b"\x08\0\0\0\0\0\0\0", ("198.18.0.7", 0))
        print("sent")
    except OSError:
        print("no")
END
chmod 644 "$WORK/udp.py"
try cloche run "${granted[@]}" -- "$PYTHON" "$WORK/udp.py"
check "UDP other than names, and ICMP, are refused at once" is "$(tr '\n' ' ' < "$OUT")" "EPERM EPERM EPERM no no "
check "and that is reported" says 'blocked: UDP to 198.18.0.7:443: only TCP and names pass'
cat > "$WORK/change.py" << 'END'
import socket, struct
def ask(protocol, kind, body):
    try:
        link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        link.settimeout(5)
        link.send(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body)
        return struct.unpack_from("=i", link.recv(4096), 16)[0]
    except OSError as error:
        return -error.errno
print(ask(12, 10 << 8 | 2, struct.pack("=BBHHH", 1, 0, 0, 11, 1) + b"cloche\0\0") < 0)  # NFT_MSG_DELTABLE
print(ask(0, 25, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0)) < 0)  # RTM_DELROUTE
END
chmod 644 "$WORK/change.py"
try cloche run "${granted[@]}" -- "$PYTHON" "$WORK/change.py"
check "nobody inside changes rules or routes" is "$(tr '\n' ' ' < "$OUT")" "True True "

# --- Rules of a running sandbox change.
cloche new --name box > "$T/log" 2>&1
in_box() { cloche exec box -- "${get[@]}" "http://$1:$HTTP/"; }
try in_box granted.test
check "a new one reaches nothing" not exits 0
try cloche net box
check "and says so" mentions 'none: nothing is granted'
try cloche net box allow "http://granted.test:$HTTP" "tcp://127.0.1.1:$HTTP"
check "granted while it runs" mentions "r1  *allow  *http  *http://granted.test:$HTTP"
try in_box granted.test
check "it is reached" prints "hello from 127.0.1.1"
try cloche net box deny "http://granted.test:$HTTP"
try in_box granted.test
check "deny goes over allow" not mentions hello
try cloche net box forget r3
try in_box granted.test
check "a rule is forgotten" prints "hello from 127.0.1.1"
try cloche net box allow "http://late.test:$HTTP" "tcp://127.0.1.3:$HTTP" --for 4s
try in_box late.test
check "for a time" prints "hello from 127.0.1.3"
late_is_over() { ! cloche exec -q box -- "${get[@]}" "http://late.test:$HTTP/" | grep -q hello; }
check "and then no more" until_true late_is_over
try cloche net box --json
check "it is one object of JSON" is_json
refused not_found net box forget r77
refused invalid net box allow 'http://'
refused invalid new --allow 'two words here'
refused denied net box allow prod.test:443
refused denied new --allow tcp://prod.wild.test:1
cloche net box allow "http://*.wild.test:$HTTP" "tcp://127.0.1.4:$HTTP" "tcp://127.0.1.5:$HTTP" > "$T/log" 2>&1
try in_box a.wild.test
check "a wildcard" prints "hello from 127.0.1.4"
: > "$LOG"
try in_box prod.wild.test
check "does not open production" not mentions hello
check "which nobody asked for" not heard 'GET prod'

# --- Rules survive a restart.
cloche stop box > "$T/log"
try in_box granted.test
check "after stop and start" prints "hello from 127.0.1.1"
cloche snapshot box --name one > "$T/log"
cloche rollback box one > "$T/log" 2>&1
try in_box granted.test
check "after a rollback" prints "hello from 127.0.1.1"
try cloche fork box --json
fork=$(field 0.id)
try cloche exec "$fork" -- "${get[@]}" "http://granted.test:$HTTP/"
check "a fork has them" prints "hello from 127.0.1.1"
try cloche exec "$fork" -- "${get[@]}" "http://other.test:$HTTP/"
check "and no more" not exits 0
try cloche exec --fresh box -- "${get[@]}" "http://granted.test:$HTTP/"
check "and a fresh twin" prints "hello from 127.0.1.1"
restart_daemon
try in_box granted.test
check "after the daemon" prints "hello from 127.0.1.1"

# --- The log.
try cloche net box log --json
check "every connection is a record" mentions '"name":"granted.test".*"decision":"allow"'
check "and every refusal" mentions '"decision":"deny"'
cloche exec box -- "$PYTHON" -c "import socket, time
one = socket.create_connection(('198.18.0.7', 8))
time.sleep(0.3)" > "$T/log" 2>&1
try cloche net box log --json
check "with the process that wanted it" mentions '"address":"198.18.0.7".*"process":"python3'
cloche new --name brief --allow "http://granted.test:$HTTP" --allow "tcp://127.0.1.1:$HTTP" > "$T/log" 2>&1
for i in 1 2 3 4 5 6 7 8; do
  cloche exec brief -- "${get[@]}" "http://granted.test:$HTTP/"
  cloche exec brief -- "${get[@]}" "http://unknown$i.test/"
done > "$T/log" 2>&1
try cloche net brief log --json
check "of those that end at once, too" is "$(grep -c '"process":"curl"' "$OUT") of $(wc -l < "$OUT")" '16 of 16'
cloche rm brief > "$T/log" 2>&1
try cloche net box log
check "for people, too" mentions "allow  http .*granted.test:$HTTP"
cloche net box log --follow > "$T/followed" 2>&1 &
follower=$!
in_box granted.test > "$T/log"
check "it can be followed" until_true grep -q granted.test "$T/followed"
cloche rm "$fork" > "$T/log"
try cloche show box
check "show tells of the rules" mentions 'network .*rules'
try cloche explain --differences "${granted[@]}"
check "so does explain" mentions 'loopback and what was granted'

# --- kill -9 of cloche-egress.
victim=$(egress_pid)
check "it is one process" is "$(wc -w <<< "$victim")" 1
check "of nobody important" test "$(stat -c %u "/proc/$victim")" != 0
check "with no rights at all" is "$(sed -n 's/^Cap[PEB][a-z]*:	//p' "/proc/$victim/status" | sort -u)" 0000000000000000
: > "$LOG"
cloche exec box -- "${get[@]}" -m 60 -o /dev/null "http://granted.test:$HTTP/slow" > "$T/slow" 2>&1 &
slow=$!
until_true heard 'GET .* /slow'
kill -9 "$victim"
wait "$slow"
status=$?
check "its death cuts what is open" not exits 0
check "the running command reports it" grep -q 'cloche-egress died: its connections were cut' "$T/slow"
check "it is back" until_true in_box granted.test
try in_box granted.test
check "and the sandbox never noticed" prints "hello from 127.0.1.1"
try in_box other.test
check "nor is anything more open" not exits 0
try cloche net box
check "net tells of it" mentions 'died 1 time, last: cloche-egress was killed'
try cloche status
check "so does status" mentions 'egress .*deaths=1'

# --- A server inside.
cloche exec box -- "$PYTHON" -m http.server 3000 --bind 127.0.0.1 --directory /etc > "$T/log" 2>&1 &
as_caller "$BIN/cloche" port box 3000 --public-as 0 > "$T/port" 2>&1 &
until_true grep -q leads "$T/port"
at=$(sed -n 's/^\(127.0.0.1:[0-9]*\) leads.*/\1/p' "$T/port")
check "a port leads inside" until_true curl -sf -m 20 -o "$T/passwd" "http://$at/passwd"
check "to the byte" cmp "$T/passwd" /etc/passwd
curl -s --no-progress-meter -Z -m 20 -w '%{http_code}\n' $(printf -- "-o /dev/null http://$at/passwd?%s " 1 2 3 4 5 6 7 8) > "$T/codes" 2> "$T/log"
check "many at once" is "$(sort -u "$T/codes")" 200
check "on loopback only" is "$(ss -Hltn "sport = :${at#*:}" | awk '{print $4}')" "$at"
try cloche port box 0
check "port 0 is none" not exits 0
cloche stop box > "$T/log"
check "it ends with the sandbox" until_true grep -q 'is stopped' "$T/port"

# --- Nothing is left.
id=$(cloche show box --json | sed -n 's/.*"id":"\(sb_[a-z0-9]*\)".*/\1/p')
cloche rm box > "$T/log"
wait "$follower"
status=$?
check "following ends with the sandbox" exits 0
nobody_guards() { [ -z "$(egress_pid)" ]; }
check "cloche-egress goes with the last sandbox" until_true nobody_guards
check "and so does the log" is "$(ls "$STATE/daemon/logs" | grep -c "^$id-")" 0
