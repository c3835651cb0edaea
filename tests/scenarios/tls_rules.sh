#!/usr/bin/env bash
# Rules about requests hold inside TLS: the border ends it, with a CA that only one sandbox trusts.
# Servers on the host's loopback judge.
. "$(dirname "$0")/../harness/lib.sh"
. "$SCRIPT_DIR/../harness/world.sh"
HANG_SECONDS=120
printf '%s\n' 'api.test 127.0.1.1' 'self.test 127.0.1.2' 'wrong.test 127.0.1.3' 'expired.test 127.0.1.4' 'plain.test 127.0.1.5' \
  'late.test 127.0.1.6' > "$SERVERS/names"

# --- Two CAs of the world, the second of which is trusted later, and their servers.
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2> "$T/log"; }
for ca in world late; do
  new_key "$T/$ca.key"
  openssl req -x509 -new -key "$T/$ca.key" -out "$T/$ca.pem" -days 5 -subj "/CN=The $ca authority" 2> "$T/log"
done
printf '%s\n' '[ca]' 'default_ca=it' '[it]' "database=$T/index" "new_certs_dir=$T" 'default_md=sha256' 'policy=any' \
  'rand_serial=yes' 'copy_extensions=copy' 'unique_subject=no' '[any]' 'commonName=supplied' > "$T/ca.conf"
: > "$T/index"
# certify ADDRESS NAME CA [END]
certify() {
  local at=$SERVERS/$1
  new_key "$at.key"
  openssl req -new -key "$at.key" -subj "/CN=$2" -addext "subjectAltName=DNS:$2" -out "$at.csr" 2> "$T/log"
  openssl ca -batch -config "$T/ca.conf" -cert "$T/$3.pem" -keyfile "$T/$3.key" -in "$at.csr" -out "$at.crt" -notext \
    -startdate 20200101000000Z -enddate "${4:-20990101000000Z}" 2> "$T/log" || cat "$T/log"
  cat "$at.crt" "$at.key" > "$at.pem"
}
certify 127.0.1.1 api.test world
new_key "$SERVERS/self.key"
openssl req -x509 -new -key "$SERVERS/self.key" -out "$SERVERS/self.crt" -days 5 -subj /CN=self.test \
  -addext subjectAltName=DNS:self.test 2> "$T/log"
cat "$SERVERS/self.crt" "$SERVERS/self.key" > "$SERVERS/127.0.1.2.pem"
certify 127.0.1.3 somebody-else.test world
certify 127.0.1.4 expired.test world 20200201000000Z
certify 127.0.1.5 plain.test world
certify 127.0.1.6 late.test late
git init -q "$T/repo" && git -C "$T/repo" -c user.name=a -c user.email=a@b commit -q --allow-empty -m "over https"
mkdir -p "$SERVERS/files/v1"
git clone -q --bare "$T/repo" "$SERVERS/files/v1/repo.git" && git -C "$SERVERS/files/v1/repo.git" update-server-info

begin_world egress_servers.py ports
await_world
read -r HTTP TLS < "$READY"
CALLER_ENV=("${WORLD_ENV[@]}" CLOCHE_PRODUCTION_HOSTS=/dev/null)
# CAs that the machine trusts beside its bundle: a user's own daemon reads them from a file of that
# user.
if [ "$MODE" = rootless ]; then
  TRUSTED=$CALLER_HOME/.config/cloche/trusted.pem
  install -d -m 755 -o "$CALLER_UID" -g "$CALLER_UID" "$CALLER_HOME/.config" "$CALLER_HOME/.config/cloche"
else
  TRUSTED=$T/trusted.pem
  CALLER_ENV+=(SSL_CERT_FILE="$TRUSTED")
