#!/usr/bin/env bash
# Sandboxes that stay: made, used, stopped, used again, removed; found by name, id and label.
. "$(dirname "$0")/../harness/lib.sh"

try cloche new --name first --agent alice --task build --label team=web --label tier=1
check "new succeeds" exits 0
id=$(cat "$OUT")
check "new prints an id and nothing else" mentions '^sb_[a-z0-9]*$'
check "new says nothing, not even which limits that nobody asked for are not enforced" says_nothing
try cloche explain
check "explain does" mentions 'inodes: only counted in memory'
try cloche exec first -- sh -c 'echo data > file; echo out; echo err >&2; exit 5'
check "exec passes the exit status" exits 5
check "exec's output is the command's alone" prints out
check "exec's errors are the command's" is "$(cat "$ERR")" err
try cloche exec first -- cat file
check "the next command sees the file" prints data
check "outside there is no such file" test ! -e "$WORK/file"
printf 'from stdin' > "$T/stdin"
in=$T/stdin try cloche exec first -- cat
check "exec passes standard input" prints 'from stdin'
mkdir "$WORK/inner" && cd "$WORK/inner" || exit 1
try cloche exec first -- pwd
check "exec starts where the caller stands" prints "$WORK/inner"
cd "$WORK" || exit 1
try cloche exec first -- sh -c 'sleep 1000 > /dev/null 2>&1 & echo $!'
pid=$(cat "$OUT")
try cloche exec first -- kill -0 "$pid"
check "leftover processes of a command are there for the next" exits 0
cloche show first --json > "$OUT" 2> "$ERR"
check "show says running" field_is state running
check "show counts the commands" field_is commands 6

try cloche stop first
check "stop succeeds" exits 0
try cloche show first --json
check "it is stopped" field_is state stopped
check "and says why" field_is reason 'stopped by its owner'
try cloche stop first
check "stopping it again is not an error" exits 0
try cloche exec first -- cat file
check "the next command starts it, and the file has survived" prints data
try cloche exec first -- kill -0 "$pid"
check "the process has not" not exits 0
try cloche show first --json
check "it runs again" field_is state running

