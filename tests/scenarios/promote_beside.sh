#!/usr/bin/env bash
# Promotions and undos next to other states: forks, snapshots, other sandboxes, and a person's
# changes in reality.
. "$(dirname "$0")/../harness/lib.sh"

mkdir -p "$WORK/p"
cd "$WORK/p" || exit 1
inside() { cloche exec -q "$1" -- sh -c 'cd "$0" && find . -mindepth 1 | sort' "$WORK/p" < /dev/null; }
outside() { (cd "$WORK/p" && find . -mindepth 1 | sort); }
work() { cloche exec -q "$1" -- sh -c "$2" < /dev/null; }
anew() {
  cloche rm --all > /dev/null 2>&1
  chmod -R u+rwX "$WORK/p" 2> /dev/null
  rm -rf "$WORK/p"
  mkdir "$WORK/p"
  cd "$WORK/p" || exit 1
  mkdir -p lib/deep other
  local name
  for name in lib/f1 lib/f2 lib/deep/f3 other/f1; do echo "$name" > "$name"; done
  [ "$MODE" = system ] || chown -R -h "$CALLER_UID:$CALLER_UID" "$WORK/p"
}

# A directory that a sandbox made and then made read-only.
anew
cloche new --name closed > /dev/null
work closed 'mkdir -p shut/in && touch shut/a shut/b shut/in/c && chmod 555 shut/in shut'
try cloche promote closed --yes
check "a read-only directory is promoted" exits 0
check "with its mode" is "$(stat -c %a shut)" 555
check "inside, its mode is unchanged" is "$(work closed 'stat -c %a shut')" 555
work closed 'chmod 755 shut shut/in && rm shut/a shut/in/c && chmod 555 shut/in shut'
saw=$(inside closed)
try cloche promote closed --yes
if [ "$MODE" = system ]; then
  check "deletions in it are promoted" exits 0
  check "and the files are gone in reality" is "$(outside)" "$saw"
else
  check "only root may promote deletions in it" exits 4
  check "each is named" is "$(grep -c -e shut/a: -e shut/in/c: "$ERR")" 2
fi
cloche stop closed > /dev/null
check "and the sandbox still sees the deletions" is "$(inside closed)" "$saw"

# Reality's directory is not the one the sandbox saw, and somebody works in it.
anew
cloche new --name swapped > /dev/null
sleep 0.5  # directories are recorded in the background
work swapped 'echo mine > lib/f1'
as_caller sh -c 'mv lib old; mv other lib; echo more > lib/more'
cloche stop swapped > /dev/null
try cloche promote swapped --yes
check "a directory that replaced another in reality is not written into" exits 4
check "and keeps its content" is "$(cat lib/f1)" other/f1
anew
cloche new --name added > /dev/null
sleep 0.5  # directories are recorded in the background
as_caller sh -c 'echo more > lib/more'
work added 'echo mine > lib/f1'
try cloche promote added --yes
check "a directory to which somebody adds a file is still the same" exits 0
check "and is written into" is "$(cat lib/f1 lib/more)" "$(printf 'mine\nmore')"

# A sandbox made between a promotion and its undo saw the promoted state.
anew
cloche new --name early > /dev/null
work early 'echo early > lib/f1; rm lib/f2'
cloche promote early --yes > /dev/null 2>&1
cloche new --name late > /dev/null
work late 'echo late >> lib/f1; echo late > lib/f2'
cloche undo --yes > /dev/null 2>&1
try cloche promote late --yes
check "for it, the undo is a change in reality" is "$status $(cat lib/f1 lib/f2 | tr '\n' ' ')" "4 lib/f1 lib/f2 "
try cloche promote early --yes
check "for the sandbox that was promoted, it is not" is "$status $(cat lib/f1 | tr '\n' ' ')" "0 early "

