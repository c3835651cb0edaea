#!/usr/bin/env bash
# The changes of a sandbox: complete, exact, as statistics, patch, names and JSON; and nothing that
# the caller may not read.
. "$(dirname "$0")/../harness/lib.sh"

as_caller git init -q -b main . && as_caller git config user.email a@b && as_caller git config user.name a
as_caller mkdir -p src dir/deep empty swap
as_caller sh -c 'printf "a\nb\nc\n" > src/a; printf x > src/gone; echo k > dir/deep/k; echo m > dir/m
  ln -s a src/link; echo same > src/same; echo mode > src/mode; printf "\0bin" > src/bin; echo .env > .gitignore
  echo f > swap/f; echo file > tofile; echo s > "odd name"; echo SECRET=1 > .env'
as_caller git add -A && as_caller git commit -qm base
try cloche new --name box
check "a sandbox" exits 0

try cloche diff box
check "nothing changed: nothing is printed" prints ''
check "and that is success" exits 0
cloche exec box -- sh -c 'cat src/a > /dev/null; : >> src/same; chmod 644 src/same; touch src/same' > "$OUT" 2> "$ERR"
try cloche diff box --name-only
check "files that were only opened or touched have not changed" prints ''

cloche exec box -- sh -c 'printf "a\nB\nc\n" > src/a; rm src/gone; ln -sf b src/link; chmod 755 src/mode
  printf "\0more" > src/bin; rm -r swap; echo now > swap; rm tofile; mkdir tofile; echo in > tofile/in
  mv "odd name" "odd
