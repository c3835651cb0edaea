#!/usr/bin/env bash
# Renamed directories: after a promotion a sandbox sees what it saw before, and can be promoted
# again.
. "$(dirname "$0")/../harness/lib.sh"

mkdir -p "$WORK/p"
cd "$WORK/p" || exit 1
own() { [ "$MODE" = system ] || chown -R -h "$CALLER_UID:$CALLER_UID" "$WORK/p"; }
inside() { cloche exec -q "$1" -- sh -c 'cd "$0" && find . -mindepth 1 | sort' "$WORK/p" < /dev/null; }
outside() { (cd "$WORK/p" && find . -mindepth 1 | sort); }
anew() {
  cloche rm --all > /dev/null 2>&1
  rm -rf "$WORK/p"
  mkdir "$WORK/p"
  cd "$WORK/p" || exit 1
  mkdir -p lib/deep other
  local name
  for name in lib/f1 lib/f2 lib/deep/f3 other/g; do echo "$name" > "$name"; done
  ln lib/f1 lib/second
  ln -s f1 lib/link
  chmod 2750 lib/deep
  own
}
# twice NAME SENTENCE: promotes, compares, works on, promotes again.
twice() {
  local saw
  saw=$(inside "$1")
  try cloche promote "$1" --yes --allow-triggers
  check "$2: it is promoted" exits 0
  check "$2: it sees what it saw before" is "$(inside "$1")" "$saw"
  check "$2: reality equals it" is "$(outside)" "$saw"
  try cloche promote "$1" --yes --allow-triggers
  check "$2: promoting it again changes nothing" is "$(outside)" "$saw"
  cloche stop "$1" > /dev/null 2>&1
  check "$2: after a stop it sees what it saw before" is "$(inside "$1")" "$saw"
  cloche exec -q "$1" -- sh -c 'echo more > more; rm -f core/f1 other/f1' < /dev/null
  saw=$(inside "$1")
  try cloche promote "$1" --yes --allow-triggers
  check "$2: after more work it is promoted again" exits 0
  check "$2: and sees what it saw before" is "$(inside "$1")" "$saw"
  check "$2: and reality equals it" is "$(outside)" "$saw"
}

anew
cloche new --name d > /dev/null
cloche exec -q d -- mv lib core < /dev/null
twice d "a renamed directory"
check "its content arrived" is "$(cat core/deep/f3)" lib/deep/f3

anew
cloche new --name s > /dev/null
cloche exec -q s -- sh -c 'mv lib t && mv other lib && mv t other && mv other/deep lib/' < /dev/null
twice s "directories that changed places"

# --- A sandbox may bring back what its own promotion deleted.
# back NAME SENTENCE: after a promotion reality equals what the sandbox sees.
back() {
  local saw
  saw=$(inside "$1")
  try cloche promote "$1" --yes --allow-triggers
  check "$2" is "$status $(outside)" "0 $saw"
}
anew
cloche new --name home > /dev/null
cloche exec -q home -- mv lib core < /dev/null
cloche promote home --yes > /dev/null 2>&1
cloche exec -q home -- mv core lib < /dev/null
back home "a directory that was renamed, promoted and renamed back is promoted"
cloche exec -q home -- sh -c 'mv lib t && mv other lib && mv t other' < /dev/null
back home "so are two that changed places"
cloche exec -q home -- sh -c 'mv lib t && mv other lib && mv t other' < /dev/null
back home "and back"
cloche exec -q home -- sh -c 'echo changed > lib/f2' < /dev/null
cloche snapshot home --name edited > /dev/null
cloche exec -q home -- rm lib/f2 < /dev/null
cloche promote home --yes > /dev/null 2>&1
cloche rollback home edited > /dev/null 2>&1
back home "a file that was edited, deleted, promoted and rolled back is promoted"
check "with its content" is "$(cat lib/f2)" changed
rm lib/f2
try cloche promote home --yes
check "if somebody else deleted it, that is a conflict" exits 4
cloche exec -q home -- sh -c 'rm lib/f2 other/g' < /dev/null
cloche promote home --yes > /dev/null 2>&1
as_caller sh -c 'echo theirs > other/g'
cloche exec -q home -- sh -c 'echo on > lib/f1' < /dev/null
try cloche promote home --yes
check "a file that somebody created again stays, and the rest is promoted" \
  is "$status $(cat other/g lib/f1 | tr '\n' ' ')" "0 theirs on "
