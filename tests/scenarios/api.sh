#!/usr/bin/env bash
# Clients that misbehave; the daemon stays, and so do everybody else's sandboxes.
. "$(dirname "$0")/../harness/lib.sh"
before=$(daemon_pid)
python abuse.py
check "the daemon is the same as before" is "$(daemon_pid)" "$before"
try cloche run -- echo alive
check "and works" prints alive
