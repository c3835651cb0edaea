#!/usr/bin/env bash
# A sandbox's changes are promoted, all or nothing, and undone.
. "$(dirname "$0")/../harness/lib.sh"

inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
tree() { (cd "$WORK" && find . -printf '%p %y %m %U %s %T@ %l\n' | grep -v '^\. ' | sort; find . -type f | sort | xargs md5sum); }
# Directories' own times move with what is in them.
shape() { (cd "$WORK" && find . -printf '%p %y %m %U %l\n' | sort; find . -type f | sort | xargs md5sum); }

mkdir -p "$WORK/src" "$WORK/old" && echo one > "$WORK/src/a" && echo two > "$WORK/src/b" && echo x > "$WORK/old/x"
echo '{}' > "$WORK/keep.json" && ln -s src/a "$WORK/link" && mkdir "$WORK/.git"
[ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$WORK"
try cloche new --name box
inside box 'echo changed > src/a; rm src/b; mkdir -p new/deep; echo n > new/deep/f; chmod 750 new; rm -r old
            ln -sf src/new link; ln src/a src/same; touch -d @1000000000 new/deep/f; setfattr -n user.note -v hi src/a 2> /dev/null
            echo more >> /etc/motd; echo junk > /var/tmp/junk-of-box' > "$T/log" 2>&1
before=$(shape)

# --- Look first.
try cloche promote box --dry-run
check "a dry run shows what would be done" mentions 'src/a'
check "and does nothing" is "$(shape)" "$before"
try cloche promote box --dry-run --json
check "--json prints one object with the digest" is "$(field digest | cut -c 1-7)" sha256:
digest=$(field digest)
check "without an id, for nothing was done" field_is id ''
check "only the project, unless more is named" is "$(grep -c junk-of-box "$OUT")" 0
try cloche promote box
check "confirmation needs a terminal" exits 2
check "so nothing was done" is "$(shape)" "$before"

# --- All of it.
try cloche promote box --yes --json
check "it is applied" field_is state done
check "exactly the shown changes were applied" field_is digest "$digest"
pr=$(field id)
check "edited" is "$(cat "$WORK/src/a")" changed
check "deleted" not test -e "$WORK/src/b"
check "a directory is gone" not test -e "$WORK/old"
check "a new one has its mode" is "$(stat -c %a "$WORK/new")" 750
check "times are taken over" is "$(stat -c %Y "$WORK/new/deep/f")" 1000000000
check "a symlink points elsewhere" is "$(readlink "$WORK/link")" src/new
check "hard links are one file" is "$(stat -c %i "$WORK/src/a")" "$(stat -c %i "$WORK/src/same")"
check "whose they are" is "$(stat -c %u "$WORK/new/deep/f")" "$CALLER_UID"
check "nothing else was touched" is "$(cat "$WORK/keep.json")" '{}'
after=$(shape)
try cloche promotions --json
check "promotions lists it" field_is 0.id "$pr"
check "with its digest" field_is 0.digest "$digest"
try cloche promotions
check "and as a table" mentions "$pr .*done"
try cloche promote box --dry-run --json
check "now there is nothing left to do" is "$(field changes)" '[]'

# --- And back.
try cloche undo "$pr" --json
check "undo" field_is state undone
check "everything is as it was" is "$(shape)" "$before"
refused conflict undo "$pr"
refused not_found undo pr_nothing
refused not_found undo ../../etc
try cloche promote box --yes
check "again: it prints the id" mentions '^pr_'
pr=$(grep '^pr_' "$OUT")
check "the same again" is "$(shape)" "$after"

# --- The sandbox continues; files that it promoted are not a conflict.
inside box 'echo further > src/a' > "$T/log"
try cloche promote box --yes --json
check "a second promotion from the same sandbox" field_is state done
check "has its effect" is "$(cat "$WORK/src/a")" further
second=$(field id)
try cloche undo "$pr" --json
check "the first cannot be undone below the second" field_is error.code conflict
try cloche undo "$second" --json
check "the second can" field_is state undone
check "and then it is the first" is "$(cat "$WORK/src/a")" changed

# --- Reality moves.
try cloche new --name late
inside late 'echo mine > src/a; echo fine > src/new-file' > "$T/log"
echo theirs > "$WORK/src/a"
[ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" "$WORK/src/a"
try cloche promote late --yes
check "a file changed on both sides is a conflict" exits 4
check "which names it" says "$WORK/src/a: the sandbox edited it; it was edited in reality"
check "reality keeps its own" is "$(cat "$WORK/src/a")" theirs
check "and nothing at all was applied" not test -e "$WORK/src/new-file"
try cloche promote late --yes --exclude src/a --json
check "without it, the rest goes" field_is state done
check "there it is" is "$(cat "$WORK/src/new-file")" fine
check "and only that" is "$(cat "$WORK/src/a")" theirs
rest=$(field id)
echo edited-since > "$WORK/src/new-file"
try cloche undo "$rest"
check "undo refuses where reality has moved on" exits 4
check "with a list" says "$WORK/src/new-file"
check "and leaves it" is "$(cat "$WORK/src/new-file")" edited-since

# --- Changes that must not come out.
try cloche new --name leak
inside leak 'echo "token = ghp_$(echo MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYg | cut -c 1-36)" > settings.py' > "$T/log"
try cloche promote leak --yes --json
check "a credential in a file needs a yes of its own" field_is error.code denied
try cloche promote leak --dry-run
check "its value is masked" not grep -q MDEyMzQ1Njc4OWFi "$OUT"
try cloche new --name hostile
inside hostile 'mkfifo pipe; cp /bin/true suid; chmod 4755 suid; mkdir -p .git/hooks; echo evil > .git/hooks/post-commit;
  chmod +x .git/hooks/post-commit; ln -s /etc esc; mkdir d; echo x > "d/$(printf "a\nb\033[31m")"' > "$T/log" 2>&1
try cloche promote hostile --yes
check "a pipe stops it" exits 4
check "names are escaped" not grep -q $'\033' "$ERR" "$OUT"
try cloche promote hostile --yes --exclude pipe
check "a change that runs later needs a yes of its own" exits 5
check "it is shown, and why" mentions 'runs later: .*/.git/hooks/post-commit: '
check "with what it would run" mentions '^    .*evil'
check "no hook" not test -e "$WORK/.git/hooks"
try cloche promote hostile --yes --exclude .git --exclude pipe --exclude suid --exclude d --json
check "the rest" field_is state done
try cloche promote hostile --yes --allow-triggers --exclude .git --exclude pipe --json
check "with that yes" field_is state done
check "without its setuid bit" is "$(stat -c %a "$WORK/suid")" 755
check "a symlink out is only a symlink" is "$(readlink "$WORK/esc")" /etc
for path in '../outside' '~' '/proc/1/root/etc' "$WORK/src/../../x"; do
  try cloche promote hostile "$path" --yes --json
  check "the path $path leads nowhere" not field_is state done
done
refused not_found promote nobody --yes
cloche stop hostile > "$T/log"
try cloche promote hostile --dry-run --json
check "a stopped one can be promoted, too" is "$(field error.code)" null

# --- Somebody writes in a file of reality between the last look at it and the rename that takes it away.
promotions=$CALLER_HOME/.local/state/cloche/promotions
echo old > "$WORK/first" && echo old > "$WORK/second"
[ "$MODE" = system ] || chown "$CALLER_UID:$CALLER_UID" "$WORK/first" "$WORK/second"
try cloche new --name overtaken
inside overtaken 'echo new > first; echo new > second' > "$T/log" 2>&1
mv "$BIN/cloche-promote" "$BIN/cloche-promote.real"
printf '#!/bin/sh\nexec %s -f -o /dev/null -e trace=renameat2 -e inject=renameat2:delay_enter=2000000 %s "$@"\n' \
  "$(command -v strace)" "$BIN/cloche-promote.real" > "$BIN/cloche-promote"
chmod 755 "$BIN/cloche-promote"
unfinished() { for each in "$promotions"/*/journal; do tail -n 1 "$each" | grep -q '"applying"' && return; done; return 1; }
cloche promote overtaken first second --yes > "$OUT" 2> "$ERR" < /dev/null &
promoting=$!
check "it has begun" until_true unfinished
echo mine >> "$WORK/first"  # waits, as long as it is held
wait $promoting
status=$?
check "a write in the moment of the rename is a conflict" exits 4
check "and said to be one" says 'first: reality has changed it in between; everything is as it was'
check "it is in reality" is "$(tr '\n' ' ' < "$WORK/first")" "old mine "
check "all of it or nothing" is "$(cat "$WORK/second")" old
exec 9>> "$WORK/second"
try cloche promote overtaken second --yes
exec 9>&-
check "a file open for writing is a conflict, too" exits 4
check "with its reason" says 'a process has it open for writing'
mv "$BIN/cloche-promote.real" "$BIN/cloche-promote"
try cloche promote overtaken second --yes
check "and none when it is closed" is "$status $(cat "$WORK/second")" "0 new"

# --- Patterns, and words that stand for nothing.
try cloche new --name globs
inside globs 'mkdir -p .git/info logs/deep; echo x > .git/info/exclude; echo l > logs/deep/a.log; echo k > "keep[1].txt"; echo t > logs/t' > "$T/log"
for word in '*.lgo' '.gti/**' no-such 'logs/[x'; do
  try cloche promote globs --yes --exclude "$word"
  check "--exclude $word matches nothing: an error" not exits 0
  check "nothing was applied" not test -e "$WORK/logs"
done
try cloche promote globs --yes --exclude '*.lgo' --json
check "which is not_found" field_is error.code not_found
try cloche promote globs no-such-path --yes --json
check "a path that is nowhere is, too" field_is error.code not_found
try cloche promote globs keep.json --yes --json
check "one that is there, and unchanged, is not" field_is changes '[]'
try cloche promote globs --yes --exclude '.git/**' --exclude '*.log' --exclude 'keep[1].txt' --json
check "patterns leave out" field_is state done
check "files in .git" not test -e "$WORK/.git/info/exclude"
check "names at any depth" not test -e "$WORK/logs/deep/a.log"
check "a name that looks like a pattern" not test -e "$WORK/keep[1].txt"
check "and nothing else" is "$(cat "$WORK/logs/t")" t
try cloche promote globs 'logs/**/*.log' --yes --json
check "a pattern chooses" field_is state done
check "matching files" is "$(cat "$WORK/logs/deep/a.log")" l
check "and no more" not test -e "$WORK/keep[1].txt"

# --- A name in brackets is neither a list nor a pattern.
as_caller sh -c 'mkdir "[slug]" slug s; echo 1 > "[slug]/p"; echo 1 > slug/p; echo 1 > s/p'
cloche new --name route > "$T/log" 2>&1
inside route 'for each in "[slug]" slug s; do echo 2 > "$each/p"; done' > "$T/log" 2>&1
try cloche promote route '[slug]' --yes
check "a directory called [slug] is promoted" is "$status $(cat "[slug]/p" slug/p s/p | tr '\n' ' ')" "0 2 1 1 "
cloche undo --yes > "$T/log" 2>&1
cloche rm route > "$T/log" 2>&1

# --- The last one is taken back without its name.
try cloche promotions
check "promotions name the project" mentions " $WORK\$"
try cloche undo
check "undo alone needs a yes" exits 2
check "and says what it would take back" says "1 step in $WORK"
try cloche undo --yes --json
check "undo --yes takes back the last" field_is state undone
check "that one" not test -e "$WORK/logs/deep/a.log"
check "and no other" is "$(cat "$WORK/logs/t")" t

# --- Where it is called does not matter for what is promoted; undo is about the project one is in.
as_caller sh -c 'echo old > far; mkdir "$HOME/other"'
cloche new --name far > "$T/log" 2>&1
inside far 'echo new > far' > "$T/log" 2>&1
cd "$CALLER_HOME/other" || exit 1
try cloche promote far --yes
check "a promotion is about the sandbox's own project" is "$status $(cat "$WORK/far")" "0 new"
try cloche undo --yes
check "another project has nothing to take back" exits 3
check "and the message names the last promotion" says "cure: the last one is of .*: cloche undo pr_"
cd "$WORK" || exit 1
try cloche undo --yes
check "in its own project it is taken back" is "$status $(cat far)" "0 old"
as_caller mkdir sub
cd sub || exit 1
try cloche promote far ../far --yes
check "a path may lead upwards" is "$status $(cat ../far)" "0 new"
cd "$WORK" || exit 1
cloche rm far > "$T/log" 2>&1

# --- Changes that make something run later can be left out, and the rest applied.
dialogue() { as_caller "$PYTHON" "$BIN/dialogue.py" "$@" > "$OUT" 2> "$ERR"; status=$?; }
try cloche new --name mixed
inside mixed 'mkdir -p .git/hooks; echo evil > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; echo fine > fine.txt' > "$T/log"
dialogue 'skip them, or abort?=a' -- "$BIN/cloche" promote mixed --yes
check "abort applies nothing" exits 4
check "at all" not test -e "$WORK/fine.txt"
dialogue 'skip them, or abort? [y,s,a,?]=x' 'skip them, or abort? [y,s,a,?]=s' 'change to reality?=y' -- "$BIN/cloche" promote mixed
check "skip those" exits 0
check "applies the rest" is "$(cat "$WORK/fine.txt")" fine
check "and not those" not test -e "$WORK/.git/hooks"
inside mixed 'echo finer > fine.txt' > "$T/log"
try cloche promote mixed --yes --skip-triggers
check "the same without a terminal" is "$(cat "$WORK/fine.txt")" finer
check "names what it skipped" says 'skipped: .*/.git/hooks/pre-push'
refused invalid promote mixed --skip-triggers --allow-triggers
dialogue 'skip them, or abort?=y' -- "$BIN/cloche" promote mixed --yes
check "yes takes it over, too" test -e "$WORK/.git/hooks/pre-push"
rm -rf "$WORK/.git/hooks"

# --- Links: a file is judged by every name that leads to it.
mkdir -p "$WORK/.git/hooks" "$WORK/tools" "$WORK/dotfiles" && echo 'alias a=b' > "$WORK/dotfiles/bashrc"
ln -s "$WORK/dotfiles/bashrc" "$CALLER_HOME/.bashrc"
[ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$WORK/.git" "$WORK/tools" "$WORK/dotfiles" "$CALLER_HOME/.bashrc"
try cloche new --name links
inside links 'rm -rf .git/hooks; ln -s ../tools .git/hooks; printf "#!/bin/sh\nid\n" > tools/pre-commit; chmod +x tools/pre-commit' > "$T/log" 2>&1
try cloche promote links --yes
check "a link in place of the hooks needs a yes of its own" exits 5
check "its target is shown" mentions '.git/hooks .*| -> ../tools'
check "the file behind it is a hook" mentions 'runs later: .*/tools/pre-commit: git runs'
check "and nothing was applied" not test -L "$WORK/.git/hooks"
for place in .vscode .claude .cargo .husky .devcontainer .github .config .git; do
  inside links "rm -rf $place; ln -s tools $place" > "$T/log" 2>&1
  try cloche promote links "$place" --yes
  check "so does a link in place of $place" exits 5
done
cloche rm links > "$T/log" 2>&1
rmdir "$WORK/.git/hooks" && ln -s ../tools "$WORK/.git/hooks"
[ "$MODE" = system ] || chown -h "$CALLER_UID:$CALLER_UID" "$WORK/.git/hooks"
try cloche new --name behind
inside behind 'echo id > tools/post-merge; chmod +x tools/post-merge; echo evil >> dotfiles/bashrc' > "$T/log" 2>&1
try cloche promote behind tools --yes
check "a file is a hook by a link that reality has" exits 5
try cloche promote behind dotfiles --yes
check "or a part of the home's" exits 5
check "by the name that is shown" mentions "also $CALLER_HOME/.bashrc"
cloche rm behind > "$T/log" 2>&1

# --- Changes that diff does not show are not applied unless they are named.
mkdir -p "$WORK/py" && echo 'a = 1' > "$WORK/py/a.py"
[ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$WORK/py"
try cloche new --name noise
inside noise 'mkdir py/__pycache__; echo evil > py/__pycache__/a.cpython-311.pyc; echo "a = 2" > py/a.py' > "$T/log" 2>&1
try cloche promote noise --yes
check "caches are left out" exits 0
check "that is reported" says '1 file of build noise was left out (1 caches)'
check "the rest is there" is "$(cat "$WORK/py/a.py")" 'a = 2'
check "and only that" not test -e "$WORK/py/__pycache__"
try cloche promote noise --dry-run --json
check "as JSON, too" field_is left_out.caches 1
check "there is nothing else left to do" is "$(field changes)" '[]'
try cloche promote noise py/__pycache__ --yes
check "named, compiled code needs a yes of its own" exits 5
try cloche promote noise --with-noise --yes --allow-triggers
check "with both it is applied" is "$(cat "$WORK/py/__pycache__/a.cpython-311.pyc")" evil

# --- Rights for others.
try cloche new --name rights
inside rights 'echo x > open; chmod 777 open; mkdir opendir; chmod 1777 opendir' > "$T/log" 2>&1
try cloche promote rights --yes
check "a world-writable file needs a yes of its own" exits 5
check "and the reason is shown" mentions 'mode 0777: everybody may write to it'
check "as what it is" mentions '^opens up: .*/open: Others may do more'
inside rights 'chmod 755 open opendir; python3 -c "
import os, struct
os.setxattr(\"open\", \"system.posix_acl_access\", struct.pack(\"<I\" + \"HHI\" * 5, 2, 1, 6, 2**32 - 1, 2, 7, 0 if os.getuid() else 1,
            4, 4, 2**32 - 1, 16, 7, 2**32 - 1, 32, 4, 2**32 - 1))"' > "$T/log" 2>&1
if inside rights 'getfattr -n system.posix_acl_access open' > "$T/log" 2>&1; then
  try cloche promote rights --yes
  check "so does a list that names somebody else" exits 5
  check "the user is named" mentions 'user [0-9]* may rwx'
fi

if [ "$MODE" = system ]; then
  cp /etc/motd "$T/motd" 2> /dev/null || : > "$T/motd"
  try cloche promote box /var/tmp/junk-of-box --yes --json
  check "root lifts system paths, too" is "$(cat /var/tmp/junk-of-box)" junk
  try cloche undo "$(field id)"
  check "and back" not test -e /var/tmp/junk-of-box
fi
if [ "$MODE" = shared ]; then
  install -d -m 755 "$WORK/roots" && echo r > "$WORK/roots/file"
  try cloche new --name stranger
  inside stranger 'mv roots/file roots/other 2> /dev/null; rm -rf roots; mkdir -p roots; echo mine > roots/file' > "$T/log" 2>&1
  try cloche promote stranger roots --yes
  check "with nobody's rights but the caller's" is "$(cat "$WORK/roots/file")" r
fi
