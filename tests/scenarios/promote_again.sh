#!/usr/bin/env bash
# Renamed directories: after a promotion a sandbox sees what it saw, and can be promoted again.
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
  sleep 0.02  # a sandbox is made after what it is a copy of
}
# twice NAME: promotes, looks, works on, promotes again.
twice() {
  local saw
  saw=$(inside "$1")
  try cloche promote "$1" --yes --allow-triggers
  check "$2: it is promoted" exits 0
  check "$2: it sees what it saw" is "$(inside "$1")" "$saw"
  check "$2: reality equals it" is "$(outside)" "$saw"
  try cloche promote "$1" --yes --allow-triggers
  check "$2: promoted again it changes nothing" is "$(outside)" "$saw"
  cloche stop "$1" > /dev/null 2>&1
  check "$2: after a stop it sees what it saw" is "$(inside "$1")" "$saw"
  cloche exec -q "$1" -- sh -c 'echo more > more; rm -f core/f1 other/f1' < /dev/null
  saw=$(inside "$1")
  try cloche promote "$1" --yes --allow-triggers
  check "$2: worked on, it is promoted again" exits 0
  check "$2: and sees what it saw" is "$(inside "$1")" "$saw"
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
check "only the new name: the sandbox sees what it saw" is "$(inside part)" "$saw"
check "and reality keeps the old one" test -e lib/f1 -a -e core/f1
cloche stop part > /dev/null
rm -rf lib
check "which may go: the sandbox has its own" is "$(inside part)" "$saw"

anew
cloche new --name made > /dev/null
cloche exec -q made -- sh -c 'mkdir new && echo 1 > new/one' < /dev/null
cloche promote made --yes > /dev/null 2>&1
as_caller sh -c 'mkdir new/sub; echo theirs | tee new/two > new/sub/three'
cloche exec -q made -- sh -c 'echo 2 > new/one' < /dev/null
try cloche promote made --yes
check "what somebody adds to a promoted directory is in nobody's way" exits 0
check "and stays" is "$(cat new/one new/two new/sub/three)" "$(printf '2\ntheirs\ntheirs')"
cloche exec -q made -- rm -r new < /dev/null
try cloche promote made --yes
check "though the directory goes inside" exits 4
check "it is not run over" is "$(cat new/two)" theirs

# Rootless a rename of a directory is a copy: nothing can be lost.
if [ "$MODE" != rootless ]; then
  anew
  cloche new --name used > /dev/null
  cloche exec -q used -- sh -c 'mv lib core; cd core; sleep 600 > /dev/null 2>&1 &' < /dev/null
  saw=$(inside used)
  try cloche promote used --yes --allow-triggers
  check "a renamed directory that a process works in is not replaced" exits 4
  check "it is said why" says 'working directory'
  check "the sandbox sees what it saw" is "$(inside used)" "$saw"
  cloche stop used > /dev/null
  try cloche promote used --yes --allow-triggers
  check "stopped, it is promoted" is "$(outside)" "$saw"

  anew
  cloche new --name lost > /dev/null
  cloche exec -q lost -- sh -c 'mv lib core; echo mine > core/mine' < /dev/null
  mv lib elsewhere
  mkdir core
  echo theirs > core/theirs
  own
  sleep 0.02  # a sandbox is made after what it is a copy of
  cloche stop lost > /dev/null
  try cloche diff lost --name-only
  check "what reality took away is not a deletion" not mentions core/theirs
  try cloche promote lost --yes --allow-triggers
  check "and is not promoted" exits 4
  check "which says why" says 'gone in reality'
  check "and leaves reality alone" is "$(cat core/theirs)" theirs
fi
cloche rm --all > /dev/null 2>&1
