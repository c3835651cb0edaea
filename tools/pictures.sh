#!/usr/bin/env bash
# pictures.sh: records the pictures of README.md from a real run. Needs the built programs and tmux.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d /var/tmp/cloche-pictures.XXXXXX)
chmod 711 "$scratch"  # cloched is not root and has to get through
export PATH=${CLOCHE_BIN:-$here/build/bin}:$PATH HOME=$scratch
export CLOCHE_STATE_DIR=$scratch/state CLOCHE_RUNTIME_DIR=$scratch/run
unset CLOCHE_SOCKET
tmux() { command tmux -S "$scratch/tmux" "$@"; }

clean_up() {
  local pid
  pid=$(cloche status --json 2> /dev/null | sed -n 's/.*"pid":\([0-9]*\).*/\1/p') || true
  tmux kill-server 2> /dev/null || true
  if [ -n "$pid" ]; then
    kill "$pid"
    while readlink "/proc/$pid/exe" > /dev/null; do sleep 0.02; done  # a zombie has none
  fi
  cd /
  rm -rf "$scratch"
}
trap clean_up EXIT

cp -R "$here/examples/median" "$here/examples/attempts" "$scratch"
cd "$scratch/median"
cloche ls > /dev/null  # its start is not in the picture
tmux -f /dev/null new-session -d -x 142 -y 40 "env PS1='$ ' TERM=screen-256color bash --norc"

# type KEYS...: then waits for the prompt that follows.
type_and_wait() {
  local before=$1 keys=$2
  tmux send-keys "$keys" Enter
  until [ "$(tmux capture-pane -p | grep -c '^\$')" -gt "$before" ]; do sleep 0.1; done
}
answer() {
  until tmux capture-pane -p | grep -qe "$1"; do sleep 0.1; done
  tmux send-keys "$2" Enter
}
picture() {
  tmux capture-pane -ep | sed -e '/^\$ *$/d' | "$here/tools/terminal_svg.py" > "$here/docs/pictures/$1.svg"
  tmux send-keys C-l
  until [ "$(tmux capture-pane -p | grep -c .)" = 1 ]; do sleep 0.1; done
}

type_and_wait 1 'cloche race --name try'
picture race
tmux send-keys 'cloche promote try-qsort median.c' Enter
answer 'y/n\|\[y\|? ' y
until [ "$(tmux capture-pane -p | grep -c '^\$')" -gt 1 ]; do sleep 0.1; done
type_and_wait 2 'cloche undo --yes'
picture promote
