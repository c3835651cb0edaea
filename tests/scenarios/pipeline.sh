#!/usr/bin/env bash
# Changes go into reality stage by stage, and back when something is wrong.
. "$(dirname "$0")/../harness/lib.sh"

inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*" > "$T/log" 2>&1; }
# begin NAME: a sandbox of the project with the cloche.toml of standard input, which has changed a file.
begin() {
  cat > "$WORK/cloche.toml"
  echo old > "$WORK/file"
  rm -f "$WORK/made"
  [ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" "$WORK/cloche.toml" "$WORK/file"
  cloche new --name "$1" > "$T/log" 2> "$ERR" || not_ok "a sandbox $1 is made"
  inside "$1" 'echo new > file; echo made > made'
}
is_old() { is "$(cat "$WORK/file")" old && not test -e "$WORK/made"; }
is_new() { is "$(cat "$WORK/file")" new && is "$(cat "$WORK/made")" made; }
# state NAME [STAGE]: of the latest run, or of one of its stages.
state() {
  cloche pipeline "$1" --json > "$T/seen" 2> /dev/null
  "$PYTHON" -c 'import json, sys
run = json.load(open(sys.argv[1]))
print(next((s["state"] for s in run["stages"] if s["name"] == sys.argv[2]), "?") if sys.argv[2] else run["state"])' "$T/seen" "${2-}"
}
state_is() { local wanted=$1; shift; is "$(state "$@")" "$wanted"; }
# Where commands of the host leave their marks.
MARKS=$T/marks
mkdir -p "$MARKS" && chmod 777 "$MARKS"
marks() { cat "$MARKS/log" 2> /dev/null | tr '\n' ' '; }

# --- All goes well.
begin well << 'END'
[[stage]]
name = "local"
verify = ["grep -q new file", "echo rubbish > artefact"]
apply = "."
check = ["grep -q new file", "echo rubbish > artefact"]
approval = "auto"
END
try cloche pipeline well
check "before the first run everything is pending" mentions '^local  *pending  *auto  *verify, approval, apply, check'
check "and it says what to do" says 'next: cloche pipeline well run'
try cloche pipeline well run
check "it is done" exits 0
check "reality is as the sandbox" is_new
check "files of the checks are left out" not test -e "$WORK/artefact"
check "the table says so" mentions '^local  *done  *auto  *verify done, approval granted, apply done, check done  *pr_'
check "the changes were shown" says ' file  *| '
check "no copy is left" is "$(cloche ls --json | grep -c -e verify- -e check-)" 0
check "and no saved state" is "$(cloche snapshots well --json)" '[]'
try cloche pipeline well --json
check "as JSON" field_is state done
check "with its stages" field_is stages.0.state done
try cloche pipeline well run
check "again: there is nothing to apply" says 'nothing to apply'
try cloche undo "$(cloche promotions --json | grep -o 'pr_[a-z0-9_]*' | tail -n 1)"
check "it is a promotion like any other" is_old

# --- A check inside that fails stops it.
begin wrong << 'END'
[[stage]]
name = "local"
verify = '''printf "bad\033[31m\n"; exit 3'''
apply = "."
approval = "auto"
[[stage]]
name = "next"
apply = "."
approval = "auto"
END
try cloche pipeline wrong run
check "a failing verify stops it" exits 1
check "which is reported" says 'verify of local: .* ended with 3'
check "with its output, escaped" says 'bad\\x1b'
check "reality is as it was" is_old
check "the stage has failed" state_is failed wrong local
check "the next was not begun" state_is pending wrong next

# --- A check outside that fails takes it back.
begin broken << 'END'
[[stage]]
name = "local"
apply = "."
check = ["test ! -e made"]
approval = "auto"
END
cloche stop broken > "$T/log"
try cloche pipeline broken run --json
check "a failing check fails the run" exits 1
check "and takes the stage back" field_is stages.0.state rolled_back
check "reality is as it was" is_old
check "its promotion is undone" is "$(cloche promotions --json | grep -o '"state":"[a-z]*"' | tail -n 1)" '"state":"undone"'

# --- Where checks run.
begin where << END
[[stage]]
name = "copy"
apply = "."
check = ["rm file; touch $WORK/inside"]
approval = "auto"
[[stage]]
name = "host"
check = ["echo host >> $MARKS/log"]
on_host = true
END
try cloche pipeline where run
check "checks run in a fresh sandbox" is_new
check "and leave nothing" not test -e "$WORK/inside"
check "on the host only if the file says so" is "$(marks)" 'host '
rm -f "$MARKS/log"

# --- A yes.
begin asked << 'END'
[[stage]]
name = "local"
apply = "."
END
try cloche pipeline asked run
check "a stage without a tier waits for a yes" exits 5
check "and says how to give it" says 'cloche pipeline .* approve local'
check "with the way back" says 'cloche undo, byte for byte'
check "and who notices" says '2 paths of .* on this machine'
check "nothing was applied" is_old
check "it waits" state_is waiting asked
try cloche pipeline asked run
check "and waits" exits 5
inside asked 'echo later > file'
try cloche pipeline asked approve local
check "approval needs a terminal or --yes" exits 5
try cloche pipeline asked approve nothing --yes
check "there is no such stage" exits 3
try cloche pipeline asked approve local --yes
check "a yes is taken" exits 0
try cloche pipeline asked run
check "then it continues" exits 0
check "the approved state was applied, without later changes" is_new
try cloche pipeline asked approve local --yes
check "a yes for nothing is refused" exits 4
begin moved << 'END'
[[stage]]
name = "local"
apply = "."
END
try cloche pipeline moved run
try cloche pipeline moved approve local --yes
echo theirs > "$WORK/file"
try cloche pipeline moved run
check "reality moved after the yes: a conflict" exits 4
check "it keeps its own" is "$(cat "$WORK/file")" theirs

# --- Triggers need a yes of their own, whatever the tier.
begin hook << 'END'
[[stage]]
name = "local"
apply = "."
approval = "auto"
END
inside hook 'mkdir -p .git/hooks; echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit'
try cloche pipeline hook run
check "a change that runs later waits for a yes" exits 5
check "it is shown" says 'runs later: .*post-commit'
try cloche pipeline hook approve local --yes
check "an ordinary yes is not enough" exits 5
try cloche pipeline hook approve local --yes --allow-triggers
try cloche pipeline hook run
check "with its own yes it goes" test -x "$WORK/.git/hooks/post-commit"
rm -r "$WORK/.git"

# --- Notice, and a window to cancel.
begin window << 'END'
[[stage]]
name = "local"
apply = "."
approval = "notify"
cancel_window = 600
END
cloche pipeline window run > "$T/out.window" 2> "$T/err.window" &
runner=$!
until_true grep -q 'goes on in 10 min' "$T/err.window"
try cloche pipeline window run
check "two at once: the second is refused" exits 4
try cloche pipeline window cancel
wait $runner
check "cancelled: the run ends" is $? 4
check "nothing was applied" is_old
check "it says so" state_is cancelled window
sed -i 's/600/0.2/' "$WORK/cloche.toml"
try cloche pipeline window repin --yes
try cloche pipeline window run
check "a window that nobody used" exits 0
check "and it was applied" is_new

# --- At a terminal it asks.
# at_terminal ANSWERS COMMAND...: each answer is typed when a question is there.
at_terminal() {
  local answers=$1 count=0 answer
  shift
  : > "$T/tty"
  for answer in $answers; do
    count=$((count + 1))
    until_true is_asked $count
    echo "$answer"
  done | as_caller script -qefc "$*" "$T/tty" > "$OUT" 2> "$ERR"
  status=$?
}
is_asked() { [ "$(grep -ao 'y/N' "$T/tty" | wc -l)" -ge "$1" ]; }
touch "$T/tty" && chmod 666 "$T/tty"
begin person << 'END'
[[stage]]
name = "local"
apply = "."
END
at_terminal n "$BIN/cloche pipeline person run"
check "no is no" exits 4
check "nothing was applied" is_old
check "it is over" state_is cancelled person
at_terminal y "$BIN/cloche pipeline person run"
check "yes is yes" exits 0
check "and it was applied" is_new

# --- The agent's own copy.
begin sly << 'END'
[[stage]]
name = "local"
verify = ["false"]
apply = "."
approval = "auto"
END
inside sly 'printf "[[stage]]\nname=\"local\"\napply=\".\"\napproval=\"auto\"\n" > cloche.toml'
try cloche pipeline sly run
check "a copy edited inside has no effect" exits 1
check "nothing was applied" is_old
sed -i 's/"false"/"true"/' "$WORK/cloche.toml"
try cloche pipeline sly
check "a change of the real file is reported" says 'cloche pipeline sly repin'
try cloche pipeline sly run
check "but it does not hold yet" exits 1
try cloche pipeline sly repin --yes
try cloche pipeline sly run
check "until its owner says so" is_new
check "the copy stays inside" grep -q verify "$WORK/cloche.toml"

# --- Deployments.
begin ship << END
[[stage]]
name = "local"
apply = "."
approval = "auto"
[[stage]]
name = "staging"
deploy = "echo deployed \$CLOCHE_PIPELINE_ENVIRONMENT >> $MARKS/log"
environment = "staging"
approval = "auto"
rollback = "echo back >> $MARKS/log"
health = ["true"]
health_for = 0.3
health_every = 0.1
[[stage]]
name = "live"
deploy = "echo live >> $MARKS/log"
environment = "prodution"
approval = "auto"
END
try cloche pipeline ship run
check "an environment that is not known needs a yes" exits 5
check "the one that is was deployed" is "$(marks)" 'deployed staging '
check "and found well" state_is done ship staging
check "the request shows what earlier stages applied" says 'file  *| '
try cloche pipeline ship approve live --yes
try cloche pipeline ship run
check "then that goes, too" is "$(marks)" 'deployed staging live '
try cloche pipeline ship rollback
check "taking all back needs a yes" exits 5
try cloche pipeline ship rollback --yes
check "a stage without a rollback command is named" says 'live: not taken back: it has no rollback command'
check "the rest is taken back" is "$(marks)" 'deployed staging live back '
check "the files, too" is_old
check "not all of it" exits 1
rm -f "$MARKS/log"

begin fails << END
[[stage]]
name = "both"
apply = "."
deploy = "echo deploy >> $MARKS/log; false"
environment = "staging"
approval = "auto"
rollback = "echo back >> $MARKS/log"
END
try cloche pipeline fails run
check "a deployment that fails" exits 1
check "is rolled back" is "$(marks)" 'deploy back '
check "with its files" is_old
rm -f "$MARKS/log"

# --- Health: this stage and the later ones.
begin sick << END
[[stage]]
name = "first"
apply = "."
approval = "auto"
on_host = true
health = ["test ! -e $MARKS/sick"]
health_for = 600
health_every = 0.1
[[stage]]
name = "second"
deploy = "echo deployed >> $MARKS/log"
environment = "staging"
approval = "auto"
rollback = "cat $WORK/file >> $MARKS/log; echo back >> $MARKS/log"
health = ["touch $MARKS/sick"]
[[stage]]
name = "third"
check = ["echo reached >> $MARKS/third; while :; do sleep 1; done"]
on_host = true
END
try cloche pipeline sick run
check "poor health of an earlier stage ends the run" exits 1
check "the later one is taken back first" is "$(marks)" 'deployed new back '
check "then the files" is_old
check "both say so" state_is rolled_back sick first
check "both say so" state_is rolled_back sick second
check "the third was stopped" state_is stopped sick third
check "why" says 'health of first'
rm -f "$MARKS"/*

# --- Killed in the middle.
begin cut << END
[[stage]]
name = "local"
apply = "."
approval = "auto"
[[stage]]
name = "staging"
deploy = "echo deploy >> $MARKS/log; test -e $MARKS/again || { touch $MARKS/again; kill -9 \$PPID; }"
environment = "staging"
approval = "auto"
rollback = "echo back >> $MARKS/log"
END
try cloche pipeline cut run
check "kill -9 during a deployment" exits 137
check "leaves it interrupted" state_is interrupted cut staging
try cloche pipeline cut run
check "the next run continues" exits 0
check "from before the deployment" is "$(marks)" 'deploy back deploy '
check "with one promotion" is "$(cloche promotions --json | "$PYTHON" -c '
import json, sys; print(sum(p["sandbox"] == sys.argv[1] and p["state"] == "done" for p in json.load(sys.stdin)))' "$(cloche show cut --json | "$PYTHON" "$BIN/field.py" id)")" 1
check "and reality is new" is_new
rm -f "$MARKS"/*

if PATH=$SAFE_PATH command -v strace > /dev/null; then
  # It locks its journal before each line and unlocks it when that is on disk.
  point=0 whole=0 cut=0
  until [ $whole = 1 ] || [ $point = 90 ]; do
    point=$((point + 1))
    begin "at-$point" << 'END'
[[stage]]
name = "local"
verify = ["true"]
apply = "."
check = ["true"]
approval = "auto"
[[stage]]
name = "bad"
deploy = "true"
environment = "staging"
approval = "auto"
health = ["false"]
health_for = 0
rollback = "true"
END
    try cloche promotions
    as_caller strace -qq -o /dev/null -e trace=flock -e "inject=flock:signal=KILL:when=$point" \
      "$BIN/cloche" pipeline "at-$point" run < /dev/null > "$OUT" 2> "$ERR"
    first=$?
    [ $first = 137 ] || whole=1
    [ $first != 137 ] || cut=$((cut + 1))
    try cloche pipeline "at-$point" run --json
    [ "$(field state)" = rolled_back ] || [ $whole = 1 ] || not_ok "killed at point $point it continues to its end"
    # Killed at its very last write it has ended, and this is another run.
    is "$(field stages.0.promotion | cut -c 1-3)" pr_ || is "$(field run)" 2 || not_ok "killed at point $point its promotion is known"
    is_new || not_ok "killed at point $point reality is new"
    cloche rm "at-$point" > "$T/log"
  done
  check "killed before and after each of its writes, $cut times in all, it continues to the same end" test "$cut" -gt 35
else
  echo "strace is not here: not killed at each write"
fi

# --- Invalid requests.
begin none << 'END'
END
refused invalid pipeline none run
refused not_found pipeline nobody run
try cloche pipeline none dance
check "an unknown action is refused" exits 2
try cloche pipeline none cancel --json
check "nothing to cancel" field_is error.code conflict
try cloche pipeline none rollback --yes --json
check "nothing to take back" field_is error.code conflict
