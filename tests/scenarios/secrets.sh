#!/usr/bin/env bash
# Secrets that sandboxes use and never hold. TLS servers of the test judge what arrives there; everything that a sandbox could
# read, and all that we keep, is searched for the value.
. "$(dirname "$0")/../harness/lib.sh"
. "$SCRIPT_DIR/../harness/world.sh"
HANG_SECONDS=180
# In no file, no argument, no environment: they would be part of what sandboxes are copies of.
draw() { "$PYTHON" -c 'import secrets; print("ghp_" + secrets.token_hex(18), end="")'; }
VALUE=$(draw) NEXT=$(draw)

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=Test CA' -keyout "$T/ca.key" \
  -out "$T/ca.pem" 2> "$T/log"
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=api.test -keyout "$SERVERS/key.pem" \
  -out "$T/request.pem" 2> "$T/log"
openssl x509 -req -in "$T/request.pem" -CA "$T/ca.pem" -CAkey "$T/ca.key" -days 2 -out "$SERVERS/cert.pem" \
  -extfile <(echo 'subjectAltName=DNS:api.test,DNS:git.test,DNS:npm.test,DNS:other.test') 2> "$T/log"
git init -q --bare "$SERVERS/repo.git"
VALUES=$T/values
mkfifo "$VALUES"
begin_world secret_servers.py port "$(printf '127.0.2.%s %s.test\n' 1 api 2 git 3 npm 4 other)"
printf '%s\n' "$VALUE" >&9
await_world
read -r PORT < "$READY"
chmod 644 "$T/ca.pem"
CALLER_ENV=("${WORLD_ENV[@]}" CLOCHE_PRODUCTION_HOSTS=/dev/null SSL_CERT_FILE="$T/ca.pem")
restart_daemon
set_secret() { printf '%s\n' "$VALUE" | cloche secret set "$@"; }
# The servers' names resolve to loopback, which must be granted besides.
near=(--allow "tcp://127.0.2.1:$PORT" --allow "tcp://127.0.2.2:$PORT" --allow "tcp://127.0.2.3:$PORT" --allow "tcp://127.0.2.4:$PORT")

# --- Setting one.
try set_secret token --host "api.test:$PORT"
check "a secret is set from standard input" exits 0
check "and says how it is granted" says "kept token: for api.test:$PORT; grant it with --secret token (TOKEN inside)"
printf 'hunter22\n' | cloche secret set weak --host api.test 2> "$ERR"
check "a value that could be guessed is kept with a warning" says 'warning: the value of weak could be guessed'
check "which does not show it" not says hunter
cloche secret rm weak 2> "$T/log"
try cloche secret set token "$NEXT" --host api.test
check "a value on the command line is refused" says 'seen by every user'
check "and not repeated" not says "$NEXT"
try cloche secret set "token=$NEXT" --host api.test
check "in no form" says 'seen by every user'
broken() { printf "$1" | cloche secret set broken --host api.test > "$OUT" 2> "$ERR"; status=$?; }
broken 'a-value-with\r\nX-More: header'
check "one that would be two headers is refused" says 'line breaks'
broken 'short'
check "and one that could not be redacted" says 'could not be redacted'
broken ''
check "and none" not exits 0
try set_secret lost
check "a secret belongs to a host" says 'host is missing'
try set_secret lost --host '*.test'
check "to one host" says 'not a host it could belong to'
try cloche secret ls --json
check "it is listed" field_is 0.name token
check "for its host" field_is 0.hosts.0 "api.test:$PORT"
try cloche secret ls
check "for people, too" mentions "token  *api.test:$PORT"
check "the vault is its owner's alone" is "$(stat -c %a "$STATE"/daemon/vault.*  | sort -u)" 600

