# A world of servers on the host's loopback, for scenarios of the network; sourced after lib.sh. The
# servers judge: a request they did not log in $LOG has not left. Before it begins, $SERVERS must
# hold the input of their script.
[ -x "$BIN/cloche-egress" ] || skip "cloche-egress is not built"
[ "$(id -u)" = 0 ] || skip "its servers have ports and addresses of root's"
export PATH=$SAFE_PATH
SERVERS=$T/servers LOG=$T/heard
mkdir "$SERVERS" && : > "$LOG"

# begin_world SCRIPT READY [NAMES]: starts SCRIPT (its standard input is $VALUES), which writes READY when it serves. A daemon
# with WORLD_ENV in its environment knows NAMES (as in /etc/hosts), or else asks the world's own name server.
begin_world() {
  "$PYTHON" "$SCRIPT_DIR/$1" "$SERVERS" "$LOG" < "${VALUES-/dev/null}" 2> "$T/servers.log" &
  servers=$!
  [ -z "${VALUES-}" ] || exec 9> "$VALUES"
  trap end_world EXIT
  : > "$T/resolv.conf"
  [ $# = 3 ] || echo 'nameserver 127.0.0.77' > "$T/resolv.conf"
  echo "${3-127.0.0.1 localhost}" > "$T/hosts"
  chmod 644 "$T/resolv.conf" "$T/hosts"
  WORLD_ENV=(CLOCHE_RESOLV_CONF="$T/resolv.conf" CLOCHE_HOSTS="$T/hosts")
  READY=$SERVERS/$2
}
await_world() { until_true test -e "$READY" || { cat "$T/servers.log"; exit 1; }; }
end_world() { local code=$?; kill "$servers" 2> /dev/null; (exit $code); finish; }
restart_daemon() { stop_daemon; $starter ls > "$T/log" 2>&1; }
heard() { grep -qe "$1" "$LOG" || { echo "the servers did not hear '$1'" >&2; false; }; }
egress_pid() { local pid; for pid in $(our_processes); do [ "$(readlink "/proc/$pid/exe")" != "$BIN/cloche-egress" ] || echo "$pid"; done; }
