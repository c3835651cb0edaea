#!/usr/bin/env bash
# A coding agent from npm works in a sandbox that reaches its model host and nothing else. Its key
# is in the vault: the host gets it, the sandbox never holds it. The agent's changes are promoted.
. "$(dirname "$0")/story.sh"
AGENT=${CLOCHE_NPM:-}/node_modules/@anthropic-ai/claude-code
[ -e "$AGENT/cli.js" ] || skip "no coding agent: npm could not be reached when tools/deps.sh ran"
NODE=$(PATH=$SAFE_PATH:$PATH command -v node) || skip "no node"
[ -x "$BIN/cloche-egress" ] || skip "cloche-egress is not built"
HANG_SECONDS=300

# --- A model host on this machine's loopback, with a certificate that the machine trusts.
KEY=sk-ant-api03-$(openssl rand -hex 24)
MODEL=$T/model
mkdir "$MODEL" && : > "$MODEL/heard"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$MODEL/key.pem" -out "$MODEL/cert.pem" -days 2 -subj /CN=host.cloche \
  -addext subjectAltName=DNS:host.cloche 2> "$T/log"
chmod 700 "$MODEL" # the key is on its command line and in its memory, not in the reach of the sandbox
"$PYTHON" "$SCRIPT_DIR/fixtures/model_server.py" "$MODEL/cert.pem" "$MODEL/key.pem" "$KEY" "$MODEL/port" "$MODEL/heard" \
  2> "$T/servers.log" &
server=$!
at_end() { local code=$?; kill "$server" 2> /dev/null; (exit $code); finish; }
trap at_end EXIT
until_true test -e "$MODEL/port" || { cat "$T/servers.log"; exit 1; }
PORT=$(cat "$MODEL/port")
if [ "$MODE" = rootless ]; then
  install -d -m 755 -o "$CALLER_UID" -g "$CALLER_UID" "$CALLER_HOME/.config" "$CALLER_HOME/.config/cloche"
  install -m 644 "$MODEL/cert.pem" "$CALLER_HOME/.config/cloche/trusted.pem"
else
  install -m 644 "$MODEL/cert.pem" "$T/trusted.pem"
  CALLER_ENV+=(SSL_CERT_FILE="$T/trusted.pem")
fi
stop_daemon
$starter ls > "$T/log" 2>&1

# --- The project, and the agent where the sandbox sees it.
cp -R "$AGENT" "$T/agent" && chmod -R a+rX "$T/agent"
as_caller sh -c 'cat > total.py && printf "from total import total\nassert total(2, 2) == 4\nprint(\"right\")\n" > test_total.py' << 'END'
def total(a, b):
    return a - b
END
watch_reality "$WORK"
heard() { grep -qe "$1" "$MODEL/heard"; }

printf "%s\n" "$KEY" > "$MODEL/value"
in=$MODEL/value try cloche secret set model --host "host.cloche:$PORT" --env ANTHROPIC_API_KEY
rm "$MODEL/value"
check "the key goes into the vault" exits 0
try cloche new --name agent --secret model
check "a sandbox that may use it" exits 0
agent() {
  cloche exec agent -- env ANTHROPIC_BASE_URL="https://host.cloche:$PORT" DISABLE_AUTOUPDATER=1 \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "$NODE" "$T/agent/cli.js" \
    -p "Mend total.py. FOLDER=$WORK " --allowedTools Read,Edit,Bash < /dev/null
}
try agent
check "the agent works through its task" exits 0
check "and says that it is done" mentions 'Mended: the total is a sum now'
check "it read, edited and ran the check" heard '^200 POST /v1/messages Read$'
check "edited" heard '^200 POST /v1/messages Edit$'
check "ran the check" heard '^200 POST /v1/messages Bash$'
check "each time the model host got the key" not heard '^401'
check "reality has not changed" reality_is_as_it_was

# --- The key was never inside.
placeholder=$(inside agent 'echo $ANTHROPIC_API_KEY')
check "inside there is something that looks like a key" is "${placeholder%%-api*}" "${KEY%%-api*}"
check "and is none" test "$placeholder" != "$KEY"
try inside agent "grep -rlF -- $KEY $WORK \$HOME /tmp /run /dev/cloche /proc/self/environ 2> /dev/null"
check "no file inside holds the key" prints ""
check "nor does a file of the daemon's" not grep -rqF -- "$KEY" "$STATE" "$RUN"

# --- Nothing else is reached.
try inside agent "curl -sS -m 10 https://example.com/"
check "no other host is reached" not exits 0
try cloche net agent log
check "the log has the model host" mentions "allow .*host.cloche:$PORT"
check "and what was refused" mentions 'deny .*example.com'

# --- Its changes are promoted.
try cloche diff agent --patch total.py
check "the diff shows the change" mentions '^+    return a + b'
try cloche promote agent "$WORK/total.py" --yes
check "it is promoted" exits 0
check "reality has it" grep -q 'return a + b' "$WORK/total.py"
check "and passes the check" is "$(cd "$WORK" && "$PYTHON" test_total.py)" right
check "the tree has nothing of the key" not grep -rqF -- "$KEY" "$WORK"
