#!/usr/bin/env bash
# Finding out what was there when a sandbox was made: even if clocks were set back, both sides
# replaced a file, or reality was hidden.
. "$(dirname "$0")/../harness/lib.sh"

inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*" > "$T/log" 2>&1; }
real() { as_caller sh -c "$*"; }
cases() { field conflicts | python3 -c 'import json,sys; print(*sorted(c["case"] for c in json.load(sys.stdin)))'; }
noted() { grep -aq "birth_note.:..project.:.$PWD\"" "$STATE"/daemon/*.db*; }
project() { mkdir "$WORK/$1" && cd "$WORK/$1" && { [ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" .; }; }

# --- A file outside git that both sides replaced, as editors do.
project replaced || exit 1
real 'echo one > both; echo one > gone; echo one > kept'
cloche new --name replaced > "$T/log" 2>&1
check "file names are recorded without git, too" until_true noted
real 'echo two > t; mv t both; rm gone; echo two > fresh'
inside replaced 'for each in both gone fresh kept; do echo three > t; mv t $each; done'
try cloche promote replaced --dry-run --json
check "replaced on both sides, deleted, and new on both sides are three different cases" is "$(cases)" \
  "P-ADD-APPEARED P-EDIT-ABSENT P-EDIT-EDITED"
try cloche promote replaced --yes --theirs both --ours fresh --theirs gone
check "each side can be chosen" is "$status $(cat both gone fresh kept | tr '\n' ' ')" "0 three three two three "
inside replaced 'rm gone'
try cloche promote replaced gone --yes
inside replaced 'echo four > gone'
try cloche promote replaced gone --yes
check "a file that the sandbox itself deleted is not missing" is "$status $(cat gone)" "0 four"

# Too early: nothing is recorded yet.
cloche new --name early > "$T/log" 2>&1
real 'echo five > t; mv t kept'
inside early 'echo six > t; mv t kept'
try cloche promote early --dry-run --json
check "even right after creation it does not count as added" is "$(cases)" P-EDIT-EDITED

# --- However little time is between an edit and the creation of a sandbox, their order is clear.
project moment || exit 1
wrong=
for round in $(seq 12); do
  real "echo $round > before; echo $round > after; exec $BIN/cloche new --name moment$round" > "$T/log" 2>&1
  real "echo real$round > after"
  inside "moment$round" 'echo sandbox > before; echo sandbox > after'
  try cloche promote "moment$round" --dry-run --json
  [ "$(cases)" = P-EDIT-EDITED ] && [ "$(field conflicts.0.path)" = "$PWD/after" ] || wrong+="$round: $(field conflicts) "
  cloche rm "moment$round" > "$T/log" 2>&1
done
check "an edit right before belongs to its base, one right after does not" is "$wrong" ""

# --- A file that is hidden from the sandbox still exists in reality.
project hidden || exit 1
real 'echo SECRET=real > .env'
cloche new --name hidden > "$T/log" 2>&1
inside hidden 'echo MODE=sandbox > .env'
try cloche promote hidden --dry-run
check "it is a conflict" exits 4
check "and says so" says 'the sandbox added it; reality has one there that is hidden from the sandbox'
check "and does not show it" is "$(grep -c SECRET "$ERR" "$OUT" | grep -vc ':0')" 0
try cloche promote hidden --dry-run --json
check "with its own case" is "$(cases)" P-ADD-HIDDEN
try cloche promote hidden --yes --allow-triggers --ours .env
check "--ours keeps it" is "$status $(cat .env)" "0 SECRET=real"
try cloche promote hidden --yes --allow-triggers --theirs .env --json
check "--theirs takes the sandbox's" is "$status $(cat .env)" "0 MODE=sandbox"
try cloche undo "$(field id)"
check "undo restores it" is "$(cat .env)" SECRET=real

# --- The clock was set back after the sandbox was made: its record is an hour ahead.
project clock || exit 1
real 'echo 1 > edited; echo 1 > untouched; mkdir d; echo 1 > d/f'
cloche new --name clock > "$T/log" 2>&1
inside clock 'echo sandbox > edited; echo sandbox > untouched; echo sandbox > added; rm -r d'
cloche stop clock > "$T/log" 2>&1
stop_daemon
"$PYTHON" - "$STATE/daemon/registry.db" << 'END'
import json, sqlite3, sys
hour = 3600 * 10**9
db = sqlite3.connect(sys.argv[1])
for id, text in db.execute("SELECT id, record FROM sandboxes WHERE name = 'clock'").fetchall():
    record = json.loads(text)
    record["birth_ns"] += hour
    record["clock"]["real_ns"] += hour
    record["birth_note"] = None
    db.execute("UPDATE sandboxes SET record = ? WHERE id = ?", (json.dumps(record), id))
db.commit()
END
real 'echo reality > edited'
try $starter ls
try cloche promote clock --yes
check "a file that reality edited is not overwritten" is "$status $(cat edited)" "4 reality"
check "the error says why this is uncertain" says 'the clock was set back by 3600 s after this sandbox was made'
check "and what to do" says 'compare the two, then --theirs'
try cloche promote clock --dry-run --json
check "every file that was there counts as moved" is "$(cases)" "P-DELETE-EDITED P-EDIT-EDITED P-EDIT-EDITED"
try cloche promote clock --yes --theirs untouched --theirs d --ours edited
check "a person decides" is "$status $(cat edited untouched added | tr '\n' ' ')" "0 reality sandbox sandbox "
check "about directories, too" not test -e d
inside clock 'echo more > untouched'
try cloche promote clock untouched --yes
check "the sandbox's own promoted file is not in doubt" is "$status $(cat untouched)" "0 more"
# --- It was set back by less than a second before a refresh: that counts once.
project again || exit 1
real 'echo 1 > untouched'
sleep 1
cloche new --name again > "$T/log" 2>&1
inside again 'echo sandbox > untouched'
cloche snapshot again > "$T/log" 2>&1
cloche stop again > "$T/log" 2>&1
stop_daemon
"$PYTHON" - "$STATE/daemon/registry.db" << 'END'
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for id, text in db.execute("SELECT id, record FROM sandboxes WHERE name = 'again'").fetchall():
    record = json.loads(text)
    record["clock"]["back_before_ns"] = 4 * 10**8
    record["birth_note"] = None
    db.execute("UPDATE sandboxes SET record = ? WHERE id = ?", (json.dumps(record), id))
db.commit()
END
try $starter ls
for i in 1 2 3; do cloche rollback again > "$T/log" 2>&1; done
try cloche promote again --yes
check "however often it is rolled back" is "$status $(cat untouched)" "0 sandbox"
try cloche rm --all
