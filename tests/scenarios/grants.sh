#!/usr/bin/env bash
# --ro, --rw, --hide, --declared and directories as a base.
. "$(dirname "$0")/../harness/lib.sh"
as_caller sh -c 'mkdir shared fixed secret data out "sp ace" away; echo fixed > fixed/f; echo s > secret/f; echo d > data/f
  echo sp > "sp ace/f";  ln -s fixed fixed-link'

try cloche run --rw shared -- sh -c 'echo real > shared/f; echo copy > beside'
check "--rw writes for real" is "$(cat shared/f 2> /dev/null)" real
check "and only there" test ! -e beside
check "the owner is the caller" is "$(stat -c %u shared/f 2> /dev/null)" "$CALLER_UID"
try cloche run --ro fixed -- sh -c 'cat fixed/f; echo x > fixed/g'
check "--ro can be read" prints fixed
check "--ro cannot be written, not even in the copy" says 'Read-only'
try cloche run --hide secret -- ls secret
check "--hide makes it absent" says 'No such file'
try cloche run --hide secret/f -- sh -c 'ls secret; echo own > secret/f; cat secret/f'
check "a hidden file may be made anew" prints own
try cloche run --ro 'sp ace' -- cat 'sp ace/f'
check "a path with a space" prints sp
out=$CALLER_HOME/out
for round in 1 2 3; do
  as_caller sh -c 'rm -rf ~/out ~/releases && mkdir -p ~/out ~/releases/1 ~/releases/2 && ln -s 1 ~/releases/now'
  for release in 1 2; do as_caller sh -c "echo $release > ~/releases/$release/f"; done
  for _ in 1 2; do try cloche run --rw "$out" --ro "$CALLER_HOME/releases/now" -- sh -c 'echo x > ~/out/f; cat ~/releases/now/f'; done
  check "$round: --rw of a directory that was made anew writes there" is "$(cat "$out/f" 2> /dev/null)" x
  as_caller ln -sfn 2 "$CALLER_HOME/releases/now"
  try cloche run --rw "$out" --ro "$CALLER_HOME/releases/now" -- sh -c 'cat ~/releases/now/f'
  check "$round: --ro of a link shows where it leads now" prints 2
done
# Leftover processes of a command write no more when the client has returned.
late=0
for round in 1 2 3 4 5 6 7 8 9 10; do
  try cloche run --rw "$out" -- sh -c 'for n in 1 2 3 4 5 6 7 8; do
    (setsid sh -c "while :; do echo x >> ~/out/left$n; done" &); done; until test -s ~/out/left8; do :; done'
  before=$(cat "$out"/left* | wc -c)
  sleep 0.1
  [ "$before" = "$(cat "$out"/left* | wc -c)" ] || late=$((late + 1))
  rm -f "$out"/left*
