# Sourced by the guest tests. $shown: files that tell why a check failed.
set -u
failures=0
check() {  # check WHAT COMMAND...: COMMAND must succeed
  what=$1
  shift
  if "$@"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    failures=$((failures + 1))
    tail -n 40 $shown 2> /dev/null
  fi
}