check "with a note" mentions 'other/g: reality has changed it since it was promoted'

anew
cloche new --name stopped > /dev/null
cloche exec -q stopped -- mv lib core < /dev/null
cloche stop stopped > /dev/null
twice stopped "a stopped sandbox"

anew
cloche new --name m --in-memory > /dev/null
cloche exec -q m -- mv lib core < /dev/null
cloche promote m --yes --allow-triggers > /dev/null 2>&1
check "in memory: reality equals what it sees" is "$(outside)" "$(inside m)"

anew
cloche new --name many > /dev/null
cloche exec -q many -- sh -c 'mv lib core; mkdir n; cd n; seq 2000 | xargs touch' < /dev/null
twice many "much else"

anew
cloche new --name part > /dev/null
cloche exec -q part -- mv lib core < /dev/null
saw=$(inside part)
cloche promote part core --yes --allow-triggers > /dev/null 2>&1
check "promoting only the new name: the sandbox sees what it saw before" is "$(inside part)" "$saw"
check "and reality keeps the old one" test -e lib/f1 -a -e core/f1
cloche stop part > /dev/null
rm -rf lib
check "which may be deleted: the sandbox has its own copy" is "$(inside part)" "$saw"

anew
cloche new --name made > /dev/null
cloche exec -q made -- sh -c 'mkdir new && echo 1 > new/one' < /dev/null
cloche promote made --yes > /dev/null 2>&1
as_caller sh -c 'mkdir new/sub; echo theirs | tee new/two > new/sub/three'
cloche exec -q made -- sh -c 'echo 2 > new/one' < /dev/null
try cloche promote made --yes
check "files that somebody adds to a promoted directory do not prevent a promotion" exits 0
check "and stay" is "$(cat new/one new/two new/sub/three)" "$(printf '2\ntheirs\ntheirs')"
cloche exec -q made -- sh -c 'mkdir -p deep/er && echo 1 | tee deep/f deep/er/f > deep/er/g' < /dev/null
cloche promote made --yes > /dev/null 2>&1
cloche exec -q made -- sh -c 'rm deep/f; mv deep/er/f moved' < /dev/null
try cloche promote made --yes
check "deletions in a promoted directory are promoted" exits 0
check "and the files are gone in reality" is "$(find deep moved | sort | tr '\n' ' ')" "deep deep/er deep/er/g moved "
cloche stop made > /dev/null
check "and inside, too" is "$(cloche exec -q made -- sh -c 'find deep moved | sort | tr "\n" " "' < /dev/null)" \
  "deep deep/er deep/er/g moved "
cloche exec -q made -- rm -r new < /dev/null
try cloche promote made --yes
check "if the sandbox deletes the directory, that is a conflict" exits 4
check "and the added file stays" is "$(cat new/two)" theirs

# A person's changes to promoted files stay: the next promotion does not overwrite them.
anew
as_caller sh -c 'seq 30 > text && git init -q && git add . && git -c user.name=a -c user.email=a commit -qm 1'
cloche new --name later > /dev/null
sleep 0.5  # it is recorded in the background
cloche exec -q later -- sh -c 'sed -i "3s/.*/three/;20s/.*/twenty/" text; mkdir made; echo 1 > made/one; echo 1 > single' < /dev/null
try cloche promote later --yes --allow-triggers
check "in a repository it is promoted" exits 0
as_caller sed -i '3s/.*/3/' text
cloche exec -q later -- sh -c 'echo more > more' < /dev/null
try cloche promote later --yes --allow-triggers
check "an edit that somebody reverted by hand does not prevent a promotion" exits 0
check "and stays reverted" is "$(sed -n '3p;20p' text | tr '\n' ' ')" "3 twenty "
check "with a note" mentions 'reality has changed it since it was promoted'
cloche exec -q later -- sed -i '20s/.*/20 again/' text < /dev/null
try cloche promote later --yes --allow-triggers
check "if the sandbox edits it again, that is a conflict" exits 4
try cloche promote later --yes --allow-triggers --theirs text
check "which can be resolved" is "$(sed -n '3p;20p' text)" "$(printf 'three\n20 again')"
as_caller rm -r made single
cloche exec -q later -- sh -c 'echo more >> more' < /dev/null
try cloche promote later --yes --allow-triggers
check "files that somebody deleted do not come back by themselves" exits 4
check "and are named" says 'made/one'
try cloche promote later --yes --allow-triggers --theirs made --theirs single
check "unless --theirs is given" is "$(cat made/one single)" "$(printf '1\n1')"

