#!/usr/bin/env bash
# Saved states: taken at any moment, listed, named, removed, returned to, copied into new sandboxes.
. "$(dirname "$0")/../harness/lib.sh"

# snapshot SANDBOX ...: leaves the id in $id.
snapshot() { try cloche snapshot "$@"; id=$(cat "$OUT"); }
inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
names_in() { "$PYTHON" -c 'import json,sys; print(" ".join(s["name"] for s in json.load(sys.stdin) if s["name"]))' < "$OUT"; }

# --- A state, and the way back and forth.
echo outside > "$WORK/below" && echo gone-inside > "$WORK/unwanted" && mkdir "$WORK/tree"
for i in 1 2 3; do echo "$i" > "$WORK/tree/$i"; done
[ "$MODE" = system ] || chown -R "$CALLER_UID:$CALLER_UID" "$WORK"
try cloche new --name box
snapshot box --name empty
check "a sandbox that has changed nothing can be saved" exits 0
check "snapshot prints an id and nothing else" mentions '^sn_[a-z0-9]*$'
empty=$id
inside box 'echo one > a; ln a a2; ln -s a link; mkdir d; echo deep > d/f; chmod 1751 d; chmod 0640 a;
            mkfifo pipe; truncate -s 1M sparse; echo x >> sparse; rm unwanted; rm -r tree; mkdir tree; echo new > tree/own;
            echo changed >> below; touch -d @1000000000.123456789 a' > /dev/null
look='find . -printf "%p %y %m %n %s %T@ %l\n" | sort; find . -type f | sort | xargs md5sum; pwd'
before=$(inside box "$look")
snapshot box --name one --note 'the first state'
one=$id
inside box 'rm -r d a pipe; echo two > a2; rm below; echo back > unwanted; rm -rf tree; echo file > tree; rm -f sparse' > /dev/null
middle=$(inside box "$look")
try cloche snapshot box --json
check "--json prints one object with an id" is "$(field id | cut -c 1-3)" sn_
two=$(field id)
check "and its parent" field_is parent "$one"
check "and its kind" field_is kind manual
check "and when" not field_is created null
check "and where the time went" not field_is timing_ms null
try cloche rollback box one
check "rollback by name" exits 0
check "it says where it is, and what was abandoned" says 'box is at one again; what it was is sn_'
check "the saved state is back, to the byte" is "$(inside box "$look")" "$before"
check "a1 and a2 are one file again" is "$(inside box 'stat -c %i a a2 | uniq | wc -l')" 1
try cloche rollback box "$two" --json
check "rolling forward works: --json prints one object" field_is rolled_back_to.id "$two"
check "which says what was abandoned" field_is kept_as.kind rollback
check "and is the sandbox" field_is state stopped
check "the later state is there again" is "$(inside box "$look")" "$middle"
try cloche rollback box "$empty"
check "the state before everything" is "$(inside box 'cat below unwanted tree/1; ls')" "$(cd "$WORK" && cat below unwanted tree/1; ls)"
check "nothing of it is outside" is "$(cat "$WORK/below" "$WORK/unwanted")" "$(printf 'outside\ngone-inside')"
try cloche rollback box
check "without a name: the state it was in last" says "box is at empty again"

# --- The list.
try cloche snapshots box --json
check "the list is an array" is "$("$PYTHON" -c 'import json,sys; print(type(json.load(open(sys.argv[1]))).__name__)' "$OUT")" list
check "with one head" is "$("$PYTHON" -c 'import json,sys; print([s["id"] for s in json.load(open(sys.argv[1])) if s["head"]])' "$OUT")" "['$empty']"
check "names" is "$(names_in)" "empty one"
try cloche snapshots box
check "the tree shows the note" mentions 'the first state'
check "where it stands" mentions "$empty \*"
check "and branches" mentions '├ \|└ '
try cloche snapshots tag "$two" renamed --json
check "tag gives a name" field_is name renamed
check "and keeps the rest" field_is parent "$one"
refused conflict snapshots tag "$two" one
refused conflict snapshot box --name one
try cloche snapshots rm one --json
check "rm --json prints what was removed" field_is 0.id "$one"
try cloche snapshots box --json
check "its child hangs on its parent now" is "$("$PYTHON" -c 'import json,sys; print([s["parent"] for s in json.load(open(sys.argv[1])) if s["name"] == "renamed"])' "$OUT")" "['$empty']"
refused not_found rollback box "$one"
try cloche snapshots rm "$one" --json
check "one that is gone cannot be removed again" field_is 0.error.code not_found
refused not_found fork "$one"
try cloche rollback box renamed
check "the child still has all it shared with what was removed" is "$(inside box "$look")" "$middle"
abandoned=$(cloche snapshots box --json | grep -o '"kind":"rollback"' | wc -l)
check "abandoned states are listed" test "$abandoned" -ge 3
for name in '../../etc' a/b '..' $'a\nb' $'a\x1b[31m' "$(printf 'a%.0s' $(seq 300))" 'ü' UPPER sn_0 'a b' $'\xff\xfe'; do
  try cloche snapshot box "--name=$name"
  check "the name $(printf '%q' "${name:0:12}") is refused" exits 2
  try cloche rollback box "$name"
  check "and not found" not exits 0
  check "its bytes do not reach the terminal" not says $'\x1b'
