# shellcheck shell=bash
# Sourced by the black-box tests: a daemon of the test's own, in a directory of its own, gone with
# the test. The script's first argument says who calls whom:
#   system    root calls a daemon of root
#   shared    an ordinary user calls a daemon of root
#   rootless  ordinary users call daemons of their own
# CLOCHE_BIN is the directory with cloche, cloched and cloche-spawn. They are copied, because the
# ordinary user may not be able to reach the build.
set -u
MODE=${1:-system}
HARNESS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SCRIPT_DIR=$(cd "$(dirname "$0")" && pwd)
SAFE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
HANG_SECONDS=${HANG_SECONDS:-60}  # not an assertion: a command that takes this long hangs

skip() { echo "skipped: $*"; exit 77; }
[ -x "${CLOCHE_BIN:?directory of the binaries}/cloche" ] || { echo "no cloche in $CLOCHE_BIN"; exit 1; }
[ "$EUID" = 0 ] || [ "$MODE" = rootless ] || skip "$MODE mode needs root"

T=$(mktemp -d /tmp/cloche-t.XXXXXX)
chmod 755 "$T"
# CLOCHE_TEST_STATE_ROOT: a directory of another file system for the uppers.
STATE_ROOT=$T
if [ -n "${CLOCHE_TEST_STATE_ROOT-}" ]; then
  STATE_ROOT=$(mktemp -d "$CLOCHE_TEST_STATE_ROOT/cloche-t.XXXXXX")
  chmod 755 "$STATE_ROOT"
fi
BIN=$T/bin STATE=$STATE_ROOT/state RUN=$T/run OUT=$T/out ERR=$T/err
CALLER_HOME=$T/home WORK=$T/work
mkdir -p "$BIN" "$CALLER_HOME" "$WORK"
cp "$CLOCHE_BIN"/cloche* "$BIN"
cp "$HARNESS"/*.py "$SCRIPT_DIR"/*.py "$BIN" 2> /dev/null
chmod -R a+rX "$BIN"

# A user of its own for each test, so that limits counted by user do not add up.
CALLER_UID=0
if [ "$MODE" != system ]; then
  # TEST_ACCOUNT: programs that ask who they are need an account; its group has the same number.
  if [ "$EUID" = 0 ]; then CALLER_UID=${TEST_ACCOUNT:-$((20000 + $$ % 30000))}; else CALLER_UID=$EUID; fi
  [ "$EUID" != 0 ] || chown "$CALLER_UID:$CALLER_UID" "$CALLER_HOME" "$WORK"
  [ "$MODE" != rootless ] || chown "$CALLER_UID" "$T" "$STATE_ROOT"
fi
SUPPLEMENTARY=
CALLER_ENV=()

# With sanitizers (presets asan and tsan) each of our processes reports into a file of its own here,
# also those without a terminal, without an environment or inside a sandbox (tests/sanitizer);
# finish looks.
REPORTS=$T/reports SANITIZER_ENV=()
if grep -qae __asan_init -e __tsan_init "$BIN"/cloche*; then
  HANG_SECONDS=$((HANG_SECONDS * 3))
  mkdir -m 1777 "$REPORTS"
  for name in ASAN LSAN TSAN; do
    variable=${name}_OPTIONS
    SANITIZER_ENV+=("$variable=${!variable:+${!variable}:}log_path=$REPORTS/$name")
  done
fi
# A confined process does not know the names of its functions.
show_report() {
  local name=${1##*/} addresses
  tr -d '\0' < "$1" | head -c 4000 | sed 's/^/     | /'
  mapfile -t addresses < <(tr -d '\0' < "$1" | sed -n 's/^ *#[0-9]* \(0x[0-9a-f]*\) *\((.*)\)\?$/\1/p' | head -n 30)
  [ ${#addresses[@]} = 0 ] || [ ! -x "$BIN/${name%.*}" ] ||
    addr2line -Cfpse "$BIN/${name%.*}" "${addresses[@]}" | sed 's/^/     | /'
}
cd "$WORK" || exit 1

# as_user UID COMMAND...: with a known environment and nothing of root's.
as_user() {
  local uid=$1 who=()
  shift
  if [ $EUID != "$uid" ]; then
    who=(setpriv --reuid "$uid" --regid "$uid")
    if [ -n "$SUPPLEMENTARY" ]; then who+=(--groups "$SUPPLEMENTARY"); else who+=(--clear-groups); fi
  fi
  local place=(CLOCHE_STATE_DIR="$STATE" CLOCHE_RUNTIME_DIR="$RUN")
  [ "$MODE" != shared ] || [ "$uid" = 0 ] || place=(CLOCHE_SOCKET="$RUN/cloched.sock")
  timeout --foreground -k 5 "$HANG_SECONDS" "${who[@]}" /usr/bin/env -i PATH="$SAFE_PATH" \
    HOME="$CALLER_HOME" LANG=C.UTF-8 TZ=Asia/Kathmandu TERM=xterm "${place[@]}" \
    "${SANITIZER_ENV[@]}" "${CALLER_ENV[@]}" "$@"
}
as_caller() { as_user "$CALLER_UID" "$@"; }
cloche() { as_caller "$BIN/cloche" "$@"; }
root_cloche() { as_user 0 "$BIN/cloche" "$@"; }

failed=0 passed=0
ok() { passed=$((passed + 1)); echo "ok   $*"; }
not_ok() {
  failed=$((failed + 1))
  echo "FAIL $*"
  [ ! -s "$T/why" ] || sed 's/^/     /' "$T/why"
  echo "     status ${status-}"
  [ ! -s "$OUT" ] || { echo "     stdout:"; head -c 600 "$OUT" | sed 's/^/     | /'; echo; }
  [ ! -s "$ERR" ] || { echo "     stderr:"; head -c 600 "$ERR" | sed 's/^/     | /'; }
}

# try COMMAND...: leaves $status, $OUT and $ERR. Standard input is $in, or empty.
in=/dev/null
try() {
  "$@" < "$in" > "$OUT" 2> "$ERR"
  status=$?
}

# check SENTENCE PREDICATE...: the predicates below explain themselves when they are false.
check() {
  local sentence=$1
  shift
  : > "$T/why"
  if "$@" 2>> "$T/why"; then ok "$sentence"; else not_ok "$sentence"; fi
}
is() { [ "$1" = "$2" ] || { echo "is '$1', should be '$2'" >&2; false; }; }
exits() { is "$status" "$1"; }
prints() { is "$(cat "$OUT")" "$1"; }
prints_nothing() { [ ! -s "$OUT" ] || { echo "standard output is not empty" >&2; false; }; }
says_nothing() { [ ! -s "$ERR" ] || { echo "standard error is not empty" >&2; false; }; }
says() { grep -qe "$1" "$ERR" || { echo "standard error does not say '$1'" >&2; false; }; }
mentions() { grep -qe "$1" "$OUT" || { echo "standard output does not hold '$1'" >&2; false; }; }
not() { ! "$@"; }

# field PATH: of the JSON in $OUT, e.g. `field limit.name`; "null" if it is not there.
field() { "$PYTHON" "$BIN/field.py" "$1" < "$OUT"; }
field_is() { is "$(field "$1")" "$2"; }
# All of it is one JSON document.
is_json() { "$PYTHON" -c 'import json,sys; json.load(sys.stdin)' < "$OUT"; }
PYTHON=$(PATH=$SAFE_PATH command -v python3)

# until_true COMMAND...: waits for a state that is certain to come.
until_true() {
  local left=300
  until "$@" > /dev/null 2>&1; do
    left=$((left - 1))
    [ $left -gt 0 ] || { echo "never became true: $*" >&2; return 1; }
    sleep 0.1
  done
}
# unmount DIR...: a daemon of another test, preparing a sandbox, may just be looking at it.
unmount() {
  local each
  for each; do until_true umount "$each" || return; done
}

# refused CODE SUBCOMMAND ARGUMENT...: `cloche SUBCOMMAND` fails with this code.
refused() {
  local code=$1 subcommand=$2
  shift 2
  try cloche "$subcommand" --json "$@"
  check "$code: cloche $subcommand $(printf '%q ' "$@" | cut -c 1-60)" field_is error.code "$code"
}

# python SCRIPT ARGUMENT...: as the caller; its own lines of ok and FAIL count.
python() {
  local script=$1
  shift
  as_caller env PYTHONPATH="$BIN" PYTHONDONTWRITEBYTECODE=1 CLOCHE_SOCKET="$RUN/cloched.sock" \
    CLOCHE="$BIN/cloche" "$PYTHON" "$BIN/$script" "$@" > "$OUT" 2> "$ERR"
  status=$?
  grep -e '^ok ' -e '^FAIL ' -e '^     ' "$OUT"
  passed=$((passed + $(grep -c '^ok ' "$OUT")))
  failed=$((failed + $(grep -c '^FAIL ' "$OUT")))
  : > "$T/why"
  # An exception is a status of 1, too.
  case $status in
    0) ;;
    1) grep -q '^FAIL ' "$OUT" || not_ok "$script ran to its end" ;;
    *) not_ok "$script ran to its end" ;;
  esac
}