# By prefix.
short=${id#sb_}
try cloche show "${id:0:9}" --json
check "a unique prefix of the id is enough" field_is id "$id"
try cloche show "${short:0:6}" --json
check "also without sb_" field_is id "$id"
try cloche new --name second --agent bob --label team=web --label tier=2 --json
check "new --json prints the sandbox" field_is name second
second=$(field id)
refused conflict show sb_
try cloche show sb_
check "an ambiguous prefix exits with 4" exits 4

# Names.
refused conflict new --name first
try cloche new --name first
check "a name that is taken exits with 4" exits 4
check "and the message says what to do" says 'cure:'
long=$(printf 'a%.0s' $(seq 300))
for name in a/b '..' . $'a\nb' "$long" '' 'UPPER' '1st' -x 'a b' 'ü' $'a\x1b[31m' sb_x; do
  [ -n "$name" ] || continue
  try cloche new "--name=$name"
  check "the name $(printf '%q' "${name:0:20}") is refused" exits 2
  check "and makes no sandbox" prints_nothing
done
try cloche ls --json
check "after all of this there are two" field_is '#' 2
for ref in no-such a/b '..' '../../etc' "$long" $'a\nb' '%00' '?all=1' ''; do
  try cloche show -- "$ref"
  check "the reference $(printf '%q' "${ref:0:20}") is not found" not exits 0
done
try cloche show no-such
check "not found exits with 3" exits 3
try cloche exec no-such -- true
check "exec in an unknown sandbox is 125" exits 125

# Filters.
names() { "$PYTHON" -c 'import json,sys; print(" ".join(sorted(s["name"] for s in json.load(sys.stdin))))' < "$OUT"; }
try cloche ls --json --agent alice
check "filter by agent" is "$(names)" first
try cloche ls --json --label team=web
check "filter by a label both have" is "$(names)" "first second"
try cloche ls --json --label team=web --label tier=2
check "two labels must both match" is "$(names)" second
try cloche ls --json --task build
check "filter by task" is "$(names)" first
try cloche ls --json --agent nobody
check "no match is an empty list" prints '[]'
try cloche ls
check "the table shows the names" mentions first

# One sandbox serves one agent.
try cloche exec --agent alice first -- true
check "its own agent may" exits 0
try cloche exec --agent bob first -- true
check "another agent may not" exits 125
check "and the error says so" says 'alice'
refused conflict exec --agent bob first -- true
refused conflict exec --fresh --agent bob first -- true
refused invalid exec --fresh --background first -- true

# Fresh.
try cloche exec first -- sh -c 'echo poison > poison'
try cloche exec --fresh first -- sh -c 'ls; echo again > poison2'
check "--fresh does not see what earlier commands left" not mentions poison
check "--fresh succeeds" exits 0
try cloche exec first -- sh -c 'ls'
check "the sandbox is as it was" mentions '^poison$'
check "and has nothing of the fresh command" not mentions poison2
try cloche ls --json
check "the twin is gone" field_is '#' 2
try cloche exec --fresh first -- sh -c 'exit 6'
check "--fresh passes the exit status" exits 6

# Verbs that people try, and words that they mistype.
for verb in ps list; do
  try cloche $verb
  check "$verb is ls" mentions first
done
try cloche ls -q
check "ls -q prints ids only" is "$(head -n 1 "$OUT")" "$id"
try cloche ls
check "ls names the directory" mentions "$WORK"
try cloche show first
check "show names it" mentions "^directory  *$WORK"
try cloche inspect first
check "inspect is show in JSON" field_is id "$id"
try cloche exec first -w / -e "ONE=1 2" -eTWO=2 -- sh -c 'pwd; echo "$ONE $TWO"'
check "exec -w DIR -e NAME=VALUE" prints "$(printf '/\n1 2 2')"
try cloche exec first -w no-such-directory -- true
check "a directory that is not there is an error" exits 125
cloche kill first > "$OUT" 2> "$ERR"
try cloche show first --json
check "kill is stop" field_is state stopped
try cloche start first
check "start succeeds" exits 0
try cloche show first --json
check "and it runs" field_is state running
try cloche stats --no-stream --json
check "stats lists all" field_is '#' 2
check "with what each takes" field_is 0.id "$id"
[ "$MODE" = rootless ] || check "memory" not field_is 0.memory_bytes null
[ "$MODE" = rootless ] || check "disk" not field_is 0.disk_bytes null
try cloche stats first
check "stats ends by itself when nobody watches" exits 0
check "stats as a table" mentions '^ID .*CPU .*MEMORY .*DISK'
try cloche rename second 2nd
check "rename refuses what is not a name" exits 2
refused conflict rename second first
try cloche rename second other
check "rename succeeds" exits 0
try cloche show other --json
check "it has the new name" field_is id "$second"
try cloche show second
check "and not the old one" exits 3
cloche rename other second > "$OUT" 2> "$ERR"
try cloche show secnod
check "a mistyped name is guessed" says 'did you mean second?'
try cloche promte
check "a mistyped command is guessed" says 'did you mean cloche promote?'
try cloche ls --jsno
check "a mistyped option is guessed" says 'did you mean --json?'
try cloche run --wal 1s -- true
check "of run, too" says 'did you mean --wall?'
try cloche new --name timed --life 1h30m --memory 1.5G --json
[ "$MODE" = rootless ] || check "1h30m and 1.5G are understood" field_is limits.life 5400.0
cloche rm timed > "$OUT" 2> "$ERR"

# Removal.
as_caller sh -c 'mkdir shut; chmod 0 shut'
try cloche new --name closed
cloche exec closed -- sh -c 'chmod 700 shut; echo work > shut/work; chmod 0 shut' > "$OUT" 2> "$ERR"
cloche stop closed > "$OUT" 2> "$ERR"
try cloche new --name idle
cloche exec idle -- true > "$OUT" 2> "$ERR"
cloche stop idle first > "$OUT" 2> "$ERR"
try cloche prune
check "prune needs a yes" exits 2
CALLER_ENV=(FIRST="cd '$WORK' && '$BIN/cloche' exec idle -- touch work && '$BIN/cloche' stop idle")
try as_caller "$PYTHON" "$BIN/dialogue.py" 'Remove it?=y' -- "$BIN/cloche" prune
CALLER_ENV=()
check "prune looks again after the answer" exits 4
check "and says that there is work now" mentions 'changed meanwhile'
cloche exec idle -- rm work > "$OUT" 2> "$ERR"
cloche stop idle > "$OUT" 2> "$ERR"
try cloche prune --yes
check "prune removes what is stopped and holds no work" exits 0
try cloche show idle
check "it is gone" exits 3
try cloche show first --json
check "a sandbox with work stays" field_is id "$id"
try cloche show closed
check "so does what holds a directory that cannot be read" exits 0
try cloche show second --json
check "so does what runs" field_is id "$second"
try cloche rm first
check "rm succeeds" exits 0
try cloche show first
check "it is gone" exits 3
try cloche exec "$id" -- true
check "nothing can run in it" exits 125
try cloche rm first
check "to remove it again is not found" exits 3
try cloche new --name first
check "its name is free again" exits 0
try cloche exec first -- ls
check "and the new one is clean" not mentions poison
try cloche rm no-such second closed
check "of several all are tried, the first failure is the status" exits 3
try cloche ls --json
check "the others were removed" is "$(names)" first
try cloche rm --all
check "rm --all" exits 0
try cloche ls --all --json
check "leaves none" prints '[]'
try cloche show "$second"
check "nor by id" exits 3
