#!/usr/bin/env bash
# Variables: by allowlist; what looks like a secret is dropped and named.
. "$(dirname "$0")/../harness/lib.sh"
CALLER_ENV=(LC_TIME=C.UTF-8 EDITOR=vi SECRET_TOKEN=t0ken AWS_SECRET_ACCESS_KEY=abc DB_PASSWORD=pw
  MY_SETTING=plain LD_PRELOAD= SSH_AUTH_SOCK=/tmp/agent GH_VALUE=ghp_0123456789abcdef0123456789
  DATABASE_URL=postgres://u:pass@host/db http_proxy=http://proxy:1 'MULTI=a
b')

try cloche run -- env
check "allowed variables pass" mentions '^EDITOR=vi$'
check "LC_* passes" mentions '^LC_TIME=C.UTF-8$'
for name in SECRET_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD MY_SETTING SSH_AUTH_SOCK GH_VALUE \
  DATABASE_URL http_proxy CLOCHE_STATE_DIR CLOCHE_SOCKET LD_PRELOAD; do
  check "$name does not" not mentions "^$name="
done
try cloche run --env SECRET_TOKEN --env MY_SETTING -- env
check "--env NAME passes a secret that was asked for" mentions '^SECRET_TOKEN=t0ken$'
check "--env NAME passes an unlisted one" mentions '^MY_SETTING=plain$'
check "and no other" not mentions '^DB_PASSWORD='
try cloche run --env NEW=value --env EDITOR=ed -- env
check "--env NAME=VALUE sets one" mentions '^NEW=value$'
check "--env NAME=VALUE replaces one" mentions '^EDITOR=ed$'
check "only once" is "$(grep -c ^EDITOR= "$OUT")" 1
try cloche run --env 'NL=a
b' -- sh -c 'echo "$NL"'
check "a value may hold a newline" prints 'a
b'
STRANGE=$(printf 'a\377') try cloche run -- sh -c 'echo "${STRANGE-gone}"'
check "a value that is not UTF-8 does not come in changed" prints gone
try cloche run -- echo "$(printf 'a\377')"
check "an argument that is not UTF-8 is refused, not changed" exits 125
check "and named" says 'send a\\xff: it is not UTF-8'
try cloche run --env =x -- true
check "an empty name is refused" exits 125
try cloche run --env 'BAD-NAME=x' -- env
check "a name no shell can hold does not make trouble" not mentions 'BAD_NAME'

try cloche explain
check "explain names the dropped secrets" mentions SECRET_TOKEN
check "explain names those that only look like secrets" mentions GH_VALUE
check "explain does not show their values" not mentions 't0ken'
check "explain names the ones not on the list" mentions MY_SETTING
try cloche explain --json
check "explain --json has them too" mentions SECRET_TOKEN

try cloche new --name box
try cloche exec box -- env
check "exec filters the same way" not mentions SECRET_TOKEN
check "exec passes what is allowed" mentions '^EDITOR=vi$'
try cloche exec --env MY_SETTING box -- env
check "exec --env passes what was asked for" mentions '^MY_SETTING=plain$'
try cloche new --name boxed --env MY_SETTING --env EDITOR=ed --env MINE=made
try cloche exec boxed -- env
check "new --env reaches every command" mentions '^MY_SETTING=plain$'
check "and is stronger than what the caller happens to have" mentions '^EDITOR=ed$'
try cloche exec boxed --env MINE=asked -- env
check "but weaker than what the caller asks for" mentions '^MINE=asked$'
check "which is there once" is "$(grep -c '^MINE=' "$OUT")" 1
CALLER_ENV=()
try cloche show boxed --json
check "no value of a dropped variable is kept" not mentions t0ken