daemon_pid() {
  local owner=0
  [ "$MODE" != rootless ] || owner=$CALLER_UID
  as_user $owner "$BIN/cloche" status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'
}

# Processes that run our copies of the binaries, or were started with this test's directories. All of
# /proc in two processes: two for each entry were a good part of the whole suite's time.
our_processes() {
  local self=$BASHPID all=(/proc/[0-9]*)  # taken before this starts anything
  { find "${all[@]/%//exe}" -maxdepth 0 -lname "$BIN/*"
    grep -lsaF "HOME=$CALLER_HOME" "${all[@]/%//environ}"; } 2> /dev/null |
    cut -d / -f 3 | sort -nu | grep -vxe $$ -e "$self"
}

stop_daemon() {
  local pid
  pid=$(daemon_pid 2> /dev/null)
  [ -z "$pid" ] || kill "$pid"
  local left=100
  while [ -n "$(our_processes)" ] && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
}

finish() {
  local code=$? pid report
  trap - EXIT
  cd /
  stop_daemon
  for pid in $(our_processes); do
    echo "FAIL process $pid outlives the daemon: $(tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null)"
    failed=$((failed + 1))
    kill -9 "$pid" 2> /dev/null
  done
  [ ! -d "$REPORTS" ] || while read -r report; do
    echo "FAIL the sanitizers find nothing: ${report##*/}"
    failed=$((failed + 1))
    show_report "$report"
  done < <(grep -rlae 'Sanitizer: ' "$REPORTS")
  rm -rf "$T" "$STATE_ROOT" || { failed=$((failed + 1)); echo "FAIL everything can be removed"; }
  [ $code = 77 ] && exit 77
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $code = 0 ] || exit 1
  [ $passed -gt 0 ] || exit 1
  exit 0
}
trap finish EXIT
trap 'exit 1' INT TERM

# The system daemon exists before an ordinary user calls it. Without one that
# starts sandboxes there is nothing to test.
starter=cloche
[ "$MODE" != shared ] || starter=root_cloche
try $starter ls
[ $status = 0 ] || { not_ok "a daemon starts"; exit 1; }
try cloche run -- true
[ $status = 0 ] || { not_ok "a sandbox starts"; exit 1; }
