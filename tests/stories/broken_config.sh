#!/usr/bin/env bash
# A change of its configuration keeps a server from starting: in a sandbox, and a rollback starts it again.
. "$(dirname "$0")/story.sh"
[ -n "$(PATH=$SAFE_PATH command -v redis-server)" ] || skip "no redis-server"

port=6399  # of the sandbox's own loopback; a service outside on the same port is not disturbed
as_caller sh -c 'mkdir data && cat > redis.conf' << END
bind 127.0.0.1
port $port
dir $WORK/data
save ""
appendonly yes
appendfsync always
maxmemory 64mb
END
listeners() { grep -c "^ *[0-9]*: 0100007F:$(printf %04X $port) " /proc/net/tcp; }
outside=$(listeners)
watch_reality "$WORK" "$CALLER_HOME"

ask() { inside box "redis-cli -p $port $*"; }
answers() { [ "$(ask ping)" = PONG ]; }
try cloche new --name box
start() { cloche exec -d box -- redis-server redis.conf > "$OUT" 2> "$ERR"; }
start
check "with its configuration the server comes up" until_true answers
check "and stores values" is "$(ask set colour green)" OK
try cloche snapshot box --name good
check "a snapshot while it runs" exits 0
check "the server continues" is "$(ask get colour)" green

ask set colour grey > "$OUT"
inside box "redis-cli -p $port shutdown; sed -i 's/^maxmemory .*/maxmemory plenty/' redis.conf" > "$OUT" 2> "$ERR"
check "it is stopped for a new configuration" not answers
try cloche exec box -- redis-server redis.conf
check "with which it does not start" exits 1
check "and says why" says 'maxmemory'
check "nobody answers" not answers
try cloche diff box --against good --patch redis.conf
check "the diff shows the line" mentions '^+maxmemory plenty'

try cloche rollback box good
check "rollback" exits 0
start
check "the server comes up again" until_true answers
check "with the data of that moment" is "$(ask get colour)" green
check "and takes more" is "$(ask set colour blue)" OK
check "reality has not changed" reality_is_as_it_was
check "nor does anybody new listen there" is "$(listeners)" "$outside"