# A person's changes to a directory's attributes or owner stay, even if a promotion is undone.
anew
cloche new --name attributes > /dev/null
work attributes 'setfattr -n user.one -v 1 lib'
cloche promote attributes --yes > /dev/null 2>&1
as_caller setfattr -n user.one -v 2 lib
try cloche undo --yes
check "an attribute that somebody changed is not undone" \
  is "$status $(getfattr --only-values -n user.one lib)" "4 2"
as_caller setfattr -n user.one -v 1 lib
try cloche undo --yes
check "a changed time alone does not prevent an undo" is "$status $(getfattr -d lib)" "0 "
if [ "$MODE" = system ]; then
  work attributes 'chown 0:7 lib'
  cloche promote attributes --yes > /dev/null 2>&1
  chown 1 lib
  try cloche undo --yes
  check "nor is an owner" is "$status $(stat -c %u:%g lib)" "4 1:7"
fi

# A promotion deletes a directory that another sandbox shows under another name.
for other in fork sibling stopped; do
  anew
  cloche new --name parent > /dev/null
  work parent 'mv lib core; echo mine > core/mine'
  if [ $other = fork ]; then
    cloche fork parent --name child > /dev/null
  else
    cloche new --name child > /dev/null
    work child 'mv lib moved'
  fi
  [ $other != stopped ] || cloche stop parent > /dev/null
  saw=$(work parent 'find core | sort; cat core/f1 core/deep/f3')
  try cloche promote child --yes --allow-triggers
  check "$other: a directory that another sandbox has renamed is promoted" exits 0
  check "$other: and the directory is gone in reality" test ! -e lib
  check "$other: the other sandbox sees what it saw before" \
    is "$(work parent 'find core | sort; cat core/f1 core/deep/f3')" "$saw"
  cloche stop parent > /dev/null
  check "$other: after a stop, too" is "$(work parent 'find core | sort; cat core/f1 core/deep/f3')" "$saw"
done

# Directories made by promoting a saved state count as promoted for the current state, too.
anew
cloche new --name saved > /dev/null
work saved 'mkdir made && touch made/a made/b'
cloche snapshot saved --name one > /dev/null
try as_caller env PYTHONPATH="$BIN" CLOCHE_SOCKET="$RUN/cloched.sock" "$PYTHON" -c 'import api
looked = api.call("POST", "/v1/sandboxes/saved/promote", {"snapshot": "one", "dry_run": True})
print(api.call("POST", "/v1/sandboxes/saved/promote", {"snapshot": "one", "digest": looked[1]["digest"]}))'
check "a saved state is promoted" test -e made/a
work saved 'rm made/a'
try cloche promote saved --yes
check "a later deletion in its directories is promoted" is "$(ls made)" b
cloche stop saved > /dev/null
check "and the file is gone inside, too" is "$(work saved 'ls made')" b

# A directory that another sandbox made, and in which promotions were undone.
anew
cloche new --name old > /dev/null
cloche new --name young > /dev/null
work young 'mkdir made'
cloche promote young --yes > /dev/null 2>&1
work old 'touch made/in'
cloche promote old --yes > /dev/null 2>&1
cloche new --name third > /dev/null
work third 'rm made/in'
cloche promote third --yes > /dev/null 2>&1
cloche undo --yes > /dev/null 2>&1
cloche undo --yes > /dev/null 2>&1
check "it is empty again" is "$(ls made)" ""
work old 'rm -r made; echo file > made'
try cloche promote old --yes
check "it does not become a file silently" is "$status $(stat -c %F made)" "4 directory"

# Two sandboxes and a person edit one text in different places.
anew
as_caller sh -c 'seq 40 > text && git init -q && git add . && git -c user.name=a -c user.email=a commit -qm 1'
cloche new --name one > /dev/null
cloche new --name two > /dev/null
sleep 0.5  # it is recorded in the background
work one 'sed -i 10s/.*/one/ text'
work two 'sed -i 20s/.*/two/ text'
as_caller sed -i '2s/.*/person/' text
cloche promote one text --yes > /dev/null 2>&1
cloche promote two text --yes > /dev/null 2>&1
work one 'sed -i 30s/.*/again/ text'
try cloche promote one text --yes
check "a merge that another sandbox merged onto can be merged onto again" \
  is "$status $(sed -n '2p;10p;20p;30p' text | tr '\n' ' ')" "0 person one two again "