anew
as_caller sh -c 'echo theirs | tee other/f1 > other/f2'
cloche new --name swapped > /dev/null
cloche exec -q swapped -- sh -c 'echo mine > lib/f2' < /dev/null
cloche promote swapped --yes > /dev/null 2>&1
as_caller sh -c 'mv lib old; mv other lib'
cloche exec -q swapped -- sh -c 'echo mine > lib/f1' < /dev/null
try cloche promote swapped --yes
check "a directory that replaced another in reality is not written into" exits 4
check "and keeps its content" is "$(cat lib/f1 lib/f2)" "$(printf 'theirs\ntheirs')"

# Hard links: promoting one name changes the ctime of all of them.
anew
cloche new --name names > /dev/null
cloche exec -q names -- sh -c 'rm lib/second; echo 1 > one; ln one two' < /dev/null
cloche promote names --yes > /dev/null 2>&1
cloche exec -q names -- sh -c 'echo mine > lib/f1; rm two' < /dev/null
try cloche promote names --yes
check "a name of a file whose other name was promoted does not count as edited" exits 0
check "and is promoted" is "$(cat lib/f1)" mine
cloche exec -q names -- sh -c 'echo 2 >> one; ln one three' < /dev/null
try cloche promote names --yes
check "the copy kept for undo does not count as another name" exits 0
check "so the file can get another name" is "$(stat -c %i one)" "$(stat -c %i three)"
cloche undo --yes > /dev/null 2>&1
try cloche undo --yes
check "the second undo works" exits 0
try cloche undo --yes
check "and the third" exits 0
check "and everything is as before" is "$(cat lib/f1 lib/second; ls)" "$(printf 'lib/f1\nlib/f1\nlib\nother')"

anew
cloche new --name another > /dev/null
cloche exec -q another -- ln other/g other/h < /dev/null
try cloche promote another --yes
check "another name for an unchanged file is promoted" exits 0
check "as a hard link" is "$(stat -c '%i %h' other/g)" "$(stat -c '%i 2' other/h)"
try cloche promote another --yes --json
check "promoting it again finds nothing to do" field_is changes '[]'
cloche undo --yes > /dev/null 2>&1
check "and it can be undone" is "$(stat -c %h other/g; ls other)" "$(printf '1\ng')"

# An undo leaves directories with another ctime.
anew
as_caller mkdir empty
cloche new --name emptied > /dev/null
cloche exec -q emptied -- sh -c 'mkdir own' < /dev/null
cloche promote emptied --yes > /dev/null 2>&1
cloche exec -q emptied -- touch empty/a own/a < /dev/null
cloche promote emptied --yes > /dev/null 2>&1
cloche undo --yes > /dev/null 2>&1
cloche exec -q emptied -- rm -r empty own < /dev/null
try cloche promote emptied --yes
check "a directory in which something was undone can be deleted" exits 0
check "and is gone" is "$(ls)" "$(printf 'lib\nother')"

