#!/usr/bin/env bash
# cloche race: approaches in forks of one set-up, checked, scored, compared; the rest is gone.
. "$(dirname "$0")/../harness/lib.sh"

# lane NAME KEY: of the lane of that name in the JSON in $OUT.
lane() {
  "$PYTHON" -c '
import json, sys
for lane in json.load(sys.stdin)["lanes"]:
    if lane["name"] == sys.argv[1]:
        value = lane
        for part in sys.argv[2].split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        print(value if isinstance(value, str) else json.dumps(value))' "$1" "$2" < "$OUT"
}
lane_is() { is "$(lane "$1" "$2")" "$3"; }
nothing_is_left() { is "$(cloche ls --json)" '[]'; }
clean_up() { cloche rm --all > /dev/null 2>&1; }

# Passed and failed.
try cloche race --check 'test -e ok' --approach good='touch ok' --approach bad='touch other'
check "with a winner the exit status is 0" exits 0
check "the table has the winner" mentions '^good  *passed'
check "and who failed, with the reason" mentions '^bad  *failed: check .test -e ok.: exit status 1'
check "the verdict is a sentence" mentions '^winner: good, the only lane that passed'
check "progress is reported on standard error" says '^cloche: bad: started'
check "the last line says how to continue" is "$(tail -n 1 "$ERR" | grep -c 'cloche shell race-.*-good$')" 1
check "outside there is no such file" test ! -e ok
try cloche ls --json
check "the winner is kept, and only it" field_is '#' 1
name=$(field 0.name)
try cloche exec "$name" -- ls ok
check "with what it made" prints ok
clean_up

# The object.
try cloche race --json --check 'test -e ok' --check 'grep -q x ok' --approach bad='touch ok' \
  --approach good='echo x > ok'
check "--json: one object" is_json
check "--json: standard error is left alone" says_nothing
check "--json: winner" field_is winner good
check "--json: the best lane is the first" field_is lanes.0.name good
check "--json: passed" lane_is good passed true
check "--json: failed" lane_is bad passed false
check "--json: checks passed" lane_is bad checks_passed 1
check "--json: no score" lane_is good score null
check "--json: nobody tied" field_is tied '[]'
check "--json: files changed" lane_is good files_changed 1
check "--json: lines added" lane_is good lines_added 1
check "--json: both changed one file" lane_is good overlap 1
check "--json: it is named" field_is overlap.0.path "$WORK/ok"
check "--json: by whom" field_is overlap.0.lanes '["bad", "good"]'
for key in time_s cpu_s violations denials sandbox steps.0.exit_status; do
  check "--json: has $key" not lane_is good $key null
done
[ "$MODE" = rootless ] || check "--json: has the peak memory" not lane_is good peak_memory_bytes null
check "--json: the kept one is marked" lane_is good kept true
check "--json: the other is gone" lane_is bad kept false
clean_up

# The set-up runs once, and its changes count for no lane.
mkdir shared && echo 1 > shared/count
[ "$CALLER_UID" = 0 ] || chown -R "$CALLER_UID:$CALLER_UID" shared
try cloche race --json --setup 'mkdir built' --setup 'echo 2 >> shared/count; echo done > built/x' \
  --check 'test "$(wc -l < shared/count)" = 2' --approach a='cat built/x' --approach b='echo y > new'
check "every lane sees what the set-up made" field_is lanes.1.passed true
check "a lane's own output is kept" lane_is a steps.0.output_tail done
check "changes of the set-up do not count" lane_is a files_changed 0
check "changes of the lane do" lane_is b files_changed 1
check "nor does it overlap" field_is overlap '[]'
clean_up
try cloche race --setup 'echo broken build; exit 7' --approach a=true
check "a set-up that fails ends the race" exits 125
check "with its output" says '^broken build'
check "and its status" says 'set-up .*exit status 7'
check "and nothing is left" nothing_is_left
try cloche race --json --setup 'exit 7' --approach a=true
check "as JSON too" field_is setup.exit_status 7

# Scores.
try cloche race --json --score 'cat n' --approach low='echo 3 > n' --approach high='echo 11 > n'
check "the higher score wins" field_is winner high
check "and decided" field_is decided_by score
check "scores are numbers" lane_is low score 3.0
clean_up
try cloche race --json --score 'cat n' --lower-is-better --approach low='echo 3 > n' \
  --approach high='echo 11 > n'