done
try cloche snapshot box --note $'a\x1b[31mb'
check "a note with control characters is refused" exits 2
try cloche snapshots box --json
check "and makes no snapshot" is "$(names_in)" "empty renamed"

# --- Changes of a command are flushed when it ends, where states are saved. (The kernel does it
# after 30 seconds by itself, and counts since 6.1.)
if [ "$MODE" != rootless ] && ls /sys/fs/btrfs/*/commit_stats > /dev/null 2>&1; then
  image=$(grep -lFx "$STATE/pool.img" /sys/block/loop*/loop/backing_file)
  pool=$(dirname "$(dirname "$(ls -d /sys/fs/btrfs/*/devices/"$(echo "$image" | cut -d / -f 4)")")")
  writes() { awk '$1 == "commits" { print $2 }' "$pool/commit_stats"; }
  written() { [ "$(writes)" -gt "$before" ]; }
  cloche new --name unsaved > /dev/null 2>&1
  before=$(writes)
  inside unsaved 'echo x > y' && sleep 0.5
  check "nothing is written for one that was never saved" is "$(writes)" "$before"
  snapshot unsaved
  before=$(writes)
  inside unsaved 'echo z > y'
  for _ in $(seq 100); do written && break; sleep 0.1; done
  check "the next save finds it on disk" written
  cloche rm unsaved > /dev/null
fi

# --- A foreign snapshot.
cloche new --name other > /dev/null 2>&1
snapshot other --name foreign
foreign=$id
refused not_found rollback box "$foreign"
refused not_found rollback box foreign
refused not_found rollback box sn_nosuch
refused not_found snapshot no-such

# --- While it runs: the second file is never ahead of the first.
cloche exec -d box -- sh -c 'i=0; while :; do i=$((i+1)); echo $i >> first; echo $i >> second; done' > /dev/null
until_true inside box test -s second
for i in 1 2 3 4 5 6 7 8; do snapshot box --name "live$i"; done
check "a running sandbox is saved" exits 0
try cloche show box --json
check "and continues" field_is state running
lines=$(inside box 'wc -l < second')
later() { [ "$(inside box 'wc -l < second')" -gt "$lines" ]; }
check "its processes, too" until_true later
for i in 1 3 5 8; do
  cloche rollback box "live$i" > /dev/null 2>&1
  inside box 'set -- $(wc -l < first) $(wc -l < second); echo $1 $2; test $1 -ge $2 -a $1 -le $(($2 + 1)) -a $2 -gt 0' > "$OUT" 2> "$ERR"
  status=$?
  check "live$i: the second file is not ahead of the first, and one behind at most" exits 0
done

# --- Streams end with a message; processes of the abandoned future are gone.
mark=$((5000000 + $$))
cloche exec box -- sh -c "echo begun; exec sleep $mark" > "$T/stream" 2> "$T/stream.err" &
stream=$!
until_true grep -q begun "$T/stream"
cloche rollback box live1 > /dev/null 2>&1
wait $stream
status=$?
cp "$T/stream.err" "$ERR"; : > "$OUT"
check "the stream of a command ends at a rollback, with a status" not exits 0
check "and says why" says 'rolled back to live1'
check "its process is gone" not pgrep -f "^sleep $mark"
try cloche show box --json
check "the sandbox says why it is stopped" field_is reason 'rolled back to live1'

# --- Stopped processes stay stopped, a shell with job control does not notice.
cloche exec -d box -- sh -c 'sleep 7777 & echo $! > stopped; kill -STOP $!; wait' > /dev/null
halted() { inside box 'case $(cut -d" " -f3 /proc/$(cat stopped)/stat) in T) ;; *) false ;; esac'; }
until_true halted
snapshot box
check "with a stopped process inside" exits 0
check "it is still stopped" halted
cat > "$BIN/vforks.py" << 'END'
import subprocess
while True:
    subprocess.run(["/bin/true"], close_fds=False)
END
cloche exec -d box -- "$PYTHON" "$BIN/vforks.py" > /dev/null
for _ in 1 2 3 4 5; do snapshot box; [ $status = 0 ] || break; done
check "a sandbox that starts programs all the time is saved" exits 0
cloche stop box > /dev/null
printf 'sleep 0.3 & cat /proc/self/comm; fg; echo end-of-shell\n' > "$T/script"
cloche exec box -- bash -c 'set -m; sleep 1; echo job-done' > "$T/shell" 2>&1 &
shell=$!
for _ in 1 2 3 4 5; do snapshot box; done
wait $shell
check "a shell with job control ends as ever" is "$?" 0
check "and reports no stopped job" is "$(cat "$T/shell")" job-done

# --- Every command.
refused invalid new --auto-snapshot sometimes
try cloche new --name steps --auto-snapshot every-command
for word in one two three; do inside steps "echo $word >> file" > /dev/null; done
try cloche undo-command steps
check "undo-command" exits 0
# Looking is a command, too, and saves a state of its own: so look by fork.
seen() { local fork; fork=$(cloche fork steps) && inside "$fork" 'cat file 2> /dev/null | tr "\n" " "'; cloche rm "$fork" > /dev/null; }
check "the state before the last command" is "$(seen)" "one two "
try cloche undo-command steps
check "again: before the one before" is "$(seen)" "one "
try cloche undo-command steps --json
check "and again, to the beginning" is "$(field rolled_back_to.kind)" command
check "there is nothing" is "$(seen)" ""
refused not_found undo-command steps
try cloche exec steps -- no-such-program
inside steps 'echo after > file' > /dev/null
cloche undo-command steps > /dev/null 2>&1
check "a new branch is undone the same way" is "$(seen)" ""
oldest=$(cloche snapshots steps --json | grep -o '"id":"sn_[a-z0-9]*"[^}]*"kind":"command"' | head -1 | cut -d '"' -f 4)
within=() && [ "$MODE" = rootless ] || within=(nsenter --mount --target "$(pgrep -P "$(daemon_pid)" -f cloche-spawn | head -1)")
on_disk() { "${within[@]}" test -d "$STATE/pool/snaps/$1"; }
check "an automatic one is on disk" on_disk "$oldest"
for i in $(seq 60); do inside steps true > /dev/null; done
check "and is removed from it when it is old" until_true not on_disk "$oldest"
try cloche snapshots steps --json
check "automatic ones are pruned" is "$(grep -o '"kind":"command"' "$OUT" | wc -l)" 50
refused not_found undo-command box
if [ "$MODE" != rootless ]; then  # root's files only
  snapshot steps
  "${within[@]}" chattr +i "$STATE/pool/trash"
  try cloche snapshots rm "$id"
  check "files that cannot be removed now: it says so" not exits 0
  check "they are still there" on_disk "$id"
  "${within[@]}" chattr -i "$STATE/pool/trash"
  check "and are removed as soon as they can be" until_true not on_disk "$id"
fi

# --- By time, only where something happened.
cloche new --name clock --auto-snapshot 1s > /dev/null 2>&1
cloche new --name quiet --auto-snapshot 1s > /dev/null 2>&1
inside clock 'echo tick > file' > /dev/null
by_time() { cloche snapshots clock --json | grep -q '"kind":"time"'; }
check "after the time a state is saved" until_true by_time
count() { cloche snapshots "$1" --json | grep -o '"kind":"time"' | wc -l; }
cloche exec -d clock -- sleep 1000 > /dev/null
again() { [ "$(count clock)" -ge 3 ]; }
check "and again while something runs" until_true again
check "where nothing ran, none" is "$(count quiet)" 0
cloche rm clock quiet > /dev/null

# --- Forks.
cloche stop box > /dev/null
cloche rollback box renamed > /dev/null 2>&1
parent=$(cloche show box --json | sed 's/.*"id":"\(sb_[a-z0-9]*\)".*/\1/')
try cloche fork box --count 3 --json
check "--json of fork is an array" field_is '#' 3
check "each says where it is from" field_is 1.forked_from.sandbox "$parent"
try cloche fork box --name left --name right
check "fork prints an id for each" is "$(grep -c '^sb_' "$OUT")" 2
check "the state is the parent's" is "$(inside left "$look")" "$middle"
inside left 'echo left > a2; rm unwanted' > /dev/null
check "changes of one are invisible to the others" is "$(inside right "$look")" "$middle"
check "nor the parent" is "$(inside box "$look")" "$middle"
try cloche fork "$empty" --name early
check "a snapshot is forked" exits 0
check "and is what it was" is "$(inside early 'cat below')" outside
refused conflict fork box --name left
refused invalid fork box --count 0
refused invalid fork box --count 5000
refused invalid fork box --count 3 --name x
refused invalid fork box --name x --name x
refused invalid fork box --name 'a/b'
refused not_found fork no-such
cloche exec -d box -- sh -c 'echo running > state; exec sleep 1000' > /dev/null
until_true inside box test -e state
try cloche fork box --name live
check "a running sandbox is forked" exits 0
check "its files are there" is "$(inside live 'cat state')" running
check "its processes are not" is "$(inside live 'cat /proc/[0-9]*/comm | grep -c ^sleep')" 0
cloche new --name limited --pids 50 --wall 100s --commands 20 > /dev/null 2>&1
refused denied fork limited --pids 51
refused denied fork limited --wall 200s
refused denied fork limited --commands 21
try cloche fork limited --pids 40 --name smaller --json
check "a fork may have smaller limits" field_is 0.limits.pids 40
check "and has the others of its parent" field_is 0.limits.wall 100.0
cloche stop limited > /dev/null
check "they hold when it runs" is "$(inside smaller true; cloche show smaller --json > "$OUT"; field limits.pids)" 40
refused denied fork limited --pids 51
try cloche fork limited
check "a stopped one is forked" exits 0
try cloche new --name brief --life 1s
snapshot brief --name last
over() { cloche show brief --json | grep -q '"state":"ended"'; }
until_true over
try cloche rollback brief last
check "one that has ended is not rolled back" not exits 0
check "and the message has a cure" says 'cure:'
try cloche fork "$id"
check "its snapshot is forked" exits 0

# --- Hidden files stay hidden.
echo secret > "$CALLER_HOME/.netrc" && chmod 600 "$CALLER_HOME/.netrc" && echo visible > "$CALLER_HOME/file"
[ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" "$CALLER_HOME/.netrc" "$CALLER_HOME/file"
cloche new --name hider > /dev/null 2>&1
hidden='cat ~/.netrc 2> /dev/null; cat ~/file 2> /dev/null'
inside hider 'rm ~/file' > /dev/null
check "a hidden and a removed file are not there" is "$(inside hider "$hidden")" ""
snapshot hider --name x
inside hider 'echo mine > ~/.netrc; echo again > ~/file' > /dev/null
check "one may make them anew" is "$(inside hider "$hidden")" "$(printf 'mine\nagain')"
cloche rollback hider x > /dev/null 2>&1
check "after a rollback both are gone again" is "$(inside hider "$hidden")" ""
cloche fork hider --name hider2 > /dev/null
check "and in a fork" is "$(inside hider2 "$hidden")" ""

# --- In memory.
cloche new --name memory --in-memory > /dev/null 2>&1
for words in "snapshot memory" "fork memory"; do
  # shellcheck disable=SC2086
  try cloche $words
  check "in memory: $words is refused" not exits 0
  check "with a cure" says 'cure:.*--in-memory'
done
try cloche new --in-memory --auto-snapshot every-command
check "to save by itself what is in memory is refused at once" not exits 0
refused unavailable fork box --inodes 10000
try cloche run --auto-snapshot every-command -- true
check "a disposable sandbox is not saved" not exits 0

# --- The base is gone.
mkdir "$T/base" && cp -r /bin/true "$T/base" 2> /dev/null
[ "$MODE" = system ] || chown -R "$CALLER_UID" "$T/base"
if cloche new --name based --base "dir:$T/base" > /dev/null 2>&1; then
  snapshot based --name s
  mv "$T/base" "$T/elsewhere"
  try cloche rollback based s
  check "without its base it can still be rolled back" exits 0
  try cloche exec based -- /true
  check "but not started" not exits 0
  check "and says why" says 'base'
  mv "$T/elsewhere" "$T/base"
fi

# --- Another user.
if [ "$MODE" = shared ]; then
  stranger=$((CALLER_UID + 1))
  for words in "snapshots box" "snapshot box" "rollback box" "rollback box renamed" "fork box" "fork $two" \
               "snapshots rm $two" "snapshots tag $two mine" "undo-command steps"; do
    # shellcheck disable=SC2086
    try as_user $stranger "$BIN/cloche" $words
    check "for another user '${words/$two/ID}' is not found" exits 3
  done
  as_user $stranger "$BIN/cloche" new --name box > /dev/null 2>&1
  try as_user $stranger "$BIN/cloche" rollback box "$two"
  check "nor is it a state of the stranger's own sandbox" exits 3
  as_user $stranger "$BIN/cloche" rm --all > /dev/null
fi

# --- A new daemon.
try cloche snapshots box --json
tree=$("$PYTHON" -c 'import json,sys; print([(s["id"], s["parent"], s["name"], s["head"], s["kind"]) for s in json.load(open(sys.argv[1]))])' "$OUT")
for how in TERM KILL; do
  pid=$(daemon_pid)
  kill -$how "$pid"
  while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
  $starter ls > /dev/null 2>&1
  try cloche snapshots box --json
  check "after $how the tree is the same" is \
    "$("$PYTHON" -c 'import json,sys; print([(s["id"], s["parent"], s["name"], s["head"], s["kind"]) for s in json.load(open(sys.argv[1]))])' "$OUT")" "$tree"
done
check "and so are the states" is "$(cloche rollback box renamed 2> /dev/null; inside box "$look")" "$middle"

# --- One limit for a sandbox and all its states.
if [ "$MODE" != rootless ] && grep -qs squota /sys/fs/btrfs/*/qgroups/mode; then
  cloche new --name full --disk 64M > /dev/null 2>&1
  fits=0
  for i in 1 2 3 4 5 6; do
    inside full 'dd if=/dev/urandom of=file bs=1M count=20 conv=fsync' > /dev/null 2>&1 || break
    snapshot full --name "s$i"
    fits=$((fits + 1))
  done
  check "data that only snapshots still hold counts, too ($fits times 20 MB fit into 64 MB)" test $fits -ge 2 -a $fits -le 3
  inside full 'dd if=/dev/urandom of=rest bs=64k' > /dev/null 2>&1
  snapshot full --name at-the-limit
  check "at the limit a snapshot works or is refused with a cure" [ $status = 0 -o -n "$(grep cure: "$ERR")" ]
  try cloche exec full -- cat /proc/self/comm
  check "and the sandbox continues" prints cat
  cloche rollback full s1 > /dev/null 2>&1
  check "a rollback needs no room" is "$(inside full 'stat -c %s file')" 20971520
  for each in $(cloche snapshots full --json | grep -o 'sn_[a-z0-9]*' | sort -u); do
    cloche snapshots rm "$each" > /dev/null 2>&1
  done
  room() { inside full 'dd if=/dev/urandom of=again bs=1M count=30 conv=fsync'; }
  check "removed snapshots give their room back" until_true room
  cloche fork full --name full2 > /dev/null 2>&1
  check "a fork has a limit of its own" inside full2 'dd if=/dev/urandom of=more bs=1M count=30 conv=fsync 2> /dev/null'
  check "which holds" not inside full2 'dd if=/dev/urandom of=much bs=1M count=60 conv=fsync 2> /dev/null'
fi

# --- Removal during and after.
for i in 1 2 3 4; do cloche snapshot other > /dev/null 2>&1 & cloche exec other -- true > /dev/null 2>&1 & done
cloche rm other > /dev/null 2>&1 &
for i in 1 2 3 4; do cloche snapshot other > /dev/null 2>&1 & cloche fork other > /dev/null 2>&1 & cloche rollback other > /dev/null 2>&1 & done
wait
try cloche show other
check "removed while others save, start, fork and roll back: it is gone" exits 3
try cloche snapshots rm "$foreign" --json
check "somebody else's cannot be removed" field_is 0.error.code not_found
cloche rm --all > /dev/null
try cloche ls --all --json
check "everything can be removed" prints '[]'
stop_daemon
if [ "$MODE" = rootless ]; then
  check "nothing is left in the pool" is \
    "$(find "$STATE/pool" -mindepth 2 | sed "s|$STATE||" | head -5)" ""
else
  mkdir "$T/pool" && mount -o loop,ro "$STATE/pool.img" "$T/pool"
  check "nothing is left in the pool" is "$(find "$T/pool/kept" "$T/pool/snaps" "$T/pool/once" -mindepth 1 | head -5)" ""
  unmount "$T/pool" && rmdir "$T/pool"
fi
