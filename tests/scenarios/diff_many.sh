#!/usr/bin/env bash
# A hundred thousand changes stream: no process holds them all, in any form of output.
# cloche-bench --only diff --full does the same with a million.
HANG_SECONDS=${HANG_SECONDS:-280}
. "$(dirname "$0")/../harness/lib.sh"
files=100000
most=16384  # KiB; a diff that keeps its entries has ten times that
cat > "$BIN/peak.py" << 'END'
# peak.py FILE COMMAND...: the most memory of each of our programs while it runs, as "NAME KIB" lines in FILE.
import os, subprocess, sys

here = os.path.dirname(os.path.abspath(__file__))
peak = {}
command = subprocess.Popen(sys.argv[2:])
while command.poll() is None:
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if not os.readlink(f"/proc/{entry}/exe").startswith(here + "/"):
                continue
            lines = dict(line.split(":", 1) for line in open(f"/proc/{entry}/status"))
        except OSError:
            continue
        name = lines["Name"].strip()
        peak[name] = max(peak.get(name, 0), int(lines.get("VmRSS", "0").split()[0]))
with open(sys.argv[1], "w") as file:
    file.writelines(f"{name} {size}\n" for name, size in peak.items())
sys.exit(command.returncode)
END
cat > make.py << 'END'
import os, sys
for number in range(int(sys.argv[1])):
    if number % 1000 == 0:
        os.makedirs("many/d%03d" % (number // 1000))
    with open("many/d%03d/f%03d" % (number // 1000, number % 1000), "w") as file:
        file.write("line %d\n" % number)
END
chmod 644 make.py "$BIN/peak.py"
bounded() {
  local name size
  grep -q '^cloche-diff ' "$T/peak" || { echo "cloche-diff was not seen" >&2; return 1; }
  while read -r name size; do
    case $name in
      cloche | cloched | cloche-diff | cloche-spawn) [ "$size" -lt "$1" ] || { echo "$name had $size KiB" >&2; return 1; } ;;
    esac
  done < "$T/peak"
}
measure() { try as_caller "$PYTHON" -B "$BIN/peak.py" "$T/peak" "$BIN/cloche" "$@"; }

cloche new --name many > "$T/log" 2>&1
try cloche exec many -- "$PYTHON" -B make.py $files
check "$files files are made" exits 0
measure diff many --all --name-only
check "their names are listed" is "$status $(grep -c '/f[0-9]*$' "$OUT")" "0 $files"
check "in little memory" bounded $most
measure diff many --all --json
check "as JSON" is "$status $("$PYTHON" -c 'import json,sys; print(sum(1 for c in json.load(open(sys.argv[1]))["changes"] if c["kind"] == "added"))' "$OUT")" "0 $((files + files / 1000 + 1))"
check "in little memory" bounded $most
measure diff many --all --patch
check "as a patch" is "$status $(grep -c '^diff --git' "$OUT")" "0 $files"
check "in little memory" bounded $most
measure diff many --all --stat
check "as statistics" mentions "$files insertions"
check "in not much more" bounded $((4 * most))
cloche snapshot many --name full > "$T/log"
cloche exec many -- rm -r many/d000 many/d001
measure diff many --all --against full --name-only
check "against a snapshot of the same" is "$status $(grep -c '/f[0-9]*$' "$OUT")" "0 2000"
check "in little memory" bounded $most
try cloche rollback many full
check "rollback" exits 0
try cloche fork many --json
fork=$(field 0.id)
measure diff many --all --against "$fork" --name-only
check "against a fork there is no difference" is "$status $(grep -c '' "$OUT")" "0 0"
check "in little memory" bounded $most
