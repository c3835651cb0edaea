#!/usr/bin/env bash
# Reality moved while the sandbox worked: edits are merged if possible; otherwise nothing is applied
# until a person chooses.
. "$(dirname "$0")/../harness/lib.sh"

inside() { cloche exec box -- sh -c "$*" > "$T/log" 2>&1; }
# Independent of the user's own git settings.
git() { as_caller git -c user.name=t -c user.email=t@t -c init.defaultBranch=main "$@" > "$T/log" 2>&1; }
mine() { [ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$WORK"; }
real() { as_caller sh -c "$*"; }
cases() { field conflicts | python3 -c 'import json,sys; print(*sorted(c["case"] for c in json.load(sys.stdin)))'; }
noted() { grep -aq birth_note.:..project "$STATE"/daemon/*.db*; }

cd "$WORK" || exit 1
mine
git init .
real 'seq 20 > both; seq 20 > same; seq 20 > clash; echo 1 > deleted-here; echo 1 > deleted-there
      echo 1 > meta; seq 20 > dirty; printf "a\0b" > binary; mkdir d; echo 1 > d/in; echo 1 > quiet; echo 1 > swapped'
git add . && git commit -m base
real 'sed -i s/^2$/dirty/ dirty'
try cloche new --name box
check "git's state is recorded when the sandbox is made" until_true noted
inside 'sed -i s/^3$/three/ both same clash dirty; rm deleted-here; echo 2 > deleted-there; chmod 755 meta
        printf "a\0c" > binary; rm -r d; echo new > added; echo 2 >> swapped'
real 'sed -i s/^15$/fifteen/ both dirty; sed -i s/^3$/three/ same; sed -i s/^3$/drei/ clash; echo 2 > deleted-here
      rm deleted-there; echo 2 > meta; printf "a\0d" > binary; echo 1 > d/appeared; echo other > added; echo 2 > quiet
      rm swapped; mkdir swapped'
before=$(find . -path ./.git -prune -o -type f -print | sort | xargs md5sum)

# --- Nothing is applied, and every conflict is reported.
try cloche promote box --dry-run --json
check "every pair has its case" is "$(cases)" \
  "P-ADD-APPEARED P-DELETE-EDITED P-EDIT-ABSENT P-EDIT-DIRECTORY P-EDIT-EDITED P-EDIT-EDITED P-EDIT-EDITED P-META-EDITED-TEXT P-RMDIR-NOT-EMPTY P-RMDIR-NOT-EMPTY"
check "edits in different places are merged" is "$(field merged)" "[\"$WORK/both\"]"
check "the same change on both sides is not a change" is "$(grep -c '/same"' "$OUT")" 0
check "a change in reality only is not a change" is "$(grep -c '/quiet"' "$OUT")" 0
try cloche promote box --yes
check "conflicts exit with status 4" exits 4
check "and nothing at all is applied" is "$(find . -path ./.git -prune -o -type f -print | sort | xargs md5sum)" "$before"
check "both sides are shown" says drei
check "and how to resolve them" says '[-]-theirs'

# --- Part of a directory that only the sandbox has.
inside 'mkdir fresh; echo 1 > fresh/a'
try cloche promote box fresh/a --yes
check "a file without its directory is not applied" exits 4
check "and the cure says so" says 'name the directory it is in, too'
try cloche promote box fresh/a --theirs fresh/a --yes
check "not even with --theirs" exits 4
try cloche promote box fresh --dry-run --json
check "the project's own changes are not noise" is "$(grep -c '"noise"' "$OUT")" 0
inside 'rm -r fresh'

# --- One side or the other.
try cloche promote box both --yes --json
pr=$(field id)
check "a merge is applied if it is the only change" is "$(sed -n '3p;15p' both | tr '\n' ' ')" "three fifteen "
try cloche promote box both --dry-run --json
check "and not repeated" is "$(field changes)" '[]'
inside 'sed -i s/^7$/seven/ both'
try cloche promote box both --yes --json
check "until the sandbox edits it again: then on top of it" is "$(sed -n '3p;7p;15p' both | tr '\n' ' ')" "three seven fifteen "
try cloche undo "$(field id)"
try cloche promote box both --yes --json
try cloche undo "$(field id)"
try cloche undo "$pr"
check "after undo, reality's own edit is still there" is "$(sed -n '3p;15p' both | tr '\n' ' ')" "3 fifteen "
try cloche promote box both --yes --json
check "an undone merge can be merged again" is "$(sed -n '3p;7p;15p' both | tr '\n' ' ')" "three seven fifteen "
try cloche promote box clash added meta --theirs clash --ours added --ours meta --yes
check "one side of each can be chosen" exits 0
check "the sandbox's" is "$(sed -n 3p clash)" three
check "reality's" is "$(cat added) $(cat meta)" "other 2"
try cloche promote box swapped --theirs swapped --yes
check "a directory in the way is not overwritten" exits 4
try cloche promote box d --theirs d --dry-run --json
check "nor are files deleted that the sandbox never saw" is "$(cases)" "P-RMDIR-NOT-EMPTY P-RMDIR-NOT-EMPTY"

# --- By a merge tool.
cat > "$T/tool" << 'EOF'
#!/bin/sh
paste -d/ "$2" "$3" > "$4"
EOF
chmod 755 "$T/tool"
try cloche promote box dirty --merge-tool "$T/tool" --yes
check "a tool merges texts that we cannot" exits 0
check "its result is in place" is "$(sed -n 3p dirty)" 3/three
try cloche promote box dirty --dry-run --json
check "and is not called again" is "$(field changes)$(field conflicts)" '[][]'
try cloche promote box binary --merge-tool false --yes
check "if the tool fails, nothing is applied" exits 4
try cloche promote box binary --merge-tool "touch $CALLER_HOME/ran; rm -f merged; true" --yes
check "nor if it leaves no result" is "$status $(ls "$CALLER_HOME/ran")" "4 $CALLER_HOME/ran"
printf 'a\0d' | cmp -s - binary
check "and not a byte has changed" [ $? = 0 ]

# --- Onto another directory: the project is the base.
git clone -q . "$T/home/clone"
git -C "$T/home/clone" reset --hard
sed -i s/^18$/eighteen/ "$T/home/clone/both"
inside 'sed -i s/^5$/five/ both; echo one > fresh'
try cloche promote box both fresh --to "$T/home/clone" --yes
check "--to works" exits 0
check "the text is merged there" is "$(sed -n '5p;18p' "$T/home/clone/both" | tr '\n' ' ')" "five eighteen "
check "and the file added" is "$(cat "$T/home/clone/fresh")" one
check "but not here" not test -e fresh
mkdir -p "$T/home/clone/deep/er"
try cloche promote box fresh --to "$T/home/clone/deep/er/../.." --yes
check "a path with .. works, too: everything is already there" is "$status $(cat "$ERR")" "0 cloche: nothing to apply"
rm -r "$T/home/clone/deep"

# --- A refresh: files that both sides changed before it stay conflicts.
real 'sed -i s/^9$/neun/ clash'
inside 'sed -i s/^9$/nine/ clash'
try cloche refresh box
try cloche promote box clash --dry-run --json
check "after a refresh it is still a conflict" is "$(cases)" P-EDIT-EDITED

# --- By hunks, on a terminal.
real 'seq 20 > hunks; echo 1 > left; echo 1 > taken; rm -rf gone; mkdir gone; echo 1 > gone/x; echo 1 > gone/y'
git add . && git commit -m more
try cloche rm box
try cloche new --name box
inside 'sed -i "s/^3$/three/; s/^15$/fifteen/" hunks; echo 2 > left; echo 2 > taken; rm -r gone; mkdir n; echo 1 > n/f'
chooses() {
  as_caller python3 "$BIN/dialogue.py" 'gone/x: take it?=n' 'gone/y: take it?=y' 'hunks: take it?=h' 'hunk (1 of 2)?=n' \
    'hunk (2 of 2)?=y' 'left: take it?=n' 'n/f: take it?=?' 'n/f: take it?=n' 'taken: take it?=y' "$@" \
    -- "$BIN/cloche" promote box --interactive > "$OUT" 2>&1
}
chooses 'changes to reality?=n'
check "without confirmation nothing is applied" is "$(sed -n 15p hunks) $(cat taken)" "15 1"
chooses 'changes to reality?=y'
check "the chosen parts are applied" [ $? = 0 ]
check "the chosen hunks of a file" is "$(sed -n '3p;15p' hunks | tr '\n' ' ')" "3 fifteen "
check "the chosen files" is "$(cat taken) $(ls gone)" "2 x"
check "and no others" is "$(cat left) $(ls -d n 2> /dev/null)" "1 "
try cloche promote box hunks --yes
check "the other hunk can follow" is "$(sed -n '3p;15p' hunks | tr '\n' ' ')" "three fifteen "
try cloche promote box -i
check "--interactive needs a terminal" exits 2

# --- Undo with --force-paths.
real 'echo 1 > f1; echo 1 > f2; echo 1 > f3; echo 1 > f4'
try cloche rm box
try cloche new --name box
inside 'echo 2 > f1; echo 2 > f2; rm f3; echo 2 > f4; echo 2 > f5'
try cloche promote box f1 f2 f3 f4 f5 --yes --json
pr=$(field id)
real 'echo later > f1; rm f2; echo later > f3; echo later > f5'
try cloche undo "$pr" --force-paths f1
check "undo refuses paths that were not forced" exits 4
check "and names only those" is "$(grep -c "$WORK/f" "$ERR") $(grep -c "$WORK/f1" "$ERR")" "3 0"
try cloche undo "$pr" --force-paths f1 --force-paths f2 --force-paths "$WORK/f3" --force-paths f5
check "forced, it is undone" exits 0
check "at all paths" is "$(cat f1 f2 f3 f4 | tr '\n' ' ')$(ls f5 2> /dev/null)" "1 1 1 1 "
check "the replaced files are kept" is "$(cat "$CALLER_HOME/.local/state/cloche/promotions/$pr/files/"* | sort -u)" later

# --- A file that was copied up inside and then moved is new at its place, not a conflict.
inside 'echo 2 >> quiet; mv quiet moved; ln moved linked'
try cloche promote box quiet moved linked --dry-run --json
check "a file moved inside is deleted there and added here" is "$(field conflicts)$(field changes | grep -o '"kind": "[a-z]*"' | sort | uniq -c | tr -s ' \n' ' ')" \
  '[] 2 "kind": "added" 1 "kind": "deleted" '

# --- Nothing of anybody's is lost.
real 'mkdir -p closed swap v2 deep; echo 1 > closed/f; echo 1 > swap/f; echo other > v2/f; echo 1 > here; echo 1 > there
      i=0; while [ $i -lt 130 ]; do echo 1 > deep/$i; i=$((i + 1)); done'
try cloche rm box
try cloche new --name box
inside 'echo 2 > closed/f; echo 2 > swap/f; mkdir made; echo 1 > made/f; echo 2 > here; for each in deep/*; do echo 2 > $each; done'
sleep 0.5  # directory modes are recorded in the background
real 'chmod 700 closed; mv swap swap.old; mv v2 swap'
try cloche promote box closed --yes
check "a directory that was closed meanwhile stays closed, and does not prevent a promotion" \
  is "$status $(stat -c %a closed) $(cat closed/f)" "0 700 2"
inside 'chmod 750 closed'
try cloche promote box closed --dry-run --json
check "if both sides changed its mode, that is a conflict" is "$(cases)" P-DIRMETA-METADATA
try cloche promote box swap --yes
check "files in a directory that replaced another stay" is "$status $(cat swap/f)" "4 other"
try cloche promote box made --yes --json
pr=$(field id)
real 'echo mine > made/mine'
try cloche undo "$pr"
check "undo keeps a new directory completely if others put something into it" is "$status $(cat made/f made/mine | tr '\n' ' ')" "4 1 mine "
real 'rm -r made'
try cloche undo "$pr" --force-paths made --force-paths made/f
check "paths that are already gone can be undone" exits 0
try cloche snapshot box --name early
real 'for each in deep/*; do echo 3 > $each; done'
try cloche refresh box
try cloche promote box deep --yes
check "files that both sides changed before a refresh are conflicts, however many" is "$status $(cat deep/* | sort -u)" "4 3"
inside 'echo 4 > here'
try cloche rollback box early
real 'echo 3 > here'
try cloche refresh box
try cloche rollback box early
try cloche promote box here --yes
check "a restored older state keeps its age" is "$status $(cat here)" "4 3"
try cloche rm --all
