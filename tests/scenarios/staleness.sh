#!/usr/bin/env bash
# Reality moves while a sandbox lives: Cloche reports that, with names, and untouched files follow.
. "$(dirname "$0")/../harness/lib.sh"

as_caller git init -q -b main . && as_caller git config user.email a@b && as_caller git config user.name a
as_caller mkdir -p src cache/__pycache__
as_caller sh -c 'for name in a b c d; do echo $name > src/$name; done; echo SECRET=1 > .env'
as_caller git add src && as_caller git commit -qm base
commit=$(as_caller git rev-parse HEAD)
try cloche new --name box
check "a sandbox" exits 0
try cloche show box --json
check "it knows the commit it was made at" field_is staleness.base_commit "$commit"
check "and is not behind" field_is staleness.changed 0
try cloche ls
check "which ls says, too" not mentions 'changed'

cloche exec box -- sh -c 'echo inside >> src/a; cat src/b src/c > /dev/null' > "$OUT" 2> "$ERR"
as_caller sh -c 'echo outside >> src/a; echo outside > src/b; rm src/c; echo n > new; echo x > cache/__pycache__/x
  echo SECRET=2 > .env; git add -A . 2> /dev/null'
try cloche show box --json
check "outside changes are counted, without caches, git's own and hidden files" field_is staleness.changed 4
check "and what changed on both sides" field_is staleness.both 1
check "by name" field_is staleness.both_paths.0 "$WORK/src/a"
try cloche show box
check "in words" mentions 'behind reality: 4 paths of the project changed since, 1 of them also changed here'
try cloche ls
check "in the list" mentions '4 changed, 1 here too'
try cloche exec box -- sh -c 'cat src/a; cat src/d'
check "its own file is its own" prints "$(printf 'a\ninside\nd')"
try cloche exec box -- sh -c 'for i in $(seq 50); do cat src/b new > /dev/null 2>&1; done; wc -c < src/b'
check "a host edit is seen or not, never half" grep -qxE '2|8' "$OUT"
check "and never an error of a stale handle" not grep -q -i stale "$ERR"

cloche exec box -d -- sleep 1000 > "$OUT" 2> "$ERR"
refused conflict refresh box
cloche stop box > "$OUT" 2>&1
try cloche refresh box
check "refresh" exits 0
check "says how much" says 'sees 3 paths anew'
check "and what it left" mentions "left as it is inside: $WORK/src/a"
try cloche exec box -- sh -c 'cat src/a src/b new; ls src'
check "the untouched part is up to date, the touched one its own" prints "$(printf 'a\ninside\noutside\nn\na\nb\nd')"
try cloche show box --json
check "it is not behind any more" field_is staleness.changed 0
check "but what moved on both sides is not forgotten" field_is staleness.moved_before.0 "$WORK/src/a"
stop_daemon
[ "$MODE" != shared ] || root_cloche ls > "$OUT" 2>&1  # starts it again
try cloche show box --json
check "not by a restart either" field_is staleness.moved_before.0 "$WORK/src/a"
try cloche fork box --name twin
try cloche show twin --json
check "nor by a fork" field_is staleness.moved_before.0 "$WORK/src/a"
as_caller sh -c 'echo again >> src/d'
try cloche show twin --json
check "a fork is as far behind as what it came from" field_is staleness.changed 1
refused not_found refresh nobody

# --- A sandbox's own promotions do not make it stale.
as_caller sh -c 'mkdir lone; touch lone/x lone/y'
try cloche new --name own
cloche exec own -- sh -c 'rm lone/x; echo edited > src/b; rm src/d; mkdir -p made/deep empty; echo x > made/deep/f; ln -s f made/l
  mv src/a moved' > "$OUT" 2>&1
try cloche promote own --yes --json
check "own work is promoted" field_is state done
try cloche show own --json
check "own promotions are not staleness" field_is staleness.changed 0
check "nor changed on both sides" field_is staleness.both 0
try cloche ls
check "ls does not say BEHIND" not mentions 'own .*changed'
as_caller sh -c 'echo outside > src/b; echo z > lone/z'
try cloche show own --json
check "later changes of others are" field_is staleness.changed 2
check "with what both changed" field_is staleness.both_paths.0 "$WORK/src/b"
