#!/usr/bin/env bash
# --json everywhere: one object with an id, or a list of such; errors are one object too. Commands
# that take SANDBOX... print a list, however many there are.
. "$(dirname "$0")/../harness/lib.sh"

has_id() { local id; id=$(field "${1-}id"); [ -n "$id" ] && [ "$id" != null ]; }
try cloche new --json --name box
check "new" has_id
try cloche run --json -- sh -c 'echo out; echo err >&2; exit 3'
check "run" has_id
check "run: state" field_is state exited
check "run: exit status" field_is exit_status 3
check "run: the status of cloche itself is the same" exits 3
check "run: output" field_is stdout out
check "run: errors" field_is stderr err
check "run: no limit was hit" field_is limit null
check "run: no denials" field_is denials 0
check "run: no signal" field_is signal null
for key in duration_s cpu_s peak_memory_bytes io.read_bytes io.write_bytes output.kept_bytes \
  output.dropped_bytes started sandbox; do
  # Without a cgroup there is nothing that counts memory.
  [ "$MODE$key" != rootlesspeak_memory_bytes ] || continue
  check "run: has $key" not field_is "$key" null
done
try cloche run --json -- sh -c 'kill -15 $$'
check "run: a signal has its own field" field_is signal 15
check "run: and its state" field_is state signaled
check "run: and its status" field_is exit_status 143
try cloche run --json -- no-such-command
check "run: a missing command has an error" not field_is error.message null
check "run: and is 127" exits 127
try cloche run --json -- printf '\377\376 "quoted" \\ \001'
check "run: any bytes make valid JSON" is_json
try cloche exec --json box -- echo hi
check "exec" has_id
check "exec: output" field_is stdout hi
try cloche exec --json -d box -- true
check "exec --background" has_id
try cloche ls --json
check "ls: each has an id" has_id 0.
try cloche show box
check "show counts nothing below zero" not mentions 'usage.*-[0-9]'
check "nor more than there is" not mentions 'usage.*TiB'
try cloche show --json box
check "show" has_id
for key in state created base mode limits.memory limits.pids enforced.capabilities enforced.seccomp \
  enforced.namespaces denials commands; do
  check "show: has $key" not field_is "$key" null
done
try cloche logs --json box
check "logs" has_id
try cloche explain --json
check "explain" is_json
check "explain: has an id" has_id
check "explain: has a plan" not field_is plan null
try cloche doctor --json
check "doctor" is_json
check "doctor: has an id" has_id
check "doctor: has checks" not field_is checks.0.status null
try cloche probe --json --no-such-option
check "probe: an unknown option is an error in JSON" field_is error.code invalid
try cloche probe --json --only NO-99
check "probe: so is an unknown probe" field_is error.code invalid
try cloche status --json
check "status" has_id
check "status: mode" field_is mode "$([ "$MODE" = rootless ] && echo rootless || echo system)"
try cloche new --json --name two
try cloche stop --json box
check "stop: a list of one" has_id 0.
try cloche stop --json box two
check "stop: a list of two" has_id 1.
try cloche rm --json two
check "rm: a list of one" has_id 0.
check "rm: state" field_is 0.state removed
try cloche rm --json box nothing
check "rm: a list of two" field_is 0.state removed
check "rm: an error has its place in it" field_is 1.error.code not_found
check "rm: and is a failure" exits 3
try cloche rm --json nothing
check "rm: a list of one error" field_is 0.error.code not_found
check "rm: is a failure, too" exits 3
try cloche frobnicate --json
check "an unknown command is one object" field_is error.code invalid
check "and leaves standard error alone" says_nothing
try cloche inspect nothing
check "inspect of nothing is one object" field_is error.code not_found
for words in "show nothing" "logs nothing" "rename nothing other" "exec nothing -- true" \
  "new --name=A/B" "run --memory=-1 -- true" "explain --base=nowhere" \
  "ls --nonsense" "run --nonsense -- true"; do
  # shellcheck disable=SC2086
  try cloche ${words%% *} --json ${words#* }
  check "error of '$words' is one object" not field_is error.code null
  check "error of '$words' has a message" not field_is error.message null
  check "error of '$words' leaves standard error alone" says_nothing
  check "error of '$words' is a failure" not exits 0
done
