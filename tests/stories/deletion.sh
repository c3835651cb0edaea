#!/usr/bin/env bash
# An agent deletes everything it must not: the project's data, its history, whole folders of the
# system. Reality is intact, and the sandbox can be restored, too.
. "$(dirname "$0")/story.sh"

as_caller "$EXAMPLES/bill/make.sh" "$WORK" && cd "$WORK/project" || exit 1
as_caller sh -c 'mkdir -p data/years && for year in $(seq 1990 2020); do echo "books of $year" > data/years/$year; done
  ln data/years/2020 data/latest; chmod 400 data/years/1990; mkdir ~/photos; echo cat > ~/photos/1'
# The system is watched by its directory entries: to read all of it would take long.
system=(/usr/lib /usr/bin /etc)
entries() { find "${system[@]}" -xdev -printf '%p %y %m %U %s\n' | sort; }
entries > "$T/entries"
watch_reality "$WORK" "$CALLER_HOME"
look='find . ~/photos -printf "%p %y %m %n %s %T@\n" | sort; find . ~/photos -type f | sort | xargs cksum'

try cloche new --name box --auto-snapshot every-command
inside box 'echo mine > data/own' > "$OUT" 2> "$ERR"
# Looking is a command, too, and would be undone first: so look in a fork.
seen() {
  local fork
  fork=$(cloche fork box) && cloche exec "$fork" -- sh -c "$*"
  local code=$?
  cloche rm "$fork" > /dev/null
  return $code
}
before=$(seen "$look")
try cloche exec box -- sh -c 'rm -rf data .git ./*.py ~/photos'
check "the project's data, history and code are deleted" exits 0
check "inside they are gone" is "$(seen 'ls -A; ls -d ~/photos 2> /dev/null' | tr '\n' ' ')" \
  '.gitignore Makefile race.toml requirements.txt vendor '
check "outside nothing is" reality_is_as_it_was
try cloche diff box --name-only
check "the diff names what is gone" mentions "$WORK/project/data/years/2001$"
try cloche undo-command box
check "undo-command" exits 0
check "brings it back, to the byte, also what was made inside" is "$(seen "$look")" "$before"

# First with an empty file: this test must not be what deletes them.
canary=/usr/lib/cloche-canary.$$
inside box "touch $canary" > "$OUT" 2> "$ERR"
[ ! -e $canary ] || { rm $canary; not_ok "/usr/lib is a copy inside"; exit 1; }
cloche undo-command box > "$OUT" 2> "$ERR"
try cloche exec box -- rm -rf /usr/lib /etc
if [ "$MODE" = system ]; then
  check "root deletes the libraries and the configuration of the system" exits 0
  try seen 'true'
  check "nothing starts any more inside" not exits 0
else
  check "an ordinary user cannot, inside as outside" not exits 0
fi
check "outside all of it is there" diff "$T/entries" <(entries)
try /bin/sh -c 'ls /usr/lib > /dev/null && echo works'
check "and works" prints works
try cloche undo-command box
check "undo-command" exits 0
try cloche exec box -- make score
check "and inside everything runs again" prints 425
try cloche diff box --name-only
check "with its own file alone" prints "$WORK/project/data/own"
