#!/usr/bin/env bash
# An undo takes directories away whose content other sandboxes and snapshots show by another name: they keep it.
. "$(dirname "$0")/../harness/lib.sh"

work() { cloche exec -q "$1" -- sh -c "$2" < /dev/null; }
show() { work "$1" 'find core | sort; cat core/one core/deep/two'; }
outside() { (cd "$WORK/p" && find . -mindepth 1 | sort); }
# made: the sandbox `maker` has promoted the directory lib; `other` is made after that and calls it core.
made() {
  cloche rm --all --force > /dev/null 2>&1
  rm -rf "$WORK/p"
  mkdir "$WORK/p"
  cd "$WORK/p" || exit 1
  echo there > there
  [ "$MODE" = system ] || chown -R "$CALLER_UID:$CALLER_UID" "$WORK/p"
  cloche new --name maker > /dev/null
  work maker 'mkdir -p lib/deep; echo one > lib/one; echo two > lib/deep/two'
  cloche promote maker --yes > /dev/null 2>&1
  cloche new --name other > /dev/null
  work other 'mv lib core; echo mine > core/mine'
}
# keeps SANDBOX SAW SENTENCE
keeps() {
  check "$3: it is undone" is "$status $(outside)" "0 ./there"
  check "$3: the sandbox sees what it saw" is "$(show "$1")" "$2"
  cloche stop "$1" > /dev/null
  check "$3: also after a stop" is "$(show "$1")" "$2"
}

made
saw=$(show other)
try cloche undo --yes
keeps other "$saw" "a running sandbox"
try cloche promote other --yes
check "its copy can be promoted" is "$status $(cat core/deep/two core/mine | tr '\n' ' ')" "0 two mine "

made
saw=$(show other)
cloche stop other > /dev/null
try cloche undo --yes --json
check "a stopped sandbox: the answer is one document" field_is state undone
keeps other "$saw" "a stopped sandbox"

made
saw=$(show other)
cloche snapshot other --name renamed > /dev/null
work other 'rm -r core'
try cloche undo --yes
cloche rollback other renamed > /dev/null 2>&1
keeps other "$saw" "a snapshot"

made
as_caller sh -c 'echo theirs > lib/one'
try cloche undo --yes
check "where reality has moved on nothing is undone" is "$status $(cat lib/one)" "4 theirs"

# Rootless a rename of a directory is a copy, so that nothing depends on lib.
if [ "$MODE" != rootless ]; then
  rm -r lib
  work other true
  cloche refresh other > /dev/null 2>&1
  check "and nothing was copied for it" not work other 'test -e core/deep/two'

  made
  saw=$(show other)
  work other 'cd core/deep; sleep 600 > /dev/null 2>&1 &'
  try cloche undo --yes
  check "a directory that a process works in cannot be copied: nothing is undone" \
    is "$status $(cat lib/one)" "4 one"
  check "it is said where" says 'in other,'
  check "and why" says 'working directory'
  check "the sandbox sees what it saw" is "$(show other)" "$saw"
  cloche stop other > /dev/null
  try cloche undo --yes
  keeps other "$saw" "when that process is gone"
fi

# Nobody copies anything without a daemon.
made
saw=$(show other)
stop_daemon
if [ "$MODE" = shared ]; then
  try cloche undo --yes
  check "without a daemon nothing is undone" is "$status $(cat lib/one)" "6 one"
  root_cloche ls > /dev/null
fi
try cloche undo --yes
keeps other "$saw" "after a daemon's end"

# More directories than fit into one message.
made
as_caller sh -c 'mkdir n; cd n; seq 3000 | xargs mkdir; touch 7/f'
cloche new --name third > /dev/null
work third 'mv n moved'
work maker true
cloche refresh maker > /dev/null 2>&1
work maker 'rm -r n/*'
try cloche promote maker --yes
check "thousands of directories are promoted away" is "$status $(find n -mindepth 1 | wc -l)" "0 0"
check "another sandbox still has what was in them" work third 'test -e moved/7/f'
cloche new --name fourth > /dev/null
work fourth 'cd n; seq 4000 7000 | xargs mkdir; touch 4007/f'
try cloche promote fourth --yes
cloche new --name fifth > /dev/null
work fifth 'mv n again'
try cloche undo --yes
check "thousands of directories are taken back" is "$status $(find n -mindepth 1 | wc -l)" "0 0"
check "also from another sandbox's sight they are not gone" work fifth 'test -e again/4007/f'
cloche rm --all --force > /dev/null 2>&1
