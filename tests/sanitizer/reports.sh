#!/usr/bin/env bash
# Findings of a sanitizer in a confined process are reported; reports.sh CANARY.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$T/bin" "$T/reports"
cp "$1" "$T/bin/canary"
expect() {
  ASAN_OPTIONS='' "$T/bin/canary" "$1" 2> /dev/null || true
  grep -qae "Sanitizer: $2" "$T"/reports/* || { echo "FAIL $1 is not reported"; exit 1; }
  rm "$T"/reports/*
  echo "ok   $1 is reported"
}
expect overflow heap-buffer-overflow
expect undefined ILL