done
check "nobody writes to --rw after the end" is $late 0
# A file that runs with its owner's rights would be valid outside, too.
with_rights() { find "$1" -perm /6000; "$PYTHON" -c 'import os,sys
for f in os.listdir(sys.argv[1]):
    if os.listxattr(sys.argv[1] + "/" + f): print(f)' "$1"; }
as_caller mkdir rights kept
try cloche run --rw rights -- "$PYTHON" "$BIN/set_id.py" "$WORK/rights"
check "--rw: every call that sets such bits is tried" mentions '^capability-v3'
check "--rw: no call sets them" not grep -q ' done$' "$OUT"
check "--rw: each is refused as the system would" is "$(grep -vc -e EPERM -e ENOSYS "$OUT")" 0
check "--rw: no such file is left" is "$(with_rights rights)" ""
check "--rw: a denial is reported" says 'denied: .*chmod'
try cloche run --declared --out kept -- "$PYTHON" -c 'import os; open("kept/f", "w"); os.chmod("kept/f", 0o4755)'
check "--out: nor there" is "$(with_rights kept)" ""
try cloche run --rw rights -- sh -c "cp -p /usr/bin/passwd rights/copied; tar -C /usr/bin -cf - passwd | tar -C rights -xpf -; cmp /usr/bin/passwd rights/copied && cmp /usr/bin/passwd rights/passwd && echo same"
check "--rw: cp -p and tar succeed without the bits" prints same
check "--rw: and leave none" is "$(with_rights rights)" ""
try cloche run -- sh -c 'touch own && chmod 6755 own && stat -c %a own'
check "in a copy they can be set" prints 6755
try cloche run --rw ./shared/../shared -- true
check "a path with .. is resolved or refused, never half" [ "$status" = 0 -o "$status" = 125 ]
for bad in /etc /usr/bin / /proc /dev "$CALLER_HOME" /run; do
  try cloche run --rw "$bad" -- echo started
  check "--rw $bad is refused" exits 125
  check "--rw $bad: nothing started" prints_nothing
done
try cloche run --rw /no/such/place -- echo started
check "--rw of what does not exist is refused" exits 125
try cloche run --ro /no/such/place -- echo started
check "--ro of what does not exist is refused" exits 125
try cloche run --ro "$STATE" -- echo started
check "--ro of Cloche's own state is refused" exits 125
if [ "$MODE" = system ]; then
  sentinel=$(mktemp /etc/cloche-test.XXXXXX)
  ln -sfn "$sentinel" link
  try cloche run --rw link -- sh -c 'echo x >> link'
  check "--rw of a link into /etc does not write there" test ! -s "$sentinel"
  mkdir -p tricks && ln -sfn /etc tricks/etc
  try cloche run --rw "tricks/etc/${sentinel##*/}" -- sh -c 'echo x >> "$1"' sh "$sentinel"
  check "nor below a link" test ! -s "$sentinel"
  try cloche run --declared --out tricks/etc -- sh -c 'echo x >> "$1"' sh "tricks/etc/${sentinel##*/}"
  check "nor as --out" test ! -s "$sentinel"
  rm "$sentinel"
fi
try cloche run --hide "$WORK" -- true
check "--hide of the directory one stands in is refused" exits 125
try cloche run --hide /no/such/place -- echo fine
check "--hide of a missing path is not an error" prints fine

try cloche run --declared --input data --out out -- sh -c 'cat data/f 2>&1 || cat "$1"/data/f; echo result > "$1/out/r"' sh "$WORK"
check "--declared: the input can be read" prints d
check "--declared: the output is real" is "$(cat out/r 2> /dev/null)" result
try cloche run --declared --input data --out out -- sh -c "echo x > '$WORK/data/f'"
check "--declared: the input is read-only" says 'Read-only'
try cloche run --declared --input data -- sh -c "ls '$WORK' '$CALLER_HOME'; ls -A /home /root /var /opt /srv"
check "--declared: nothing else is visible" not mentions 'secret\|fixed\|shared'
check "--declared: of the rest there is not even a name" not mentions '^\(lib\|log\|cache\|spool\)$'
try cloche run --declared -- "$PYTHON" -c 'print(6*7)'
check "--declared: the runtimes are there" prints 42
try cloche run --declared -- sh -c 'echo x > /tmp/x && cat /tmp/x; echo y > /usr/y'
check "--declared: /tmp can be written" prints x
check "--declared: the runtimes cannot" says 'Read-only\|denied'
try cloche run --declared -- sh -c 'df -k /tmp | tail -1'
check "--declared: /tmp has a size" test "$(awk '{print $2}' "$OUT")" -lt 1000000
try cloche run --input data -- true
check "--input without --declared is refused" exits 125
try cloche run --declared --input /no/such -- true
check "an input that does not exist is refused" exits 125

# The target of a link is judged as if it had been named.
as_caller sh -c 'mkdir -p ~/.ssh && echo private > ~/.ssh/id; ln -sfn ~/.ssh key-link; ln -sfn / root-link; ln -sfn ~ home-link
  ln -sfn data data-link; ln -sfn /proc proc-link; ln -sfn "$1" state-link' sh "$STATE"
for link in key-link root-link home-link proc-link state-link; do
  for words in "--declared --input" --ro; do
    # shellcheck disable=SC2086
    try cloche run $words $link -- sh -c "cat '$WORK/$link/id' '$WORK/$link/.ssh/id' '$WORK/$link/$CALLER_HOME/.ssh/id'; ls '$WORK/$link/'"
    check "$words $link is refused" exits 125
    check "$words $link shows nothing" prints_nothing
    check "$words $link: there is a cure" says 'cure: '
  done
done
try cloche run --declared --input data-link -- cat "$WORK/data-link/f"
check "--declared: a link to what may be shown is followed" prints d
for link in root-link proc-link; do
  try cloche run --base "dir:$WORK/$link" -- cat "$CALLER_HOME/.ssh/id"
  check "--base dir:$link is refused" exits 125
  check "--base dir:$link shows nothing" prints_nothing
  check "--base dir:$link: there is a cure" says 'cure: '
done
try cloche run --base dir:/ -- true
cp "$ERR" "$T/by-name"
try cloche run --base dir:root-link -- true
check "--base: a link to / is refused like / itself" diff "$T/by-name" "$ERR"

# A directory as a base: a small root file system, everything in it static.
if command -v busybox > /dev/null; then
  as_caller sh -c 'mkdir -p root/bin root/etc root/tmp; cp "$(command -v busybox)" root/bin/busybox
    for t in sh cat ls echo id touch rm; do ln -s busybox root/bin/$t; done; echo from-base > root/etc/motd'
  find root -printf '%p %s %T@\n' | sort > "$T/before"
  try cloche run --base "dir:$WORK/root" -- cat /etc/motd
  check "dir: the base is what one sees" prints from-base
  try cloche run --base dir:root -- sh -c 'ls /; echo new > /etc/new; rm /etc/motd; ls /etc'
  check "dir: relative to where one stands" exits 0
  check "dir: nothing of the host is there" not mentions '^\(usr\|home\|var\)$'
  check "dir: it can be changed" mentions '^new$'
  find root -printf '%p %s %T@\n' | sort > "$T/after"
  check "dir: the directory is untouched" diff "$T/before" "$T/after"
  try cloche run --base dir:root -- id -u
  check "dir: it runs" exits 0
  try cloche new --base dir:root --name based --json
  check "dir: shown as its base" field_is base "dir:$WORK/root"
  try cloche exec based -- sh -c 'echo kept > /etc/kept'
  try cloche stop based
  try cloche exec based -- cat /etc/kept
  check "dir: files survive a stop" prints kept
  # Paths that a copy of the host hides are hidden in a base that holds them, by any name.
  as_caller sh -c 'mkdir -p ~/bin ~/dotfiles/gh ~/.config ~/app; cp root/bin/busybox ~/bin/busybox; ln -sfn busybox ~/bin/sh
    echo flag > ~/dotfiles/gh/hosts.yml; ln -sfn ../dotfiles/gh ~/.config/gh; echo flag > ~/app/.env; echo flag > ~/.env; echo seen > ~/app/code'
  for base in "$CALLER_HOME" home-link; do
    # shellcheck disable=SC2016
    try cloche run --base "dir:$base" -- /bin/sh -c 'B=/bin/busybox; $B cat /app/code; $B cat /.ssh/id /.env /app/.env /.config/gh/hosts.yml 2> /dev/null; $B ls -A / | $B grep -xE ".env|.ssh"; $B echo end'
    check "dir:$base hides what is hidden" prints "seen
end"
  done
  try cloche run --base "dir:$CALLER_HOME/.ssh" -- true
  check "dir: a hidden directory is refused as a base" says 'is hidden.*cure: \|cure: '
  check "dir: with the exit status of a failed start" exits 125
else
  echo "skipped: dir: bases, there is no busybox"
fi
for bad in dir: dir:relative/none dir:/no/such dir:/etc/passwd nonsense 'dir:/proc' oci:x; do
  try cloche run --base "$bad" -- echo started
  check "--base $bad is refused" exits 125
  check "--base $bad: nothing started" prints_nothing
  check "--base $bad: there is a cure" says 'cure: '
done