# --- The sandbox has a placeholder; the server gets the value.
use='test -n "$TOKEN" && curl -sS -m 30 -H "Authorization: Bearer $TOKEN"'
try cloche run --secret token "${near[@]}" -- sh -c "$use https://api.test:$PORT/bearer"
check "curl with a bearer token" prints right
check "the server got the value" heard '^right GET api.test /bearer'
try cloche run --secret token "${near[@]}" -- sh -c 'echo "$TOKEN"'
check "inside there is something that looks like it" mentions '^ghp_cloche[A-Za-z0-9]*$'
check "as long as it" is "$(wc -c < "$OUT")" $((${#VALUE} + 1))
first=$(cat "$OUT")
try cloche run --secret token:OTHER "${near[@]}" -- sh -c 'echo "$OTHER"'
check "another one in each sandbox, in the variable one wants" not prints "$first"
try cloche run --secret token "${near[@]}" -- sh -c "$use --cacert $T/ca.pem https://api.test:$PORT/bearer"
check "TLS ends at the border: the server's own CA does not vouch for it" not mentions right
: > "$LOG"
try cloche run --secret token "${near[@]}" --allow "other.test:$PORT" -- sh -c "$use --cacert $T/ca.pem https://other.test:$PORT/bearer"
check "towards another host nothing is put in" prints wrong
check "which got what stands for it" heard '^wrong GET other.test'
try cloche run --secret token "${near[@]}" --allow "GET https://other.test:$PORT" -- sh -c "$use https://other.test:$PORT/bearer"
check "not even where requests are read" prints wrong
try cloche run --secret token "${near[@]}" --allow "other.test:$PORT" -- sh -c "$use -H 'Host: other.test:$PORT' https://api.test:$PORT/bearer"
check "nor by another Host" not mentions right
: > "$LOG"
try cloche run --secret token "${near[@]}" -- sh -c "$use \"https://api.test:$PORT/\$TOKEN?key=\$TOKEN\" -d \"\$TOKEN\""
check "nor where it was not declared: path, query, body" not heard elsewhere
refused not_found run --secret nothing -- true
refused invalid run --secret 'a b' -- true
set_secret second --host "api.test:$PORT" --env TOKEN 2> "$T/log"
refused conflict new --secret token --secret second
cloche secret rm second > "$T/log" 2>&1

# --- Secrets in answers are redacted.
try cloche run --secret token "${near[@]}" -- sh -c "$use -i https://api.test:$PORT/echo"
check "an echo is redacted" mentions '<Bearer \*\*\*\*'
check "in headers" mentions '^X-Echo: Bearer \*\*\*'
try cloche run --secret token "${near[@]}" -- sh -c "test -n \"\$TOKEN\" && curl -sS -m 30 -i -u \"user:\$TOKEN\" https://api.test:$PORT/echo"
check "in the base64 of basic auth" mentions '<Basic [A-Za-z0-9]*\*\*\*\*'
try cloche run --secret token "${near[@]}" -- sh -c "$use -i https://api.test:$PORT/chunked"
check "in chunks of a byte" mentions '<Bearer \*\*\*\*'
check "and in no trailer" not mentions Trailer
try cloche run --secret token "${near[@]}" -- sh -c "$use -i https://api.test:$PORT/redirect"
check "in a redirect" mentions 'https://other.test/?key=\*\*\*'
try cloche run --secret token "${near[@]}" -- sh -c "$use --compressed -i https://api.test:$PORT/compressed"
check "an answer that is compressed all the same is refused" mentions 'HTTP/1.1 502'

# --- The tools that people have tokens for.
set_secret git-token --host "git.test:$PORT" --in basic --env GIT_TOKEN 2> "$T/log"
set_secret npm --host "npm.test:$PORT" --env NPM_TOKEN --like npm_ 2> "$T/log"
set_secret places --host "api.test:$PORT" --in query,json 2> "$T/log"
cloche new --name box --secret git-token --secret npm --secret token --secret places "${near[@]}" > "$T/log" 2>&1
box() { cloche exec -q box -- "$@"; }
: > "$LOG"
helper='!f() { echo username=agent; echo "password=$GIT_TOKEN"; }; f'
try box sh -c "cd && git init -q one && cd one && git config user.name a && git config user.email a@test && echo hello > file &&
  git add . && git commit -qm first && git -c credential.helper='$helper' push -q https://git.test:$PORT/repo.git HEAD:refs/heads/main"
check "git pushes over HTTPS with a token" exits 0
try box sh -c "cd && git -c credential.helper='$helper' clone -q -b main https://git.test:$PORT/repo.git two && cat two/file"
check "and clones" prints hello
check "the server knew it" heard '^right POST git.test'
try box sh -c "cd && git clone -q -b main \"https://agent:\$GIT_TOKEN@git.test:$PORT/repo.git\" three && cat three/file"
check "with the token in the URL, too" prints hello
: > "$LOG"
try box sh -c "mkdir -p ~/js && cd ~/js && printf '%s\n' 'registry=https://npm.test:$PORT/' '//npm.test:$PORT/:_authToken=\${NPM_TOKEN}' > .npmrc &&
  npm install --no-audit --no-fund --loglevel=error mine && node -p 'require(\"mine\")'"
check "npm with a private registry" mentions '^42$'
check "its registry knew the token" heard '^right GET npm.test /mine/-/mine-1.0.0.tgz'
try box "$PYTHON" -c "import os, urllib.request as u
print(u.urlopen(u.Request('https://api.test:$PORT/bearer', headers={'Authorization': 'Bearer ' + os.environ['TOKEN']})).read().decode(), end='')"
check "python" prints right
try box node -e "require('https').get('https://api.test:$PORT/bearer', {headers: {authorization: 'Bearer ' + process.env.TOKEN}}, r => r.pipe(process.stdout))"
check "node" prints right
try box sh -c "curl -sS -m 30 https://api.test:$PORT/query?key=\$PLACES"
check "in a query" prints right
try box sh -c "curl -sS -m 30 -H 'Content-Type: application/json' -d '{\"key\": \"'\$PLACES'\"}' https://api.test:$PORT/json"
check "in a JSON body" prints right

# --- Nowhere but in the vault, and there encrypted. (Files older than this test cannot hold it, and
# /tmp may be large. The output goes into a file there, too, which must not be read while it is
# written.)
holds_value() { grep -qaF -f <(printf '%s\n' "$VALUE" "$(printf %s "$VALUE" | base64)") "$@"; }
box sh -c 'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; find ~ /tmp /dev/cloche /etc/ssl -xdev -type f -cmin -60 -size -1000k ! -name inside -exec cat {} + ' \
  > "$T/inside" 2> "$T/log"
check "the search finds what is there" holds_value <(printf 'x%sx' "$VALUE")
check "it sees what is inside" grep -qa 'ghp_cloche' "$T/inside"
check "the sandbox never held it" not holds_value "$T/inside"
try box sh -c "cat '$STATE/daemon/vault.key' '$STATE/daemon/vault.json'"
check "nor sees the vault" prints_nothing
cloche snapshot box --name one > "$T/log" 2>&1
sync -f "$STATE"
check "it is not in what the daemon keeps: uppers, snapshots, registry, logs" not holds_value -r "$STATE"
cloche ls --json > "$T/answers"; cloche show box --json >> "$T/answers"; cloche secret ls --json >> "$T/answers"
cloche net box --json >> "$T/answers"; cloche net box log --json >> "$T/answers"; cloche explain --secret token >> "$T/answers"
check "nor in any answer" not holds_value "$T/answers"
for pid in $(our_processes); do cat "/proc/$pid/environ" "/proc/$pid/cmdline"; done > "$T/ours" 2> /dev/null
check "nor in the environment or the arguments of a process" not holds_value "$T/ours"
undumpable() { is "$(for pid in $(our_processes); do case $(readlink "/proc/$pid/exe") in */cloched | */cloche-egress)
  stat -c %u "/proc/$pid/environ"; sed -n 's/^Max core file size *\([0-9]*\).*/\1/p' "/proc/$pid/limits" ;; esac; done | sort -u)" 0; }
check "and no process that has it leaves a core" undumpable

# --- Reports about it.
try cloche net box
check "net says which rule carries it" mentions "https .*git.test:$PORT .*git-token"
try cloche show box
check "show lists them" mentions 'secrets .*git-token as GIT_TOKEN'
try cloche net box log --json
check "the log says where it was used" mentions '"name":"npm.test".*"secret":"npm"'
counted() { cloche secret ls --json > "$OUT"; [ "$(field 3.uses)" -ge 3 ]; }
check "uses are counted" until_true counted

# --- Another value, at once; the same placeholder.
before=$(box sh -c 'echo $TOKEN')
printf '%s\n' "$NEXT" >&9
until_true heard rotated
try box sh -c "$use https://api.test:$PORT/bearer"
check "the server wants another value" prints wrong
for name in token git-token; do printf '%s\n' "$NEXT" | cloche secret rotate $name > "$T/log" 2>&1; done
VALUE=$NEXT
try box sh -c "$use https://api.test:$PORT/bearer"
check "rotated, it goes there at once" prints right
try box sh -c "curl -sS -m 30 -u \"x:\$GIT_TOKEN\" https://git.test:$PORT/basic"
check "and its neighbour's" prints right
check "its placeholder stays" is "$(box sh -c 'echo $TOKEN')" "$before"
try cloche fork box --json
fork=$(field 0.id)
try cloche exec -q "$fork" -- sh -c "$use https://api.test:$PORT/bearer"
check "a fork has the grant" prints right
check "and its parent's placeholder, for what is in files" is "$(cloche exec -q "$fork" -- sh -c 'echo $TOKEN')" "$before"
cloche rm "$fork" > "$T/log"

# --- It outlives crashes.
kill -9 $(egress_pid)
again() { [ "$(box sh -c "$use https://api.test:$PORT/bearer")" = right ]; }
check "of cloche-egress" until_true again
restart_daemon
try box sh -c "$use https://api.test:$PORT/bearer"
check "and the daemon's end" prints right
check "which leaves the counts" counted

# --- Values that were sent stay redacted, whatever became of the secret, its rule or the processes.
cloche new --name redacted --secret token "${near[@]}" --allow "GET https://api.test:$PORT" > "$T/log" 2>&1
redacted() { cloche exec -q redacted -- "$@"; }
told=(curl -sS -m 30 "https://api.test:$PORT/tell")
try redacted "${told[@]}"
check "a server that tells a value it knows is redacted" mentions '<\*\*\*\*'
rule=$(cloche net redacted --json | "$PYTHON" -c 'import json,sys; print(next(r["id"] for r in json.load(sys.stdin)["rules"] if r.get("secret")))')
cloche net redacted forget "$rule" > "$T/log" 2>&1
cloche net redacted allow "api.test:$PORT" > "$T/log" 2>&1
try redacted "${told[@]}"
check "when its rule is gone" mentions '<\*\*\*\*'
kill -9 $(egress_pid)
tells() { redacted "${told[@]}" > "$OUT" 2> "$ERR"; [ -s "$OUT" ]; }
until_true tells
check "when cloche-egress died" mentions '<\*\*\*\*'
draw | cloche secret rotate token > "$T/log" 2>&1
kill -9 $(egress_pid)
until_true tells
check "the old value, too" mentions '<\*\*\*\*'
restart_daemon
try redacted "${told[@]}"
check "and after the daemon" mentions '<\*\*\*\*'
cloche stop redacted > "$T/log"
cloche secret rm token > "$T/log" 2>&1
try redacted "${told[@]}"
check "after a stop, of a secret that was removed" mentions '<\*\*\*\*'
grep -c '"retired"' "$STATE/daemon/vault.json" > "$T/retired"
check "the vault keeps it for that" test "$(cat "$T/retired")" -ge 1
set_secret token --host "api.test:$PORT" 2> "$T/log"
cloche net box allow "api.test:$PORT" --secret token > "$T/log" 2>&1
cloche rm redacted > "$T/log"

# --- Granted and taken while it runs.
cloche new --name late "${near[@]}" > "$T/log" 2>&1
late() { cloche exec -q late -- "$@"; }
late true
try late sh -c "$use https://api.test:$PORT/bearer"
check "without a grant there is nothing" not exits 0
refused denied net late allow "other.test:$PORT" --secret token
try cloche net late allow "api.test:$PORT" --secret token
check "granted while it runs" mentions 'token  *TOKEN  *granted'
try late sh -c "$use https://api.test:$PORT/bearer"
check "it works" prints right
rule=$(cloche net late --json | "$PYTHON" -c 'import json,sys; print(next(r["id"] for r in json.load(sys.stdin)["rules"] if r.get("secret")))')
try cloche net late forget "$rule"
try late sh -c 'echo "<$TOKEN>"'
check "forgotten with its rule" prints '<>'
cloche rm late > "$T/log"
: > "$LOG"
try cloche secret rm token
check "removed" exits 0
try box sh -c "$use -i https://api.test:$PORT/bearer"
check "its requests are refused, readably" mentions 'HTTP/1.1 403'
check "with the reason" mentions 'secret token, which no longer exists'
check "and what stood for it goes nowhere" not heard .
set_secret token --host "api.test:$PORT" 2> "$T/log"
try box sh -c "$use -i https://api.test:$PORT/bearer"
check "one of the same name is another, and was not granted" mentions 'HTTP/1.1 403'
try cloche net box allow "api.test:$PORT" --secret token
try box sh -c "$use https://api.test:$PORT/bearer"
check "until it is" prints right
set_secret token --host "git.test:$PORT" 2> "$T/log"
: > "$LOG"
try box sh -c "$use https://api.test:$PORT/bearer"
check "set for other hosts it leaves the old ones" not heard right

# --- Redaction has a bound: 96 KiB of values for a sandbox, old ones and new ones.
long() { "$PYTHON" -c 'import secrets, sys; print(secrets.token_hex(4096)[: int(sys.argv[1])], end="")' "$1"; }
rotate_from() { cloche secret rotate "$1" < "$2"; }
rotate_long() { long "$1" > "$T/value" && rotate_from "$2" "$T/value"; }
set_long() { cloche secret set long1 --host "api.test:$PORT" < "$T/long1"; }
granted=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
  long 8192 > "$T/long$i"
  cloche secret set "long$i" --host "api.test:$PORT" < "$T/long$i" 2> "$T/log"
  granted+=(--secret "long$i")
done
printf '%s\n' "$VALUE" | cloche secret set ninth --host "api.test:$PORT" 2> "$T/log"
refused exhausted new "${granted[@]}" --secret ninth
check "it says what to do" mentions 'cloche new'
rotate_long 4000 long12 2> "$T/log"
cp "$T/value" "$T/before"
try cloche new --name full "${granted[@]}" --secret ninth "${near[@]}"
check "as much as that is granted" exits 0
told_in() { cloche exec -q full -- curl -sS -m 30 "https://api.test:$PORT/tell"; }
try told_in
check "and redacted" mentions '<\*\*\*\*'
echoed() { cloche exec -q full -- curl -sS -m 30 -H "Authorization: Bearer $(cat "$T/$1")" "https://api.test:$PORT/echo"; }
try echoed long1
check "long ones, too" mentions ' \*\{200\}'
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$(egress_pid)/status"; }
[ -d "$REPORTS" ] || check "in little memory" test "$(rss)" -lt 65536
try rotate_long 8192 long12
check "a value that is too long for a sandbox that has it is refused" says 'more than the 98304'
check "with the sandbox to remove" says 'cloche rm sb_'
try rotate_from long12 "$T/before"
check "the same one is not" exits 0
try rotate_long 4000 long12
check "nor one that fits beside it" exits 0
try rotate_long 4000 long12
check "until there are too many old ones" says 'more than the 98304'
set_anew() { long 8192 > "$T/value" && cloche secret set "$1" --host "api.test:$PORT" < "$T/value"; }
try set_anew long12
check "nor is it set anew" says 'set secret long12 of sb_.*more than the 98304'
try rotate_long 8192 nothing
check "one that is not there has no other value" says 'no secret is called nothing'
long 200 > "$T/value"
cloche secret set more --host "api.test:$PORT" < "$T/value" 2> "$T/log"
refused exhausted net full allow "api.test:$PORT" --secret more
check "nor is another granted while it runs; it says what to do" mentions 'cloche new makes another'
try cloche net full --json
check "and there is nothing of it" not mentions '"more"'
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cloche secret rm "long$i" > "$T/log" 2>&1; done
for rule in $(cloche net full --json | "$PYTHON" -c 'import json,sys; print(*(r["id"] for r in json.load(sys.stdin)["rules"] if r.get("secret")))'); do
  cloche net full forget "$rule" > "$T/log" 2>&1
done
cloche net full allow "api.test:$PORT" > "$T/log" 2>&1
cloche stop full > "$T/log"
try echoed long1
check "all that were removed stay redacted" mentions ' \*\{200\}'
# As a daemon that knew no bound could have left it.
cloche new --name spare --secret more "${near[@]}" > "$T/log" 2>&1
stop_daemon
"$PYTHON" - "$STATE/daemon/registry.db" << 'END'
import json, sqlite3, sys
registry = sqlite3.connect(sys.argv[1])
rows = {name: (id, json.loads(record)) for id, name, record in registry.execute("SELECT id, name, record FROM sandboxes")}
(id, full), (_, spare) = rows["full"], rows["spare"]
full["request"]["network"]["masked"] += spare["request"]["network"]["masked"]
registry.execute("UPDATE sandboxes SET record = ? WHERE id = ?", (json.dumps(full), id))
registry.commit()
registry.close()
END
$starter ls > "$T/log" 2>&1
: > "$LOG"
try told_in
check "with more than is redacted it is not started again" says 'open the network of sb_.*more than the 98304'
check "with the sandbox to remove" says 'cloche rm sb_'
check "and reaches nothing" not heard .
try cloche show full --json
check "it is left as it was" field_is state stopped
cloche rm full spare > "$T/log"
try set_long
check "when the sandbox is gone there is room again" exits 0
cloche secret rm long1 > "$T/log" 2>&1
cloche secret rm ninth more > "$T/log" 2>&1

# --- Secrets of other users.
if [ "$MODE" = shared ]; then
  other=$((CALLER_UID + 1))
  other_cloche() { as_user $other "$BIN/cloche" "$@"; }
  try other_cloche secret ls --json
  check "another user does not see it" prints '[]'
  try other_cloche run --json --secret token -- true
  check "nor use it" field_is error.code not_found
  try other_cloche secret rm token --json
  check "nor remove it" field_is 0.error.code not_found
  printf 'of-somebody-else-0123456789\n' | other_cloche secret set git-token --host "git.test:$PORT" 2> "$T/log"
  try box sh -c "test -n \"\$GIT_TOKEN\" && curl -sS -m 30 -u \"x:\$GIT_TOKEN\" https://git.test:$PORT/basic"
  check "another user's secret of the same name is not used" prints right
fi

# --- A vault that somebody changed.
stop_daemon
cp -p "$STATE/daemon/vault.json" "$T/vault.json"
sed -i 's/"git.test/"not.test/' "$STATE/daemon/vault.json"
cp -p "$STATE/daemon/vault.json" "$T/changed.json"
$starter ls > "$T/log" 2>&1
try cloche secret ls
check "is refused" says 'was changed by somebody else'
refused unavailable run --secret npm -- true
try cloche run -- echo fine
check "sandboxes without secrets do not care" prints fine
try set_secret more --host api.test
check "nothing is written over it" cmp -s "$T/changed.json" "$STATE/daemon/vault.json"
stop_daemon
cp -p "$T/vault.json" "$STATE/daemon/vault.json"
$starter ls > "$T/log" 2>&1
try cloche secret ls
check "as it was it is good" mentions npm
cloche rm box > "$T/log" 2>&1
