# shellcheck shell=bash
# Sourced by the stories: what users would tell, from beginning to end. The stories watch reality
# all the time.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"

# The ordinary user may not be able to reach the sources.
EXAMPLES=$T/examples
cp -R "$HARNESS/../../examples" "$EXAMPLES" && chmod -R a+rX "$EXAMPLES"

inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*"; }

# fingerprint PATH...: all that is there, with contents, owners, modes and times.
fingerprint() {
  find "$@" -printf '%p %y %m %U %G %n %s %T@ %l\n' | sort
  find "$@" -type f -print0 | sort -z | xargs -0 -r sha256sum
}

# watch_reality PATH...: from now on.
watch_reality() { WATCHED=("$@"); fingerprint "${WATCHED[@]}" > "$T/reality"; }
reality_is_as_it_was() { fingerprint "${WATCHED[@]}" | diff "$T/reality" - >&2; }
