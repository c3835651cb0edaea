#!/usr/bin/env bash
# A person at a terminal.
. "$(dirname "$0")/../harness/lib.sh"
python terminal.py
