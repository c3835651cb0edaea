#!/usr/bin/env bash
# Code in the sandbox, or a process beside the promotion, tries to have something written other than
# what was shown. The host judges: files that must not change have a sentinel. CLOCHE_MANY: entries
# of the large promotion.
HANG_SECONDS=${HANG_SECONDS:-560}
. "$(dirname "$0")/../harness/lib.sh"
many=3000
MANY=${CLOCHE_MANY:-$many}
inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }
mine() { [ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$@"; }
mkdir "$T/sentinel" && echo untouched > "$T/sentinel/x" && chmod -R a+rwX "$T/sentinel"
sentinel() { (cd "$T/sentinel" && find . -printf '%p %y %m %T@\n' | sort; cat x) | md5sum; }
whole=$(sentinel)
safe() { check "$1: the sentinel is untouched" is "$(sentinel)" "$whole"; }
shape() { (cd "$WORK" && find . -printf '%p %y %m %l\n' | sort; find . -type f -size -1000k -print0 | sort -z | xargs -0 md5sum); }
# promote BOX ARGUMENT...: leaves its output, and its state in $state.
promote() {
  local box=$1
  shift
  try cloche promote "$box" --yes --allow-triggers --json "$@"
  state=$(field state)
  [ "$state" != null ] || state=$(field error.code)
}

mkdir -p "$WORK/p/q" "$WORK/d" && echo x > "$WORK/d/x" && echo y > "$WORK/p/q/y" && echo k > "$WORK/keep" && echo w > "$WORK/wh"
mine "$WORK"

# --- Symlinks where directories were.
cloche new --name links > "$T/log" 2>&1
inside links "rm -r d; ln -s $T/sentinel d; ln -s $T/sentinel out; mkdir -p s; ln -s ../../../../../../etc/passwd s/up" > "$T/log" 2>&1
promote links
check "a directory that became a symlink is promoted as one" is "$state" "done"
check "with its target unchanged" is "$(readlink "$WORK/d")" "$T/sentinel"
safe "symlinks from inside"
promote links "$WORK/d/x"
check "there is nothing below a symlink" is "$(field changes)" '[]'
safe "a path through a symlink"
cloche undo "$(cloche promotions --json | grep -o 'pr_[a-z0-9_]*' | tail -1)" > "$T/log" 2>&1
check "undo restores the directory" is "$(cat "$WORK/d/x")" x
safe "undo over a symlink"

# --- Reality's parents become symlinks: before a promotion, during it, and before an undo.
cloche new --name parents > "$T/log" 2>&1
inside parents 'echo new > p/q/x; echo new > p/q/y' > "$T/log" 2>&1
mv "$WORK/p" "$WORK/p-away" && ln -s "$T/sentinel" "$WORK/p" && mkdir -p "$T/sentinel/q" && echo y > "$T/sentinel/q/y" && chmod -R a+rwX "$T/sentinel" && mine "$WORK/p"
whole=$(sentinel)
promote parents
check "a parent that is now a symlink prevents it" not is "$state" "done"
safe "a symlinked parent"
rm "$WORK/p" && mv "$WORK/p-away" "$WORK/p"
ln -s "$T/sentinel" "$WORK/p-link" && mine "$WORK/p-link"
won=0 lost=0 odd=0
# Swaps as often as told, while promotions run.
"$PYTHON" "$HARNESS/swap.py" 400000 "$WORK/p" "$WORK/p-link" > "$T/swaps" & swapping=$!
for _ in $(seq 25); do
  promote parents
  case $state in
    done) won=$((won + 1)); cloche undo "$(field id)" > "$T/log" 2>&1 ;;
    conflict | unavailable | not_found | nothing | dry_run | denied) lost=$((lost + 1)) ;;
    *) odd=$((odd + 1)); cat "$OUT" ;;
  esac