fi
cp "$T/world.pem" "$TRUSTED"
chmod 644 "$T"/*.conf "$TRUSTED" "$T/world.pem"
restart_daemon
api=https://api.test:$TLS
grants=(--allow "GET https://api.test:$TLS/v1" --allow "tcp://127.0.1.1:$TLS" --allow "plain.test:$TLS" --allow "tcp://127.0.1.5:$TLS")
hello="hello from 127.0.1.1"
# Each with no settings: what the system and its variables say must do.
curl=(curl -sS -m 20)
fetch="import urllib.request as u, sys; print(u.urlopen(sys.argv[1]).read().decode(), end='')"
get="require('https').get(process.argv[1], r => { r.setEncoding('utf8'); r.on('data', d => process.stdout.write(d)) })"

# --- Granted requests, and nothing beside them.
try cloche run "${grants[@]}" -- "${curl[@]}" "$api/v1/models"
check "a GET below the prefix passes" prints "$hello"
check "the server heard it" heard "GET api.test:$TLS /v1/models"
: > "$LOG"
try cloche run "${grants[@]}" -- "${curl[@]}" -w '%{http_code}\n' -d x=1 "$api/v1/models"
check "a POST does not" mentions '^403$'
check "and says why" mentions 'blocked: .*POST'
try cloche run "${grants[@]}" -- "${curl[@]}" -w '%{http_code}\n' "$api/v2/models"
check "nor another path" mentions '^403$'
try cloche run "${grants[@]}" -- "${curl[@]}" --path-as-is -w '%{http_code}\n' "$api/v1/../v2"
check "nor one that climbs out" mentions '^40[03]$'
check "the server heard nothing of it" not heard 'POST\|/v2'
check "its owner did" says 'blocked: '

cloche new --name box "${grants[@]}" > "$T/log" 2>&1
inside() { cloche exec box -- "$@"; }
try inside "$PYTHON" -c "$fetch" "$api/v1/a"
check "python believes it" prints "$hello"
if command -v node > "$T/log"; then
  try inside node -e "$get" "$api/v1/a"
  check "node believes it" prints "$hello"
fi
if command -v javac > "$T/log"; then
  printf '%s\n' 'public class Get { public static void main(String[] words) throws Exception {' \
    'System.out.write(new java.net.URL(words[0]).openStream().readAllBytes()); System.out.flush(); } }' > "$WORK/Get.java"
  chmod 644 "$WORK/Get.java"
  try inside java "$WORK/Get.java" "$api/v1/a"
  check "java believes it" prints "$hello"
  try inside keytool -list -cacerts -storepass changeit
  check "its store is whole" mentions 'contains [0-9][0-9]* entries'
  try inside keytool -list -cacerts -storepass wrong-one
  check "which a wrong password shows" not exits 0
  try inside sh -c 'cmp /dev/cloche/cacerts "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")/lib/security/cacerts"'
  check "it is where java looks" exits 0
else
  echo "java is not installed: its trust store was not tried"
fi
try inside sh -c "git clone -q $api/v1/repo.git /tmp/clone && git -C /tmp/clone log --format=%s; rm -rf /tmp/clone"
check "git believes it" prints "over https"
try inside sh -c "echo | openssl s_client -connect api.test:$TLS -servername api.test -verify_hostname api.test 2>&1"
check "openssl believes it" mentions 'Verify return code: 0 (ok)'
check "and sees whose it is" mentions 'issuer=.*Cloche border of sb_'
try inside env -i PATH="$SAFE_PATH" curl -sS -m 20 "$api/v1/a"
check "so does what knows no variables" prints "$hello"
try cloche exec --env SSL_CERT_FILE=/dev/null box -- sh -c 'echo $SSL_CERT_FILE'
check "a variable that was named stays" prints /dev/null
try inside sh -c "echo | openssl s_client -connect plain.test:$TLS -servername plain.test 2>&1"
check "without such a rule TLS passes untouched" mentions 'issuer=.*The world authority'

# --- Servers that do not prove who they are.
for each in 'self 2 self-signed' 'wrong 3 hostname' 'expired 4 expired'; do
  read -r name number why <<< "$each"
  : > "$LOG"
  cloche net box allow "GET https://$name.test:$TLS" "tcp://127.0.1.$number:$TLS" > "$T/log" 2>&1
  try inside "${curl[@]}" -k -w '%{http_code}\n' "https://$name.test:$TLS/"
  check "$name.test is refused, whatever the program ignores" mentions '^502$'
  check "and heard no request" not heard GET
  try cloche net box log
  check "the log says why" mentions "$name.test.*certificate: .*$why"
done
cloche net box allow "GET https://late.test:$TLS" "tcp://127.0.1.6:$TLS" > "$T/log" 2>&1
try inside "${curl[@]}" -w '%{http_code}\n' "https://late.test:$TLS/"
check "an authority that this machine does not believe" mentions '^502$'
cat "$T/world.pem" "$T/late.pem" > "$TRUSTED"
late_answers() { inside "${curl[@]}" "https://late.test:$TLS/" | grep -q 'hello from 127.0.1.6'; }
check "until it does" until_true late_answers

# --- The CA.
authority() { cloche net "$1" --json > "$OUT"; field authority.sha256; }
id=$(cloche show box --json | sed -n 's/.*"id":"\(sb_[a-z0-9]*\)".*/\1/p')
kept=$STATE/daemon/authorities/$id.pem
check "its key is kept for the daemon alone" is "$(stat -c %a "$kept")" 600
try inside cat "$kept"
check "it is not to be read inside" not exits 0
secret=$(sed -n '/PRIVATE KEY/{n;n;p;q}' "$kept")  # the first line begins alike in all of them
try inside sh -c "env; cat /dev/cloche/*; grep -rsaF -- '${secret:0:40}' /dev/cloche /etc /run '$T' && echo FOUND"
check "nor is it anywhere else" not mentions "${secret:0:40}\|PRIVATE\|FOUND"
try inside sh -c 'cat /dev/cloche/ca.crt; echo x > /dev/cloche/ca.crt || rm -f /dev/cloche/ca.crt || ls /dev/cloche'
cp "$OUT" "$WORK/of-box.crt"
check "nobody inside replaces it" mentions ca-certificates.crt
try cloche diff box
check "nothing of it is a change" not mentions 'ssl\|certs\|cloche'
cloche new --name other "${grants[@]}" > "$T/log" 2>&1
try cloche exec other -- openssl verify -CAfile /dev/cloche/ca-certificates.crt "$WORK/of-box.crt"
check "another sandbox does not believe it" not exits 0
try inside openssl verify -CAfile /dev/cloche/ca-certificates.crt "$WORK/of-box.crt"
check "this one does" exits 0
check "nor do two share one" test "$(authority other)" != "$(authority box)"
try cloche net box
check "net tells for which rules" mentions 'TLS .*is ended for r1'
try cloche explain --differences "${grants[@]}"
check "explain tells of it" mentions "authority of the sandbox's own"