as_caller sed -i '10s/.*/10/' text
work one 'sed -i 35s/.*/more/ text'
try cloche promote one text --yes
check "but an edit that a person reverted there is not merged again" is "$status $(sed -n '10p;35p' text | tr '\n' ' ')" "4 10 35 "

# More changes than are examined while the sandbox is frozen.
anew
cloche new --name many > /dev/null
work many 'mkdir -p n/deep && cd n && seq 1200 | xargs touch && touch deep/a deep/b'
try cloche promote many --yes
check "many changes are promoted" is "$(find n -type f | wc -l)" 1202
work many 'rm n/7 n/deep/a; seq 2000 2400 | (cd n && xargs touch)'
try cloche promote many --yes
check "deletions among them are promoted" is "$(inside many | sha256sum)" "$(outside | sha256sum)"
check "and the files are gone" test ! -e n/7 -a ! -e n/deep/a

# A running sandbox stops showing what an undo removed.
anew
cloche new --name back > /dev/null
cloche snapshot back --name start > /dev/null
work back 'mkdir d; echo 1 > d/b; echo 1 > fresh'
try cloche promote back --yes
cloche rollback back start > /dev/null
check "after a rollback reality shows through" is "$(work back 'cat d/b fresh')" "$(printf '1\n1')"
try cloche undo --yes
check "it is undone" exits 0
check "and the sandbox no longer shows it" is "$(inside back)" "$(outside)"
check "not even by name" is "$(work back 'cat fresh 2> /dev/null; test -e d || echo gone')" gone
work back 'mkdir -p d; echo 2 > d/c'
try cloche promote back --yes
check "files made in its place are promoted" is "$(inside back)" "$(outside)"

# Nor does it show what another sandbox's promotion replaced.
cloche new --name two > /dev/null
work two 'cat lib/f1 lib/f2' > /dev/null
work back 'echo new > x; mv x lib/f1; rm lib/f2'
try cloche promote back --yes
check "another running sandbox sees the promoted state" is "$(work two 'cat lib/f1; test -e lib/f2 || echo gone')" \
  "$(printf 'new\ngone')"
cloche rm --all > /dev/null 2>&1

# ... nor do snapshots lose what they show under another name: of this sandbox, or of another.
for promoted in own other; do
  anew
  cloche new --name kept > /dev/null
  cloche new --name child > /dev/null
  work kept 'mv lib core; echo mine > core/mine'
  saw=$(work kept 'find core | sort; cat core/f1 core/deep/f3')
  cloche snapshot kept --name renamed > /dev/null
  work kept 'rm -r core'
  work child 'mv lib moved'
  [ $promoted = own ] && box=kept || box=child
  try cloche promote $box --yes --allow-triggers
  check "$promoted: promoted" is "$status $(test -e lib && echo there)" "0 "
  cloche rollback kept renamed > /dev/null 2>&1
  check "$promoted: a rollback restores the saved state" \
    is "$(work kept 'find core | sort; cat core/f1 core/deep/f3')" "$saw"
  cloche fork "$(cloche snapshots kept --json | "$PYTHON" -c 'import json,sys
print([each["id"] for each in json.load(sys.stdin) if each["name"] == "renamed"][0])')" --name twin > /dev/null
  check "$promoted: and so does a fork" is "$(work twin 'find core | sort; cat core/f1 core/deep/f3')" "$saw"
  work kept true
  saw=$(inside kept)
  try cloche promote kept --yes --allow-triggers
  [ $promoted = other ] || check "after the rollback it is promoted" is "$status $(outside)" "0 $saw"
done