name"; mkdir -p new/er; echo n > new/er/n; ln new/er/n new/hard; mkfifo pipe; rmdir empty
  printf "\033[31mred" > "$(printf "esc\033[2J")"; echo mine > .env'
try cloche diff box --json
check "all kinds, each once" is "$("$PYTHON" "$BIN/changes.py" kinds "$WORK" < "$OUT")" 'added .env
deleted empty
added esc\x1b[2J
added new
added new/er
added new/er/n
added new/hard
added odd\x0aname
deleted odd name
added pipe
modified src/a
modified src/bin
deleted src/gone
modified src/link
modified src/mode
type_changed swap
deleted swap/f
type_changed tofile
added tofile/in'
digest=$(field digest) id=$(field id)
check "hard links are one group" is "$("$PYTHON" "$BIN/changes.py" links "$WORK/new" < "$OUT")" '2 files, 1 inode'
check "and it has a digest" test "${digest#sha256:}" != "$digest"
try cloche show box --json
check "and the sandbox's id" field_is id "$id"
try cloche diff box --json
check "the digest is the same when asked again" field_is digest "$digest"
try cloche diff box --json src
check "and another for a part" not field_is digest "$digest"
try cloche diff box
check "statistics name what changed" mentions 'src/a .*|.*2 +-'
check "names from inside are escaped" mentions 'esc\\x1b\[2J'
check "no escape sequence gets through" is "$(grep -c "$(printf '\033')" "$OUT")" 0
check "the hidden file of the project is shown as new, not as changed" mentions '\.env (new)'

# A patch that git and patch take.
try cloche diff box --patch
check "binary files are held whole" mentions 'GIT binary patch'
copy=$CALLER_HOME/copy
rm -rf "$copy" && as_caller git clone -q "$WORK" "$copy"
try cloche diff box --patch src/a src/bin
cp "$OUT" "$CALLER_HOME/some.patch" && chmod a+r "$CALLER_HOME/some.patch"
try as_caller sh -c "cd '$copy' && git apply < ../some.patch"
check "git apply takes a binary file, too" is "$status $(od -c "$copy/src/bin" | head -1)" "0 $(printf '\0more' | od -c | head -1)"
try as_caller sh -c "cd '$copy' && git apply -R < ../some.patch"
check "and back" is "$status $(od -c "$copy/src/bin" | head -1)" "0 $(printf '\0bin' | od -c | head -1)"
for tool in 'git apply' 'patch -sp1'; do
  copy=$CALLER_HOME/copy
  rm -rf "$copy" && as_caller git clone -q "$WORK" "$copy"
  try cloche diff box --patch src/a src/gone src/link src/mode new
  cp "$OUT" "$CALLER_HOME/some.patch" && chmod a+r "$CALLER_HOME/some.patch"
  try as_caller sh -c "cd '$copy' && $tool < ../some.patch"
  check "$tool accepts it" exits 0
  check "$tool: contents" is "$(cat "$copy/src/a" "$copy/new/er/n")" "$(printf 'a\nB\nc\nn')"
  check "$tool: deletions, modes and links" \
    is "$([ ! -e "$copy/src/gone" ] && [ -x "$copy/src/mode" ] && readlink "$copy/src/link")" b
done

# Things that changed places, once with another kind of thing in the way.
as_caller sh -c 'mkdir -p p/one/in p/two p/three; echo 1 > p/one/f; echo i > p/one/in/i; echo 2 > p/two/f; echo t > p/two/t
  echo 3 > p/three/f; echo x > p/x; mkdir p/y; echo y > p/y/y'
cloche new --name places > "$OUT" 2>&1
cloche exec places -- sh -c 'cd p; mv one t; mv two one; mv t two; rm -r three; mv two/in three' 2> "$ERR"
for tool in 'git apply' 'patch -sp1' 'git apply again'; do
  [ "$tool" != 'git apply again' ] || cloche exec places -- sh -c 'cd p; mv x t; mv y x; mv t y' 2> "$ERR"
  rm -rf "$copy" && as_caller mkdir "$copy" && as_caller cp -r p "$copy/p"
  try cloche diff places --patch p
  cp "$OUT" "$CALLER_HOME/some.patch" && chmod a+r "$CALLER_HOME/some.patch"
  try as_caller sh -c "cd '$copy' && ${tool% again} < ../some.patch"
  check "$tool accepts what changed places" exits 0
  cloche exec places -- sh -c 'cd p; grep -r .' 2> "$ERR" | sort > "$T/inside"
  check "$tool: it is as inside" is "$(cd "$copy/p" && grep -r . | sort)" "$(cat "$T/inside")"
done
rm -rf p

# Against a snapshot, against another sandbox, of a snapshot.
try cloche snapshot box --name then
check "a snapshot" exits 0
try cloche diff box --against then --name-only
check "against itself: nothing" prints ''
cloche exec box -- sh -c 'echo more >> src/a; rm -r new; echo back > src/gone' 2> "$ERR"
try cloche diff box --against then --name-only
check "against a snapshot: only what came after" prints "$WORK/new
$WORK/new/er
$WORK/new/er/n
$WORK/new/hard
$WORK/src/a
$WORK/src/gone"
try cloche diff box --snapshot then --json
check "of a snapshot: the state of then" field_is digest "$digest"
try cloche fork box --name twin
check "a fork" exits 0
try cloche diff twin --against box --name-only
check "a fork equals what it came from" prints ''
cloche exec twin -- sh -c 'echo other > src/same' 2> "$ERR"
try cloche diff twin --against box --name-only
check "until it changes" prints "$WORK/src/same"
try cloche diff box --against twin --name-only
check "seen from both sides" prints "$WORK/src/same"

# Running, stopped, with a writer.
cloche exec box -d -- sh -c 'while :; do date > clock; done' > "$OUT" 2> "$ERR"
try cloche diff box --name-only
check "while it runs" mentions "$WORK/clock"
cloche stop box > "$OUT" 2>&1
try cloche diff box --name-only
check "and stopped" mentions "$WORK/clock"

# Whole directories. (Rootless a rename of one is a copy.)
cloche new --name move > "$OUT" 2>&1
if [ "$MODE" != rootless ]; then
  cloche exec move -- sh -c 'mv dir elsewhere; echo x >> elsewhere/m' 2> "$ERR"
  try cloche diff move --json
  check "a renamed directory is one change, and what changed in it another" \
    is "$("$PYTHON" "$BIN/changes.py" kinds "$WORK" < "$OUT")" 'renamed elsewhere from dir
renamed elsewhere/m from dir/m'
  try cloche diff move --patch
  check "in a patch every file is renamed" is "$(grep -c '^rename from' "$OUT")" 2
  cloche exec move -- rm elsewhere/deep/k 2> "$ERR"
  try cloche diff move
  check "a file deleted from it is named as it was" mentions '^ dir/deep/k (gone)'
  cloche exec move -- sh -c 'echo k > elsewhere/deep/k' 2> "$ERR"
  cloche exec move -- sh -c 'mv elsewhere dir; sed -i "\$d" dir/m' 2> "$ERR"
  try cloche diff move --name-only
  check "moved back it has not changed" prints ''
  cloche exec move -- sh -c 'mv dir a; mv a/deep b; mkdir dir; echo new > dir/new' 2> "$ERR"
  try cloche diff move --name-only
  check "moved, taken apart, made anew" prints "$WORK/a
$WORK/b
$WORK/dir
$WORK/dir/new"
fi
cloche exec move -- sh -c 'rm -rf src; mkdir src; echo only > src/only' 2> "$ERR"
try cloche diff move --name-only src
check "a directory made anew shows what is gone" prints "$WORK/src/a
$WORK/src/bin
$WORK/src/gone
$WORK/src/link
$WORK/src/mode
$WORK/src/only
$WORK/src/same"

# Attacks from inside: change files without a trace, make the diff endless, make it fail.
as_caller sh -c 'mkdir -p back over/x part/q; echo f > back/f; echo f > over/x/f; echo g > part/q/g; printf aaaa > locked; chmod 0 locked'
cloche new --name hostile > "$OUT" 2>&1
if [ "$MODE" != rootless ]; then
  cloche exec hostile -- sh -c 'mv back away; mv away back' 2> "$ERR"
  try cloche diff hostile --name-only
  check "a directory that was moved there and back has not changed" prints ''
  cloche exec hostile -- sh -c 'mv over under; rm -r under/x; mv part/q under/x' 2> "$ERR"
  try cloche diff hostile --json
  check "a directory replaced by a rename is shown as deleted" mentions '"kind":"deleted","path":"[^"]*/x/f"'
fi
try cloche diff hostile --json
before=$(field digest)
cloche exec hostile -- sh -c 'chmod 600 locked; printf EVIL > locked; chmod 0 locked' 2> "$ERR"
try cloche diff hostile --json
check "a file that cannot be read is shown all the same" mentions '/locked"'
check "and the digest is another, or none" not field_is digest "$before"
cloche exec hostile -- sh -c 'truncate -s 9T huge; mkdir shut; echo x > shut/x; chmod 0 shut' 2> "$ERR"
try cloche diff hostile --name-only
check "a file without end and a closed directory do not keep the rest from being shown" mentions "$WORK/huge"
check "nor does anything else" exits 0
check "and unreadable files are reported" says 'could not be read'
for i in 1 2 3 4 5 6; do cloche diff hostile --name-only > "$T/diff.$i" 2>&1 & pids[i]=$!; done
for i in 1 2 3 4 5 6; do wait "${pids[i]}"; done
check "several at once answer the same" is "$(cat "$T"/diff.? | sort | uniq -c | awk '{print $1}' | sort -u)" 6
rm -f locked

# A directory made again is another one: a socket that is gone with the old one is reported, too.
as_caller mkdir anew
as_caller "$PYTHON" -c 'import socket; socket.socket(socket.AF_UNIX).bind("anew/s")'
try cloche run --keep --name again -- sh -c 'rm -r anew && mkdir anew'
try cloche diff again --json
check "a socket in it" is "$("$PYTHON" "$BIN/changes.py" kinds "$WORK" < "$OUT")" 'deleted anew/s'
rm -r anew

# Rights and mistakes.
if [ "$MODE" = shared ]; then
  try as_user $((CALLER_UID + 1)) "$BIN/cloche" diff box
  check "somebody else's sandbox is not there" says 'no sandbox is called box'
fi
refused not_found diff nobody
refused not_found diff box --against nobody
try cloche diff box --stat --patch
check "two formats are refused" exits 2
