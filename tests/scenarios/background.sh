#!/usr/bin/env bash
# Commands in the background: started, watched, found again, ended.
. "$(dirname "$0")/../harness/lib.sh"

try cloche new --name box
try cloche show box --json
check "show --json has the sandbox" field_is name box

try cloche exec -d box -- sh -c 'echo ready; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 8'
second=$(cat "$OUT")
seen() { cloche logs box "$second" | grep -q "$1"; }
check "logs shows what was written so far" until_true seen ready
try cloche logs box "$second"
check "and nothing else" prints ready
cloche logs -f box "$second" > "$T/follow" 2> "$T/follow.err" &
follower=$!
check "logs -f begins with what is there" until_true grep -q ready "$T/follow"
try cloche exec box -- touch go
wait $follower
check "logs -f ends with the command and has all of it" is "$(cat "$T/follow")" "ready
done"
try cloche logs --json box "$second"
check "logs --json has the state" field_is state exited
check "logs --json has the exit status" field_is exit_status 8
check "logs --json has the output" field_is stdout $'ready\ndone'
try cloche logs box
check "without an id it is the last command's" exits 0
try cloche logs box 999
check "an unknown command is not found" exits 3
try cloche logs no-such
check "an unknown sandbox is not found" exits 3

try cloche exec box -- sh -c 'echo to-out; echo to-err >&2'
try cloche exec -d box -- sh -c 'echo to-out; echo to-err >&2'
third=$(cat "$OUT")
both() { cloche logs box "$third" | grep -q to-err && cloche logs box "$third" | grep -q to-out; }
until_true both
try cloche logs --stream stdout box "$third"
check "--stream stdout is that alone" prints to-out
try cloche logs --stream stderr box "$third"
check "--stream stderr is that alone" prints to-err

try cloche exec -d box -- no-such-command
check "a background command that does not exist is an error" not exits 0
try cloche exec -d --json box -- sleep 1000
check "--json: the command runs" field_is state running
check "--json: it has an id" not field_is id null
sleeping=$(field id)
try cloche stop box
try cloche logs --json box "$sleeping"
check "after stop it is ended" not field_is state running
check "with the status of a killed command" field_is exit_status 137

# A client that is killed does not end a background command; a foreground one ends with its client.
try cloche exec -d box -- sleep 1000
background=$(cat "$OUT")
as_caller "$BIN/cloche" exec box -- sleep 2000 > "$T/fg.out" 2>&1 &
runs_sleep() { cloche exec box -- sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "' | grep -q "sleep $1"; }
check "two commands run at once" until_true runs_sleep 2000
client=$(pgrep -f "^$BIN/cloche exec box -- sleep 2000" | tail -1)
kill -9 "$client"
wait 2> /dev/null
gone() { ! runs_sleep 2000; }
check "a foreground command ends when its client is killed" until_true gone
check "the background command continues" runs_sleep 1000
try cloche logs --json box "$background"
check "and is listed as running" field_is state running
try cloche rm box
check "rm ends everything" exits 0
