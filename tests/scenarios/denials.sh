#!/usr/bin/env bash
# Refused calls are reported, and a violation can end the sandbox.
. "$(dirname "$0")/../harness/lib.sh"
raw() { echo "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); $1"; }
mount=$(raw 'r=l.mount(b"none",b"/mnt",b"tmpfs",0,None); print(r,ctypes.get_errno())')
# AF_VSOCK leads past every network rule.
violate=$(raw 'r=l.socket(40,1,0); print(r,ctypes.get_errno())')

try cloche run -- "$PYTHON" -c "$mount"
check "mount is refused" prints '-1 1'
check "and said on standard error" says 'denied: mount'
try cloche run --json -- "$PYTHON" -c "$mount"
check "and counted in the result" field_is denials 1
try cloche new --name box
try cloche exec box -- "$PYTHON" -c "$mount"
try cloche show box --json
check "show names the call" field_is denials.0.call mount
check "show has its class" field_is denials.0.class reported
check "show has its count" field_is denials.0.count 1
check "show has the process" mentions python
check "show has arguments" not field_is denials.0.args.# 0
try cloche show box
check "show says it in words" mentions mount

try cloche exec box -- "$PYTHON" -c "$violate; print('after')"
check "a violation is refused and the program continues by default" mentions after
try cloche show box --json
check "its class is violation" mentions '"class":"violation"'
try cloche run --json --on-violation kill -- sh -c "'$PYTHON' -c '$(raw 'l.socket(40,1,0)')'; echo went on"
check "--on-violation kill ends the command" field_is exit_status 137
check "--on-violation kill: nothing after it runs" field_is stdout ""
check "--on-violation kill: the cause is reported" mentions violation
try cloche new --name strict --on-violation kill
try cloche exec strict -- "$PYTHON" -c "$violate; print('after')"
check "in a kept sandbox too" not mentions after
try cloche ls --all --json
check "which then says why it ended" mentions 'violation'
try cloche new --name later --on-violation kill
stop_daemon
try $starter ls
try cloche exec --json --wall 60s later -- "$PYTHON" -c "$violate; print('after')"
check "in one of an earlier daemon too" field_is limit.name violation
check "and nothing after it runs" field_is stdout ""

try cloche run --json --denials 3 -- "$PYTHON" -c "$mount
$(for _ in 1 2 3 4; do echo "$mount"; done)
import time
time.sleep(1000)"
check "--denials ends the command" field_is exit_status 137
check "--denials is a typed limit" field_is limit.name denials

# Quiet denials are part of everyday work.
try cloche run -- dmesg
check "a quiet denial is not said" not says 'denied'