done
wait $swapping
rm "$WORK/p-link"
cloche promotions > "$T/log" 2>&1
check "25 promotions against $(cat "$T/swaps") swaps of a parent: $won applied, $lost refused" is "$odd" 0
safe "swapped parents"
check "and the real directories are intact" test -e "$WORK/p/q/y" -a ! -L "$WORK/p"
promote parents
if [ "$state" = "done" ]; then
  pr=$(field id)
  mv "$WORK/p" "$WORK/p-away" && ln -s "$T/sentinel" "$WORK/p" && mine "$WORK/p"
  try cloche undo "$pr"
  check "undo does not go through a symlink, either" not exits 0
  safe "undo below a swapped parent"
  rm "$WORK/p" && mv "$WORK/p-away" "$WORK/p"
  try cloche undo "$pr"
  check "once the directory is back, it is undone" exits 0
fi

# --- A file becomes a directory and back during a promotion.
cloche new --name kinds > "$T/log" 2>&1
inside kinds 'echo changed > keep' > "$T/log" 2>&1
mkdir "$WORK/keep-away" && echo theirs > "$WORK/keep-away/theirs" && mine "$WORK/keep-away"
"$PYTHON" "$HARNESS/swap.py" 200000 "$WORK/keep" "$WORK/keep-away" > "$T/swaps" & flipping=$!
odd=0
for _ in $(seq 15); do
  promote kinds
  case $state in
    done) cloche undo "$(field id)" > "$T/log" 2>&1 ;;
    conflict | unavailable | not_found | nothing | dry_run | denied) ;;
    *) odd=$((odd + 1)); cat "$OUT" ;;
  esac
done
wait $flipping
try cloche promotions
check "a file that turns into a directory meanwhile is refused or replaced" is "$odd" 0
kept_files() { find "$WORK" "$CALLER_HOME/.local/state/cloche/promotions" -name keep -o -name keep-away -o -path '*/files/*' -type f 2> /dev/null | xargs -r grep -slx -e k -e changed | wc -l; }
check "and no content is lost" test "$(kept_files)" -ge 1
check "not even the swapped-in content" is "$(cat "$WORK/keep-away/theirs" "$WORK/keep/theirs" 2> /dev/null)" theirs
rm -rf "$WORK/keep" "$WORK/keep-away"; echo k > "$WORK/keep"; mine "$WORK/keep"

# --- Files of other types, and names that look like marks of an overlay.
cloche new --name odd > "$T/log" 2>&1
inside odd 'mkfifo pipe; mknod fake c 0 0; mknod dev c 1 3; echo not-a-mark > .wh.wh; mkdir od; echo o > od/.wh..wh..opq
  setfattr -n user.overlay.whiteout -v y keep; setfattr -n user.overlay.opaque -v y od; setfattr -n trusted.overlay.opaque -v y od' > "$T/log" 2>&1
before=$(shape)
promote odd
check "a pipe prevents it, and does not block" is "$state" conflict
check "nothing was applied" is "$(shape)" "$before"
excludes=()  # those that the kernel let it make
for each in pipe dev fake; do [ -z "$(inside odd "ls -d $each 2> /dev/null")" ] || excludes+=(--exclude "$each"); done
promote odd "${excludes[@]}"
check "without it the rest is promoted" is "$state" "done"
check "names that are marks to other tools are just names" is "$(cat "$WORK/.wh.wh")" not-a-mark
check "and delete nothing" is "$(cat "$WORK/wh")" w
check "overlay marks made inside are not promoted" not sh -c "getfattr -R -d -m overlay '$WORK' 2> /dev/null | grep -q overlay"

# --- Names.
cloche new --name names > "$T/log" 2>&1
cat > "$T/names.py" <<'END'
import os, sys
names = [b"n" * 255, b"\xff\xfe\x80bad", b"new\nline", b"esc\x1b]0;title\x07\x1b[31m", "bidi\u202egnp.exe".encode(),
         b"-rf", b" lead", b"trail ", b"dot.", b"CON", b"a:b", b"tab\there", "e\u0301".encode(), "\u00e9".encode(),
         b"README", b"readme", b"*", b"$(touch pwned)", b"'\"", b"\\", b"..."]
