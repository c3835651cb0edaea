#!/usr/bin/env bash
# Changes in particular places: what is granted or declared, mounts and their tops, access control lists, devices.
# The mounts are its own, and gone with it.
if [ "${1-}" = system ] && [ -z "${CLOCHE_OWN_MOUNTS-}" ]; then
  CLOCHE_OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
[ -z "${CLOCHE_OWN_MOUNTS-}" ] || mount --make-rshared /
. "$(dirname "$0")/../harness/lib.sh"

names() { cloche diff "$1" --json > "$OUT" 2> "$ERR"; "$PYTHON" "$BIN/changes.py" kinds "$WORK" < "$OUT"; }
as_caller sh -c 'mkdir -p d ro rw out in sub; echo a > a; echo f > d/f; echo r > ro/r; echo w > rw/w; echo i > in/i'

# set_acl FILE USER: the user may read and write it.
set_acl() {
  echo "import os, struct
entries = [(1, 6, -1), (2, 6, $2), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
os.setxattr('$1', 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(
    struct.pack('<HHI', tag, rights, who & 0xffffffff) for tag, rights, who in entries))"
}
as_caller "$PYTHON" -c "$(set_acl d/f 12)"
cloche new --name acl > "$OUT" 2>&1
cloche exec acl -- sh -c ': >> d/f' 2> "$ERR"
check "a list that was only copied has not changed" is "$(names acl)" ''
cloche exec acl -- "$PYTHON" -c "$(set_acl d/f "$CALLER_UID")" 2> "$ERR"
check "one that was changed has" is "$(names acl)" 'modified d/f'
check "in its attributes" mentions '"differs":\["xattr"\]'

cloche exec acl -- chmod 711 "$CALLER_HOME" 2> "$ERR"
check "the top of what is copied" is "$(names acl | grep home)" "modified $CALLER_HOME"
check "in its mode" mentions '"differs":\["mode"\]'
if [ "$MODE" = system ]; then
  # Inside it is refused, but it can be there before.
  mknod "$WORK/d/null" c 1 3 && mknod "$WORK/d/zero" c 1 5
  cloche exec acl -- sh -c 'rm d/null; chmod 600 d/zero' 2> "$ERR"
  check "devices that are gone or changed" is "$(names acl | grep d/[nz])" "deleted d/null
modified d/zero"
  check "with their numbers" mentions '"rdev":"1:5"'
fi

cloche new --name grants --ro "$WORK/ro" --rw "$WORK/rw" > "$OUT" 2>&1
cloche exec grants -- sh -c 'echo y > rw/y; echo z > z; rm a' > "$OUT" 2> "$ERR"
check "writes to a granted path are real" is "$(cat rw/y)" y
check "so they are not changes, nor are read-only paths" is "$(names grants)" "deleted a
added z"

cloche new --name declared --declared --input "$WORK/in" --out "$WORK/out" > "$OUT" 2>&1
cloche exec declared -- sh -c "echo o > '$WORK/out/o'; echo t > /tmp/t" > "$OUT" 2> "$ERR"
check "writes to a declared output are real" is "$(cat out/o)" o
check "and nothing else is kept" is "$(names declared)" ''

if [ "$MODE" = system ]; then
  mount -t tmpfs none sub && mkdir sub/x sub/deep && echo 1 > sub/x/one
  mount -t tmpfs none sub/deep && echo 2 > sub/deep/two
  cloche new --name mounts > "$OUT" 2>&1
  check "mounts below: nothing has changed" is "$(names mounts)" ''
  cloche exec mounts -- sh -c 'echo 3 > sub/deep/three; rm sub/deep/two; mv sub/x sub/y; chmod 711 sub; mv a sub/a' 2> "$ERR"
  check "each change at its place" is "$(names mounts)" "deleted a
modified sub
added sub/a
added sub/deep/three
deleted sub/deep/two
renamed sub/y from sub/x"
  cloche rm --all > "$OUT" 2>&1
  unmount sub/deep sub
fi
