#!/usr/bin/env bash
# A diff that ends early: its client leaves, the sandbox is stopped or removed, it fails.
. "$(dirname "$0")/../harness/lib.sh"

differ() { pgrep -P "$(pgrep -P "$(daemon_pid)" -x cloche-spawn)" -x cloche-diff; }
gone() { ! differ; }
# look ARGUMENT...: a client in the background ($client), with a cloche-diff ($differ) that stands
# still: it never comes to an end by itself.
look() {
  as_caller sh -c 'echo $$ > client; exec "$@"' sh "$BIN/cloche" "$@" > "$T/look.out" 2> "$T/look.err" &
  waiting=$!
  until_true differ
  differ=$(differ)
  kill -STOP "$differ"
  client=$(cat client)
}
ended() {
  wait "$waiting"
  status=$?
  cp "$T/look.out" "$OUT" && cp "$T/look.err" "$ERR"
}

cloche new --name slow > /dev/null 2>&1
# Enough to be found at work.
cloche exec slow -- sh -c 'echo small > a; truncate -s 7G big huge vast; mkdir shut; echo x > shut/x' 2> "$ERR"
for state in running stopped; do
  [ $state = running ] || cloche stop slow > /dev/null 2>&1
  for what in 'diff slow --json' 'diff slow --patch'; do
    # shellcheck disable=SC2086
    look $what
    kill -9 "$client"
    check "$state, $what: the client is gone, and so is cloche-diff" until_true gone
    ended
  done
  try cloche exec slow -- true
  check "$state: it is free again" exits 0

  [ $state = running ] || cloche stop slow > /dev/null 2>&1
  look diff slow --name-only
  kill -9 "$differ"
  ended
  check "$state: a killed diff is reported" says 'ended it before its answer was complete'
  check "$state: and what to do" says 'cloche diff SANDBOX PATH'
  check "$state: that is not a success" exits 6
done

cloche stop slow > /dev/null 2>&1
look diff slow --patch
try cloche stop slow
check "stop does not wait for the diff" exits 0
check "which is gone" until_true gone
ended
check "and says why" says 'it was stopped meanwhile'
check "with its own exit status" exits 4

if [ "$MODE" = shared ]; then
  cloche exec slow -- sh -c 'rm big huge vast; chmod 0 shut' 2> "$ERR"
  try cloche diff slow --patch
  check "a patch without a closed directory is none" exits 6
  check "the directory is named" says "cannot be read, so it is not all: $WORK/shut"
  check "and what to do" says 'name what the patch is to hold'
  try cloche diff slow --patch a
  check "other paths can be shown" exits 0
  check "all of it" mentions '^+small'
  cloche exec slow -- sh -c 'chmod 700 shut; truncate -s 7G big huge vast' 2> "$ERR"
fi

cloche stop slow > /dev/null 2>&1
look diff slow --json
try cloche rm slow
check "nor does rm" exits 0
check "the look is gone, too" until_true gone
ended
check "and says why" mentions 'it was removed meanwhile'
check "in JSON" is_json
