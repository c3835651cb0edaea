#!/usr/bin/env bash
# Directories of any depth in a sandbox: those that are too deep prevent nothing else.
. "$(dirname "$0")/../harness/lib.sh"

cd "$WORK" || exit 1
# --- A path of 50 KiB, and two that are too deep.
cloche new --name deep > "$T/log" 2>&1
cat > "$BIN/nest.py" << 'END'
import os, sys
for top, count, name in (("deep", 250, "n" * 200), ("abyss", 1100, "a"), ("chasm", 400, "n" * 200)):
    back = os.open(".", os.O_RDONLY)
    os.mkdir(top); os.chdir(top)
    for _ in range(count):
        os.mkdir(name); os.chdir(name)
    open("file", "w").write("here\n")
    os.fchdir(back)
open("beside", "w").write("beside\n")
END
chmod 644 "$BIN/nest.py"
try cloche exec deep -- "$PYTHON" "$BIN/nest.py"
try cloche diff deep deep beside --json
check "diff goes down 250 directories" is "$status $(grep -c beside "$OUT") $(grep -c nnn/file "$OUT")" "0 1 1"
try cloche diff deep --json
check "and does not fail if another is deeper" is "$status $(grep -c beside "$OUT")" "0 1"
try cloche promote deep --yes
check "promote names it and refuses" says 'abyss.* cannot be read'
try cloche promote deep --yes --exclude abyss
check "as is the other" says 'chasm.* cannot be read'
try cloche promote deep --yes --exclude abyss --exclude chasm --json
check "the rest is promoted" is "$status $(cat beside)" "0 beside"
check "down to the deepest file" is "$("$PYTHON" -c '
import os
os.chdir("deep")
while not os.path.exists("file"):
    os.chdir("n" * 200)
print(open("file").read(), end="")')" here
try cloche undo "$(field id)"
check "and undone" is "$status $(ls)" "0 "
try cloche rm --all

# --- A file beside a hidden one, deeper than the kernel takes paths.
cat > "$BIN/bottom.py" << 'END'
import os, sys
for _ in range(30):
    if sys.argv[1] == "make": os.mkdir("n" * 200)
    os.chdir("n" * 200)
if sys.argv[1] == "make": open(".env", "w").write("hidden\n")
if sys.argv[1] != "show": open("file", "w").write(sys.argv[1] + "\n")
print(open("file").read(), end="")
END
chmod 644 "$BIN/bottom.py"
as_caller mkdir -p bottom/.git && cd bottom || exit 1
try as_caller "$PYTHON" "$BIN/bottom.py" make
cloche new --name bottom > "$T/log" 2>&1
try cloche exec bottom -- "$PYTHON" "$BIN/bottom.py" edit
try cloche promote bottom --yes
check "its edit is not a conflict" exits 0
check "and is promoted" is "$(as_caller "$PYTHON" "$BIN/bottom.py" show)" edit
cd "$WORK" || exit 1
try cloche rm --all
rm -r bottom

# --- A renamed directory is copied beside itself, without touching similar names.
mkdir lib .cloche-renamed
echo code > lib/file
echo mine > .cloche-renamed/mine
[ "$(id -u)" != 0 ] || chown -R "$CALLER_UID:$CALLER_UID" "$WORK"
cloche new --name renamed > "$T/log" 2>&1
try cloche exec renamed -- sh -c 'mv lib core; echo more > core/more'
try cloche promote renamed --yes
check "a renamed directory is promoted" is "$status $(cat core/file core/more | tr '\n' ' ')" "0 code more "
check "beside a directory with a name similar to its copy's" is "$(cat .cloche-renamed/mine)" mine
try cloche exec renamed -- cat .cloche-renamed/mine core/file
check "which the sandbox still sees" prints 'mine
code'
check "and nothing is left of the copy" is "$(find . -name '.cloche-renamed*')" ./.cloche-renamed
