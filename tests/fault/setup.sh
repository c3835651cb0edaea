#!/usr/bin/env bash
# A fault at every step of setting up a sandbox: no command runs in a half-made one, and nothing is
# left behind. See setup.py.
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$BIN/cloche-inject" ] || skip "the injector knows x86-64 only"
# Something to hide, by name and by pattern.
as_caller mkdir -p "$WORK/.git" "$WORK/sub" "$CALLER_HOME/.ssh"
for file in "$WORK/.env" "$WORK/sub/.env" "$CALLER_HOME/.ssh/key" "$WORK/secret"; do
  as_caller sh -c 'echo hidden > "$1"' sh "$file"
done
export BIN STATE RUN WORK MODE CALLER_UID CALLER_HOME SAFE_PATH T HARNESS
PYTHONPATH=$HARNESS PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$SCRIPT_DIR/setup.py" 2> "$ERR" | tee "$OUT"
status=${PIPESTATUS[0]}
passed=$((passed + $(grep -c '^ok ' "$OUT")))
failed=$((failed + $(grep -c '^FAIL ' "$OUT")))
[ $status != 77 ] || skip "$(tail -1 "$ERR")"
case $status in 0 | 1) ;; *) not_ok "setup.py ran to its end" ;; esac