# Two promotions undone one after the other: that does not make the directory, or another name of a
# file, somebody else's change.
anew
cloche new --name twofold > /dev/null
cloche exec -q twofold -- sh -c 'echo 1 > other/one; rm lib/second' < /dev/null
cloche promote twofold --yes > /dev/null 2>&1
cloche exec -q twofold -- sh -c 'echo 2 > other/two; rm lib/f1' < /dev/null
cloche promote twofold --yes > /dev/null 2>&1
cloche undo --yes > /dev/null 2>&1
try cloche promote twofold --yes --dry-run --json
check "a file whose other name was promoted and undone does not count as edited" field_is conflicts '[]'
cloche undo --yes > /dev/null 2>&1
cloche exec -q twofold -- sh -c 'rm -r other; echo file > other' < /dev/null
try cloche promote twofold --yes
check "a directory in which two promotions were undone can become a file" is "$status $(cat other)" "0 file"

# A directory's mode was promoted and undone, and then something was put into it.
anew
cloche new --name entered > /dev/null
cloche exec -q entered -- sh -c 'echo 1 > other/one' < /dev/null
cloche promote entered --yes > /dev/null 2>&1
cloche exec -q entered -- chmod 700 other < /dev/null
cloche promote entered --yes > /dev/null 2>&1
cloche undo --yes > /dev/null 2>&1
cloche exec -q entered -- sh -c 'chmod 755 other; echo 2 > other/two' < /dev/null
cloche promote entered --yes > /dev/null 2>&1
cloche exec -q entered -- chmod 750 other < /dev/null
try cloche promote entered --yes
check "its status can be promoted again" is "$status $(stat -c %a other)" "0 750"

# Promoting or undoing a directory's mode does not make the directory the sandbox's own.
for taken_back in no yes; do
  anew
  cloche new --name status > /dev/null
  cloche exec -q status -- chmod 700 lib < /dev/null
  cloche promote status --yes > /dev/null 2>&1
  [ $taken_back = no ] || cloche undo --yes > /dev/null 2>&1
  cloche exec -q status -- sh -c 'rm -r lib; mkdir lib; echo new > lib/new' < /dev/null
  saw=$(inside status)
  try cloche promote status --yes
  check "a directory made again is promoted (mode undone: $taken_back)" exits 0
  check "and reality equals it (mode undone: $taken_back)" is "$(outside)" "$saw"
done
anew
cloche new --name deep > /dev/null
cloche exec -q deep -- mv lib core < /dev/null
cloche exec -q deep -- "$PYTHON" -c 'import os
os.chdir("core")
for i in range(60):
    os.mkdir("n" * 100)
    os.chdir("n" * 100)
open("f", "w").write("deepest")' < /dev/null
saw=$(inside deep)
try cloche promote deep --yes --allow-triggers
check "a renamed directory with a path of 6,000 bytes is promoted" exits 0
check "the sandbox sees what it saw before" is "$(inside deep)" "$saw"
check "reality equals it" is "$(outside)" "$saw"

# Rootless, renaming a directory copies it, so nothing can be lost.
if [ "$MODE" != rootless ]; then
  anew
  cloche new --name used > /dev/null
  cloche exec -q used -- sh -c 'mv lib core; cd core; sleep 600 > /dev/null 2>&1 &' < /dev/null
  saw=$(inside used)
  try cloche promote used --yes --allow-triggers
  check "a renamed directory that a process works in is not replaced" exits 4
  check "and the error says why" says 'working directory'
  check "the sandbox sees what it saw before" is "$(inside used)" "$saw"
  cloche exec -q used -- sh -c 'echo new > other/g' < /dev/null
  try cloche promote used other --yes --allow-triggers
  check "everything else can still be promoted" is "$status $(cat other/g)" '0 new'
  cloche stop used > /dev/null
  try cloche promote used --yes --allow-triggers
  check "after a stop it is promoted" is "$(outside)" "$saw"

  anew
  cloche new --name lost > /dev/null
  cloche exec -q lost -- sh -c 'mv lib core; echo mine > core/mine' < /dev/null
  mv lib elsewhere
  mkdir core
  echo theirs > core/theirs
  own
  cloche stop lost > /dev/null
  try cloche diff lost --name-only
  check "a directory that vanished from reality is not a deletion" not mentions core/theirs
  try cloche promote lost --yes --allow-triggers
  check "and is not promoted" exits 4
  check "and the error says why" says 'gone in reality'
  check "and reality is left alone" is "$(cat core/theirs)" theirs
fi
cloche rm --all > /dev/null 2>&1
