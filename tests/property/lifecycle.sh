#!/usr/bin/env bash
# Every way to make a sandbox and every verb, while the daemon exits, is killed and upgraded in between.
. "$(dirname "$0")/../harness/lib.sh"

as_caller sh -c 'mkdir -p ro rw hidden input out base/bin && echo x > ro/f && echo x > input/f'
for program in sh cat; do
  cp "$(command -v $program)" "$WORK/base/bin/$program"
  for library in $(ldd "$WORK/base/bin/$program" | grep -o '/[^ ]*'); do
    mkdir -p "$WORK/base$(dirname "$library")" && cp -L "$library" "$WORK/base$library"
  done
done
[ "$MODE" = system ] || chown -R "$CALLER_UID:$CALLER_UID" "$WORK/base"
CALLER_ENV=(CLOCHE_SEED="${CLOCHE_SEED-}" CLOCHE_SECONDS="${CLOCHE_SECONDS-}")
HANG_SECONDS=280 python lifecycle.py "$STATE" "$WORK" "$MODE"
cloche rm --all > /dev/null
check "and nothing is left" is "$(cloche ls --all --json)" '[]'