top = os.fsencode(sys.argv[2])
for name in names:
    path = os.path.join(top, name)
    if sys.argv[1] == "make":
        with open(path, "wb") as file:
            file.write(name)
    elif open(path, "rb").read() != name:
        sys.exit(f"{name} is not as it was")
if sys.argv[1] == "check" and sorted(os.listdir(top)) != sorted(names):
    sys.exit(f"other names: {set(os.listdir(top)) ^ set(names)}")
END
cp "$T/names.py" "$WORK/names.py"; chmod a+r "$WORK/names.py"
inside names "mkdir names && python3 $WORK/names.py make $WORK/names" > "$T/log" 2>&1 || cat "$T/log"
try cloche promote names --yes --allow-triggers "$WORK/names"
check "names of every kind are promoted" exits 0
check "no escape sequence reaches the terminal" not grep -qP '\x1b|\xe2\x80\xae' "$OUT" "$ERR"
check "byte for byte" python3 "$T/names.py" check "$WORK/names"
promote names "$WORK/names" --dry-run
check "and then there is nothing left to do" is "$(field changes)" '[]'

# --- Holes, and hard links to paths that were not requested.
cloche new --name sizes > "$T/log" 2>&1
inside sizes 'truncate -s 1G holes; truncate -s 1T huge; echo s > shared; mkdir other; ln shared other/shared' > "$T/log" 2>&1
promote sizes "$WORK/holes" "$WORK/shared"
check "a sparse file is promoted" is "$state" "done"
check "with its holes" test "$(stat -c %b "$WORK/holes")" -lt 1000
check "one of two hard links becomes a separate file" is "$(stat -c %h "$WORK/shared")" 1
check "the other was not requested" not test -e "$WORK/other"
promote sizes "$WORK/huge"
check "a terabyte is refused" is "$state" conflict
check "and not created" not test -e "$WORK/huge"

# --- An unreadable path with a name longer than many answers. Root, even of its own namespace, can
# read it.
if [ "$MODE" = shared ]; then
  cloche new --name deep > "$T/log" 2>&1
  cloche exec deep -- "$PYTHON" -c "
import os
for _ in range(60):
    os.mkdir('\\x01' * 255)
    os.chdir('\\x01' * 255)
os.chmod('.', 0)" > "$T/log" 2>&1 || cat "$T/log"
  try cloche promote deep --yes
  check "a refusal exits with an error, however long the name" not exits 0
  check "and says why" says 'cannot be read'
  check "in a few lines" test "$(wc -c < "$ERR")" -lt 4096
  promote deep
  check "as JSON, too" is "$state $((status != 0))" "unavailable 1"
fi

# --- Paths that are not paths.
before=$(shape)
for path in '..' '../..' "$WORK/../work/../.." '~' '~root' '/proc/self/root/etc' "/proc/$$/cwd" '//etc//' '/etc/../etc/shadow' 'no/such' '' '/dev/null' "$(printf 'a\nb')"; do
  promote names "$path"
  check "the path $(printf %q "$path") changes nothing" is "$(shape)" "$before"
done
safe "odd paths"
cloche rm names > "$T/log" 2>&1
refused not_found promote names --yes

# --- Reality that cannot be changed.
if [ "$(id -u)" = 0 ] && touch "$T/i" && chattr +i "$T/i" 2> /dev/null; then
  chattr -i "$T/i"
  cloche new --name fixed > "$T/log" 2>&1
  inside fixed 'echo changed > keep; echo added > added; echo z > wh' > "$T/log" 2>&1
  before=$(shape)
  chattr +i "$WORK/wh"
  promote fixed "$WORK/added" "$WORK/keep" "$WORK/wh"
  check "an immutable file prevents it" is "$state" conflict
  check "nothing was applied" is "$(shape)" "$before"
  chattr -i "$WORK/wh"
  chattr +i "$WORK"
  promote fixed "$WORK/added"
  check "an immutable directory prevents it" is "$state" conflict
  check "and says why" mentions immutable
  chattr -i "$WORK"
  check "nothing was applied" is "$(shape)" "$before"
  promote fixed "$WORK/added" "$WORK/keep"
  check "afterwards it is promoted" is "$state" "done"