check "or the lower one" field_is winner low
clean_up
try cloche race --json --score 'cat n' --score-key size --lower-is-better \
  --approach a='echo "{\"speed\": 1, \"size\": 5}" > n' \
  --approach b='echo "{\"speed\": 2, \"size\": 9}" > n'
check "one of several scores decides" field_is winner a
check "the others are reported" lane_is b scores.speed 2.0
clean_up
try cloche race --json --score 'cat n' --approach odd='echo fast > n' --approach some='echo 1 > n'
check "a lane whose score cannot be read is behind" field_is winner some
check "it passed all the same" lane_is odd passed true
check "and says why" lane_is odd problem 'the score is not a number: fast'
clean_up

# Ties, and nobody.
try cloche race --score 'echo 5' --approach a='echo x > f' --approach b='echo y > f' \
  --approach worse='printf "x\ny\nz\n" > f'
check "a tie is reported, with the names" mentions '^tie: a and b are equal'
check "and is not a failure" exits 0
clean_up
try cloche race --json --check 'test -e one' --check 'test -e two' --approach zero=true \
  --approach one='touch one' --approach never='exit 3'
check "when no lane passed the exit status is 1" exits 1
check "there is no winner" field_is winner null
check "but a nearest miss" field_is nearest_miss.name one
check "with its reason" field_is nearest_miss.result 'failed: check `test -e two`: exit status 1'
check "a failed approach is not checked" lane_is never steps.0.exit_status 3
check "and nothing is kept" nothing_is_left
try cloche race --check false --approach a=true
check "it is reported in words" mentions 'no lane passed; the nearest was a: passed 0 of 1 checks'

# Early stop.
try cloche race --json --jobs 2 --first-pass --approach slow='sleep 1000' --approach quick=true \
  --approach queued=true
check "--first-pass: the first that passes wins" field_is winner quick
check "--first-pass: running lanes are cancelled" lane_is slow state cancelled
check "--first-pass: waiting lanes are never started" lane_is queued sandbox null
clean_up
try cloche race --json --jobs 4 --best-of 2 --approach a=true --approach b=true \
  --approach c='sleep 1000' --approach d=false
check "--best-of: ends after so many" lane_is c state cancelled
check "--best-of: those before it count" lane_is b passed true
clean_up

# Lanes that never end, or that use up a resource.
try cloche race --json --wall 1s --approach hang='sleep 1000' --approach fine=true
check "a lane that never ends is ended" lane_is hang result \
  'failed: approach `sleep 1000`: killed: wall time limit 1 s'
check "and the others continue" field_is winner fine
clean_up
try cloche race --json --wall 1s --check 'sleep 1000' --approach a=true
check "so is a check" lane_is a steps.1.exit_status 124
if [ "$MODE" != rootless ]; then
  try cloche race --json --pids 60 --wall 3s --approach bomb="bash -c ':(){ :|:& };: ; sleep 1000'" \
    --approach fine='ls / > /dev/null'
  check "beside a fork bomb another lane wins" field_is winner fine
  clean_up
fi
try cloche race --json --approach flood='yes | head -c 50000000' --approach fine=true
check "a lane may flood its output" lane_is flood passed true
check "and is not kept" test "$(wc -c < "$OUT")" -lt 100000
clean_up
try cloche race --json --approach leaves='(setsid sleep 1000 > /dev/null 2>&1 &); true'
check "leftover processes of a lane end with it" field_is winner leaves
try cloche ls --json
check "its sandbox is stopped" field_is 0.state stopped
clean_up