# --- While it runs, and afterwards.
cloche new --name later > "$T/log" 2>&1
cloche exec later -- sleep 1000 > "$T/log" 2>&1 &
try cloche exec later -- sh -c 'echo ${NODE_EXTRA_CA_CERTS-none}; ls /dev/cloche'
check "without such a rule there is no authority" prints none
cloche net later allow "plain.test:$TLS" "tcp://127.0.1.1:$TLS" > "$T/log" 2>&1
cloche net later allow "GET https://api.test:$TLS/v1" > "$T/log" 2>&1
try cloche exec later -- "${curl[@]}" "$api/v1/x"
check "a rule that comes while it runs" prints "$hello"
try cloche diff later
check "leaves no trace either" not mentions 'ssl\|certs\|cloche'
before=$(authority box)
cloche stop box > "$T/log"
try inside "${curl[@]}" "$api/v1/x"
check "after stop and start" prints "$hello"
cloche snapshot box --name one > "$T/log"
cloche rollback box one > "$T/log" 2>&1
try inside "${curl[@]}" "$api/v1/x"
check "after a rollback" prints "$hello"
try cloche exec --fresh box -- "${curl[@]}" "$api/v1/x"
check "in a fresh twin" prints "$hello"
try cloche fork box --json
fork=$(field 0.id)
try cloche exec "$fork" -- "${curl[@]}" "$api/v1/x"
check "in a fork" prints "$hello"
check "which has one of its own" test "$(authority "$fork")" != "$before"
victim=$(daemon_pid)
kill -9 "$victim"
until_true test ! -e "/proc/$victim"
$starter ls > "$T/log" 2>&1
try inside "${curl[@]}" "$api/v1/x"
check "after the daemon was killed" prints "$hello"
check "with the authority it had" is "$(authority box)" "$before"
cloche rm box other later "$fork" > "$T/log" 2>&1
check "the key goes with its sandbox" is "$(ls "$STATE/daemon/authorities")" ""

# --- A sandbox changes the paths of CA files.
cloche new --name hostile > "$T/log" 2>&1
if cloche exec hostile -- test -w /etc/ssl/certs > "$T/log" 2>&1; then
  cloche exec hostile -- sh -c 'cd /etc/ssl/certs && rm ca-certificates.crt && ln -s /etc/passwd ca-certificates.crt' > "$T/log" 2>&1
  cloche net hostile allow "GET https://api.test:$TLS/v1" "tcp://127.0.1.1:$TLS" > "$T/log" 2>&1
  try cloche exec hostile -- sh -c 'cat /dev/cloche/*'
  check "a link in its place gives nothing away" not mentions root:
  try cloche exec hostile -- "${curl[@]}" "$api/v1/x"
  check "and hurts nobody" prints "$hello"
fi
mkdir -p "$WORK/base/bin" "$WORK/base/opt/jdk/lib/security" "$WORK/base/usr/lib/jvm/old/jre/lib/security"
echo mine > "$WORK/base/opt/jdk/lib/security/cacerts"
ln -s /opt/jdk/lib/security/cacerts "$WORK/base/usr/lib/jvm/old/jre/lib/security/cacerts"
cp /bin/busybox "$WORK/base/bin/" 2> /dev/null && ln -s busybox "$WORK/base/bin/sh"
if [ -x "$WORK/base/bin/busybox" ]; then
  try cloche run --base "dir:$WORK/base" "${grants[@]}" -- /bin/sh -c 'busybox grep -c BEGIN $SSL_CERT_FILE; busybox ls /etc'
  check "a base without CAs gets those of the machine" test "$(head -1 "$OUT")" -gt 1
  try cloche run --base "dir:$WORK/base" "${grants[@]}" -- /bin/sh -c 'for each in /opt/jdk /usr/lib/jvm/old/jre; do
    busybox cmp /dev/cloche/cacerts $each/lib/security/cacerts; done && busybox head -c 4 /dev/cloche/cacerts | busybox xxd -p'
  check "a Java of its own believes it, too" prints feedfeed
fi