fi
if [ "$MODE" = shared ]; then
  cloche new --name closed > "$T/log" 2>&1
  inside closed 'echo changed > keep; echo in > d/in' > "$T/log" 2>&1
  chown 0:0 "$WORK/d" && chmod 755 "$WORK/d"
  before=$(shape)
  promote closed "$WORK/keep" "$WORK/d/in"
  check "a directory the caller may not write to prevents it" is "$state" conflict
  check "nothing was applied" is "$(shape)" "$before"
  chown "$CALLER_UID:$CALLER_UID" "$WORK/d"
fi
# If mounts do not propagate, the daemon does not see it, and works below it.
if [ "$MODE" = system ] && findmnt -no PROPAGATION / | grep -q shared; then
  mkdir "$WORK/mnt" && echo below > "$WORK/mnt/below"
  cloche new --name mounts > "$T/log" 2>&1
  inside mounts 'echo changed > mnt/below; echo more > mnt/more' > "$T/log" 2>&1
  mount -t tmpfs none "$WORK/mnt" && echo above > "$WORK/mnt/below"
  promote mounts "$WORK/mnt"
  check "files now covered by another mount are refused" not is "$state" "done"
  check "and left alone" is "$(cat "$WORK/mnt/below")$(ls "$WORK/mnt")" abovebelow
  unmount "$WORK/mnt"
  check "nothing was applied below it" is "$(cat "$WORK/mnt/below")$(ls "$WORK/mnt")" belowbelow
fi

# --- A sandbox that writes while it is promoted: exactly what was shown is applied, or nothing.
cloche new --name busy > "$T/log" 2>&1
cloche exec --background busy -- "$PYTHON" -c "
import itertools
with open('$WORK/torn', 'wb', buffering=0) as file, open('$WORK/turns', 'wb', buffering=0) as turns:
    for turn in itertools.count():
        file.seek(0)
        file.write(b'ab'[turn % 2:turn % 2 + 1] * 200000)
        turns.seek(0)
        turns.write(b'%d' % turn)" > "$T/log" 2>&1 || cat "$T/log"
until_true inside busy 'test -s torn -a -s turns'
won=0 torn=0 other=0
for _ in $(seq 20); do
  promote busy "$WORK/torn"
  case $state in
    done)
      won=$((won + 1))
      [ "$(tr -d a < "$WORK/torn" | wc -c)" = 0 ] || [ "$(tr -d b < "$WORK/torn" | wc -c)" = 0 ] || torn=$((torn + 1))
      cloche undo "$(field id)" > "$T/log" 2>&1 ;;
    conflict) ;;
    *) other=$((other + 1)); cat "$OUT" ;;
  esac
done
check "a file that is being written constantly: $won of 20 applied, none of them torn" is "$torn $other" "0 0"
check "and some were applied" test $won -gt 0
turns=$(inside busy 'cat turns')
further() { [ "$(inside busy 'cat turns')" != "$turns" ]; }
check "afterwards the sandbox continues to write" until_true further
cloche stop busy > "$T/log" 2>&1

# --- Many.
cloche new --name many > "$T/log" 2>&1
inside many "mkdir many && cd many && seq $MANY | split -l 1 -a 5 - f" > "$T/log" 2>&1 || cat "$T/log"
promote many "$WORK/many"
check "$MANY files are promoted" is "$state" "done"
check "all of them" is "$(find "$WORK/many" -type f | wc -l)" "$MANY"
try cloche undo "$(field id)"
check "and undone" not test -e "$WORK/many"