# Many lanes take turns: each prints when it began and ended.
try cloche race --json --jobs 2 --copies 50 -- sh -c 'date +%s.%N; sleep 0.02; date +%s.%N'
at_once=$("$PYTHON" -c '
import json, sys
times = []
for lane in json.load(sys.stdin)["lanes"]:
    begin, end = lane["steps"][0]["output_tail"].split()
    times += [(float(begin), 1), (float(end), -1)]
most = now = 0
for _, step in sorted(times):
    now += step
    most = max(most, now)
print(len(times) // 2, most)' < "$OUT")
check "50 lanes with --jobs 2 run, never more than two at once" \
  [ "$at_once" = '50 2' -o "$at_once" = '50 1' ]
clean_up

# Which one is kept.
two=(--check 'test -e ok' --approach good='touch ok' --approach bad=true)
names() { cloche ls --json | "$PYTHON" -c '
import json, sys
print(*sorted(box["name"].split("-", 2)[-1] for box in json.load(sys.stdin)))'; }
try cloche race --pick none "${two[@]}"
check "--pick none keeps nothing" nothing_is_left
check "--pick none: there is a winner" exits 0
try cloche race --pick bad "${two[@]}"
check "--pick LANE keeps that one" is "$(names)" bad
clean_up
try cloche race --keep-all "${two[@]}"
check "--keep-all keeps all" is "$(names)" 'bad good'
clean_up
try cloche race --name mend "${two[@]}"
try cloche show mend-good
check "--name names the sandboxes" exits 0
clean_up

# The race file.
cat > race.toml << 'END'
setup = "echo base > f"
check = ["test -e f", "grep -q $RACE_LANE f"]
score = {command = "wc -c < f", lower_is_better = true}
jobs = 1
[limits]
wall = "20s"
[lane.long]
run = "echo long and longer > f"
[lane.agent]
run = "echo $RACE_LANE > f"
copies = 2
[lane.hang]
run = "sleep 1000"
limits = {wall = "500ms"}
END
try cloche race --json
check "race.toml is found" field_is winner agent-1
check "its copies are lanes" lane_is agent-2 passed true
check "a lane's limits are its own" lane_is hang result \
  'failed: approach `sleep 1000`: killed: wall time limit 500 ms'
clean_up
try cloche race --json --approach tiny='echo tiny > f' race.toml
check "flags add lanes to a file" field_is winner tiny
clean_up

# Bad input is reported with its cure, and nothing ran.
bad() {
  local sentence=$1 text=$2
  shift 2
  try cloche race "$@"
  check "$sentence is refused" exits 2
  check "$sentence: the message says why" says "$text"
  check "$sentence: and the cure" says '  cure: '
}
printf 'check = "x"\nchek = "y"\n' > bad.toml
bad "an unknown key" "bad.toml:2: the file has no key 'chek'" bad.toml
printf '[lane.a]\nrun = "x"\nretries = 3\n' > bad.toml
bad "an unknown key of a lane" 'bad.toml:3: lane a has no key' bad.toml
printf '[lane.a]\nrun = "x"\n[lane.a]\nrun = "y"\n' > bad.toml
bad "a lane twice" 'bad.toml:3: ' bad.toml
printf '[lane."<b>\\u001b[31m"]\nrun = "x"\n' > bad.toml
bad "a hostile name" 'bad.toml:1: lane' bad.toml
check "and does not reach the terminal" not says $'\033'
printf '\xff\xfe[lane' > bad.toml
bad "invalid TOML" 'bad.toml:1: ' bad.toml
head -c 3000000 /dev/zero > bad.toml
bad "a file of zeros" 'bad.toml' bad.toml
bad "a file that is not there" 'read nowhere.toml: No such file' nowhere.toml
bad "a directory" 'read /: ' /
bad "a lane twice by flags" 'two of this name' --approach a=x --approach a=y
bad "a hostile name by flag" 'not a name' --approach $'a\033[2J=x'
bad "no lanes" 'no command to run' --copies 3
bad "too many lanes" 'too many' --copies 100000 -- true
bad "a command without a number of copies" 'how many copies' -- true
bad "two ways to end" 'one of them' --first-pass --best-of 2 --approach a=true
bad "a lane that is not there" 'no such lane' --pick b --approach a=true
bad "a directory that all would write" 'all lanes would write' --rw "$WORK" --approach a=true
bad "a limit that is none" '--memory' --memory lots --approach a=true
bad "a report that cannot be written" 'write /nowhere/x.html' --report /nowhere/x.html --approach a=true
refused invalid race bad.toml
check "of all these nothing is left" nothing_is_left

# The report, with what a lane would like to put into it.
try cloche race --report report.html --check "cat evil; exit 4" --score 'echo 1' \
  --approach evil="printf '</pre><script src=http://evil.example/x></script>\033[31m\0\377' > evil" \
  --approach calm='echo calm > evil'
check "the table is safe to look at" not mentions $'\033'
report_has() { grep -qaF -e "$1" report.html; }
check "the report is a page" is "$(head -c 15 report.html)" '<!doctype html>'
check "with the verdict" report_has 'No lane passed; the nearest was evil'
check "with plots" report_has '<svg'
check "with the output of the failed check" report_has '&lt;script src='
for word in '<script' '<link' '<img' 'url(' '@import' ' src=' ' href=' $'\033'; do
  [ "$word" != ' src=' ] || word='<[^>]* src='
  [ "$word" != ' href=' ] || word='<[^>]* href='
  check "it loads nothing and runs nothing: $(printf %q "$word")" not grep -qa -e "$word" report.html
done
check "it is whole" is "$(tail -n 1 report.html)" '</html>'

# On a terminal each lane has a line, redrawn.
as_caller script -qec "'$BIN/cloche' race --approach a='sleep 1' --approach b=true" /dev/null \
  < /dev/null > "$OUT" 2> "$ERR"
status=$?
check "on a terminal lanes have lines" mentions $'a  .*running.*approach: sleep 1'
check "that are redrawn" mentions $'\033\\[[0-9]*A'
check "and the table comes at the end" mentions 'winner: b'
clean_up

# The winner goes into reality, the way of cloche promote.
echo old > real
[ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" real
try cloche race --promote winner --check 'grep -q good real' --approach good='echo good > real' --approach bad='echo bad > real'
check "without a yes it is not promoted" exits 2
check "and stays as it is" is "$(cat real)" old
clean_up
try cloche race --promote winner --yes --check 'grep -q good real' --approach good='echo good > real' --approach bad='echo bad > real'
check "with one it is" exits 0
check "the winner's changes, and only those" is "$(cat real)" good
check "as a promotion" mentions '^pr_'
clean_up
try cloche race --promote winner --yes --json --approach good='echo better > real'
check "--json: it is part of the one object" is_json
check "--json: with its id" is "$(field promotion.id | cut -c 1-3)" pr_
check "--json: and it happened" is "$(cat real)" better
clean_up
try cloche race --promote winner --yes --approach a='mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit'
check "a change that runs later needs a yes of its own" exits 5
check "and stays inside" not test -e .git
clean_up
printf '[promote]\ndeny = ["real"]\n' > cloche.toml
try cloche race --promote winner --yes --json --approach good='echo more > real'
check "changes that cloche.toml forbids stay inside" field_is promotion.state conflict
check "which the exit status shows" exits 4
rm cloche.toml
clean_up
try cloche race --promote winner --yes --approach bad=false
check "without a winner nothing is promoted" exits 1
try cloche race --promote other --approach a=true
check "only the winner is promoted" exits 2
clean_up

# Nobody reads its output.
cloche race --pick none --setup 'echo x' --approach a=true --approach b=true 2>&1 | head -c 1 > "$OUT"
check "without a reader nothing is left either" nothing_is_left

# Ctrl-C and SIGTERM take everything with them.
for signal in INT TERM; do
  : > "$ERR"  # nothing of an earlier one
  cloche race --approach a='sleep 1000' --approach b='sleep 1000' > "$OUT" 2> "$ERR" &
  race=$!
  until_true grep -q 'b: started' "$ERR"
  for pid in $(our_processes); do
    tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q "^$BIN/cloche race" && kill -$signal "$pid"
  done
  wait $race
  status=$?
  check "SIG$signal: the status says so" exits $((128 + $(kill -l $signal)))
  check "SIG$signal: nothing is left" nothing_is_left
done
# So does kill -9, some time later.
: > "$ERR"
cloche race --approach a='sleep 1000' --approach b='sleep 1000' > "$OUT" 2> "$ERR" &
race=$!
until_true grep -q 'b: started' "$ERR"
for pid in $(our_processes | sort -n); do
  tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q "^$BIN/cloche race" && kill -9 "$pid" && break  # its guard is younger
done
wait $race
until_true nothing_is_left
check "kill -9: nothing is left" nothing_is_left
try cloche run -- true
check "afterwards the daemon is well" exits 0
