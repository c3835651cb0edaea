#!/usr/bin/env bash
# `cloche run` is the command itself, on a copy.
. "$(dirname "$0")/../harness/lib.sh"
# Rootless, only the user's own group can be mapped (explain says so).
[ "$MODE" != shared ] || SUPPLEMENTARY=$CALLER_UID,4242,4243

try cloche run -- sh -c 'echo out; echo err >&2'
check "standard output is the command's alone" prints out
check "standard error carries the command's" says '^err$'
check "success is success" exits 0

for code in 0 1 7 125 255; do
  try cloche run -- sh -c "exit $code"
  check "exit status $code passes through" exits $code
done
for signal in 9 15 6; do
  try cloche run -- sh -c "kill -$signal \$\$"
  check "death by signal $signal is 128 + $signal" exits $((128 + signal))
done
try cloche run -- no-such-command-anywhere
check "an unknown command is 127" exits 127
check "an unknown command is named" says no-such-command-anywhere
try cloche run -- /nowhere/at/all
check "a path that does not exist is 127" exits 127
try cloche run -- /etc/passwd
check "a file that is not executable is 126" exits 126
try cloche run -- /tmp
check "a directory is 126" exits 126
printf 'not a program' > "$WORK/odd" && chmod 755 "$WORK/odd"
try cloche run -- ./odd
check "an executable without a format is 126" exits 126
try cloche run
check "no command at all is 125" exits 125
try cloche run --no-such-option -- true
check "a bad option is 125" exits 125
check "nothing of ours is on standard output" prints_nothing

printf 'a\0b\nc' > "$T/small"
in=$T/small try cloche run -- cat
check "standard input arrives byte by byte" cmp "$T/small" "$OUT"
head -c 10000000 /dev/urandom > "$T/large"
in=$T/large try cloche run -- cat
check "10 MB of binary data pass through unchanged" cmp "$T/large" "$OUT"
in=$T/large try cloche run -- head -c 5
check "a command may leave its input unread" exits 0
try cloche run -- cat
check "an empty input ends cat" exits 0
cloche run -- yes 2> "$ERR" | head -1 > "$OUT"
status=${PIPESTATUS[0]}
check "a reader that leaves ends the writer" prints y
check "and its status is SIGPIPE's" exits 141
cloche run -- sh -c 'exec >&-; echo gone >&2' > "$OUT" 2> "$ERR"
status=$?
check "a command may close its output" says '^gone$'
try cloche run -- sh -c 'exec 0<&- 1>&- 2>&-; exit 4'
check "a command that closes everything still has its status" exits 4

try cloche run -- sh -c 'echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin'
check "/dev/stdout can be opened" prints out
check "/dev/stderr can be opened" says '^err$'

describe='pwd; id -u; id -g; id -G; id -un 2>&1; echo "$HOME|$PATH|$LANG|$TZ|$TERM"; date +%Z; locale 2>&1 | head -3; umask'
try as_caller sh -c "$describe"
cp "$OUT" "$T/outside"
try cloche run -- sh -c "$describe"
check "directory, user, groups, HOME, PATH, locale and time zone are the caller's" diff "$T/outside" "$OUT"
mkdir "$WORK/sub dir" && cd "$WORK/sub dir" || exit 1
try cloche run -- pwd
check "it starts where the caller stands" prints "$WORK/sub dir"
mkdir "$WORK/vanishing" && cd "$WORK/vanishing" && rmdir "$WORK/vanishing"
try cloche run -- true
check "a directory that is gone is 125" exits 125
check "and the message has a cure" says 'cure:'
cd "$WORK" || exit 1

