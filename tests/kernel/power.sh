#!/usr/bin/env bash
# power.sh KERNEL: a guest promotes and undoes in a loop (power_guest.sh), QEMU is killed in the
# middle, and the next guest that boots from the same disk checks it. Anything the killed guest had
# not written to its disk is lost, as with a power cut.
# CLOCHE_POWER_CUTS: how often (6).
set -u
here=$(cd "$(dirname "$0")" && pwd)
series=${1:-6.12}
cuts=${CLOCHE_POWER_CUTS:-6}
work=$(mktemp -d)
run=
finish() {
  [ -z "$run" ] || { kill "$run" && wait "$run"; } 2> /dev/null
  rm -rf "$work"
}
trap finish EXIT
export CLOCHE_GUEST_DISK=$work/disk.img CLOCHE_GUEST_PID=$work/pid

# The last words of the guest that was cut off decide which states are allowed.
may_be() {
  case $1 in
    promoting* | undoing*) echo 'old new' ;;
    promoted*) echo new ;;
    *) echo old ;;
  esac
}
old=0 new=0 wrong=0 during=0 expected=old
for round in $(seq 0 "$cuts"); do
  rm -f "$CLOCHE_GUEST_PID"
  : > "$work/said"
  "$here/../../tools/guest/run.sh" "$series" "$here/power_guest.sh" > "$work/said" 2> "$work/err" &
  run=$!
  # The last one is not killed: it says what it finds, and ends by itself.
  [ "$round" -lt "$cuts" ] || touch "$work/last"
  lines=0 aim=$((2 + RANDOM % 6))
  while kill -0 "$run" 2> /dev/null; do
    lines=$(grep -cE '^(promot|undo)' "$work/said")
    [ ! -e "$work/last" ] || ! grep -q '^found' "$work/said" || break
    [ -e "$work/last" ] || [ "$lines" -lt "$aim" ] || break
    sleep 0.02
  done
  if ! kill -0 "$run" 2> /dev/null && [ ! -s "$work/pid" ]; then
    wait "$run"
    status=$?
    cat "$work/err" >&2
    [ $status != 77 ] || exit 77
    exit 1
  fi
  sleep "0.$(printf '%03d' $((RANDOM % 250)))"  # not for synchronisation: to hit different moments
  kill -9 "$(cat "$work/pid")" 2> /dev/null
  wait "$run" 2> /dev/null
  run=
  if [ "$round" -gt 0 ]; then
    found=$(tr -d '\r' < "$work/said" | sed -n 's/^found //p' | head -1)
    case " $expected " in
      *" ${found%% *} "*) ;;
      *) wrong=$((wrong + 1)); echo "FAILED: found '$found', may be: $expected"; tail -n 5 "$work/said" ;;
    esac
    case $found in old*) old=$((old + 1)) ;; new*) new=$((new + 1)) ;; esac
    tr -d '\r' < "$work/said" | sed -n 's/^  /     /p'
  fi
  last=$(tr -d '\r' < "$work/said" | grep -aE '^(promot|undo|ready)' | tail -1)
  expected=$(may_be "$last")
  case $last in promoting* | undoing*) during=$((during + 1)) ;; esac
done
echo "$cuts power cuts, $during in the middle of one: old $old, new $new, other $wrong"
[ $wrong = 0 ] && [ $((old + new)) = "$cuts" ]