as_caller sh -c 'mkdir tree; echo one > tree/one; echo two > tree/two; ln -s one tree/link; echo p > "$HOME/.profile"'
fingerprint() { find "$WORK" "$CALLER_HOME" -printf '%p %m %u %s %l %T@\n' | sort; cat "$WORK"/tree/* "$CALLER_HOME/.profile"; }
fingerprint > "$T/before"
try cloche run -- sh -c 'echo new > tree/new; echo more >> tree/one; rm tree/two; mv tree/link tree/link2
  rm -rf "$HOME"/.profile; mkdir -p "$HOME/a/b"; cat tree/new; ls tree | wc -l'
check "inside, the changes are there" prints "new
3"
fingerprint > "$T/after"
check "outside, nothing has changed" diff "$T/before" "$T/after"
check "one line tells what changed" says 'deleted; discarded'
try cloche run --json -- sh -c 'echo new > tree/new; echo more >> tree/one; rm tree/two'
check "the result counts what was added" field_is changes.added 1
check "the result counts what was changed" field_is changes.changed 1
check "the result counts what was deleted" field_is changes.deleted 1
check "the result says it was not kept" field_is changes.kept false
# The keeper removes the files of one run while it is asked to count those of the next.
counted=$(as_caller sh -c "for i in \$(seq 150); do $BIN/cloche run --json -- touch tree/new; done" | grep -c '"added":1')
check "so does each of many in a row" is "$counted" 150
try cloche run -- true
check "without changes there is nothing to say" says_nothing
try cloche run -q -- touch x
check "--quiet is quiet" says_nothing
try cloche run --keep -- sh -c 'echo kept > kept-file'
id=$(grep -o 'sb_[a-z0-9]*' "$ERR" | head -1)
check "--keep names the sandbox" test -n "$id"
try cloche exec "$id" -- cat kept-file
check "and its files are there" prints kept
try cloche rm "$id"
check "until it is removed" exits 0
try cloche run --keep --name kept-box -- true
check "one that has a name is called by it" says 'kept as kept-box; go on with: cloche exec kept-box'
cloche rm kept-box > "$T/log" 2>&1

try cloche run -- sh -c 'echo x >> ~/.profile; tail -1 ~/.profile'
check "the home can be written inside" prints x
check "the home is as it was outside" is "$(cat "$CALLER_HOME/.profile")" p
try cloche run --timing -- true
check "--timing tells the steps" says 'total'
try cloche run -- sh -c 'cat /proc/self/status'
check "no new privileges" mentions 'NoNewPrivs:.1'
check "a seccomp filter is on" mentions 'Seccomp:.2'
[ "$MODE" = system ] || check "no capabilities" mentions 'CapBnd:.0000000000000000'
try cloche run -- sh -c 'for ns in /proc/self/ns/*; do readlink "$ns"; done'
for ns in /proc/self/ns/*; do readlink "$ns"; done | sort > "$T/namespaces"
check "every namespace is its own" test -z "$(sort "$OUT" | comm -12 - "$T/namespaces")"
try cloche run -- sh -c 'ps ax 2>/dev/null | wc -l; ls /proc | grep -c "^[0-9]"'
check "only its own processes are visible" test "$(tail -1 "$OUT")" -lt 8
try cloche run -- sh -c 'ls /sys | grep -vx "devices\|fs"; ls /sys/devices/system | grep -vx cpu; ls /sys/class 2> /dev/null'
check "/sys is not the host's" prints_nothing
try cloche run -- sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "'
check "there is only a loopback device" prints lo
try cloche ls --json
check "a disposable sandbox leaves no entry" prints '[]'

# Sandboxes do not nest.
try cloche run -- "$BIN/cloche" run -- true
check "inside a sandbox cloche says where it is" says 'you are inside sb_[a-z0-9]*: sandboxes do not nest'
check "and what to do" says 'run the command as it is'
check "and fails" exits 125
try cloche run -- env -i "$BIN/cloche" ls
check "also where the variable is gone" says 'you are inside a sandbox'

# Missing and misspelt words are named.
try cloche port nope
check "port without a port says what is missing" says 'PORT is required'
check "and how it is called" says 'cure: cloche port SANDBOX PORT'
try cloche port nope 80
check "port of no sandbox is not found" exits 3
check "and says where the names are" says 'cure: cloche ls'
try cloche fork box --count many
check "a number that is none is named" says '^cloche: --count many: not a whole number'
try cloche port nope eighty
check "port of a word is refused" exits 2
check "and says what a port is" says 'PORT: eighty is not a port'
try cloche net box allow
check "net allow without a rule says so" says 'net allow: no rule is given'
check "and gives an example" says 'cloche net box allow HOST:443'
try cloche net box alow x
check "net with an unknown action asks whether another was meant" says 'did you mean allow'
try cloche run --allow @npmm -- true
check "a misspelt preset, too" says 'did you mean @npm?'
try cloche run --allow @npm @pypi @debian -- echo there
check "several presets may follow one --allow" prints there
try cloche run --allow @npm @pypy -- true
check "and each of them is looked at" says 'did you mean @pypi?'
try cloche run --allow http://localhost:3000 -- true
check "a rule that only the proxy is asked for is taken" exits 0
check "and says so" says 'http://localhost:3000 .*CLOCHE_PROXY.*write http://host.cloche:3000'
try cloche run --allow http://host.cloche:3000 -- true
check "one for the machine says nothing" says_nothing
refused invalid new --allow '*.com'
try cloche show "$(cloche new 2> /dev/null)"
check "show does not speak of limits that nobody asked for" not mentions 'not enforced here: inodes'
