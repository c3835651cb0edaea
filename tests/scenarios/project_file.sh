#!/usr/bin/env bash
# The project's cloche.toml, as it was when the sandbox was made, binds what is promoted from it.
. "$(dirname "$0")/../harness/lib.sh"

inside() { local box=$1; shift; cloche exec "$box" -- sh -c "$*" > "$T/log" 2>&1; }
ours() { [ "$MODE" = system ] || chown -hR "$CALLER_UID:$CALLER_UID" "$WORK"; }

mkdir -p "$WORK/lib" "$WORK/.git" "$WORK/secrets/deep" && echo one > "$WORK/lib/a.py" && echo two > "$WORK/b.txt"
echo s > "$WORK/secrets/deep/key" && echo p > "$WORK/pyproject.toml"
cat > "$WORK/cloche.toml" << 'END'
[promote]
allow = ["lib/**/*.py", "secrets/", "pyproject.toml"]
deny = ["secrets/deep/"]
read_only = ["pyproject.toml"]
END
ours

# --- It is pinned.
try cloche new --name box
check "a sandbox is made" exits 0
try cloche show box --json
check "show tells the digest of the file" field_is project_file "sha256:$(sha256sum < "$WORK/cloche.toml" | cut -c 1-64)"
try cloche show box
check "and as text" mentions '^cloche.toml  *as it was then, sha256:'
try cloche fork box --name twin
try cloche show twin --json
check "a fork inherits it" field_is project_file "sha256:$(sha256sum < "$WORK/cloche.toml" | cut -c 1-64)"
cloche stop box > "$T/log"

# --- Allowed changes are applied, and nothing else.
inside box 'echo new > lib/a.py; mkdir -p lib/deep/er; echo x > lib/deep/er/c.py'
try cloche promote box --yes --json
check "allowed changes are applied, with the directories on the way" field_is state done
check "there it is" is "$(cat "$WORK/lib/deep/er/c.py")" x
inside box 'echo changed > b.txt'
try cloche promote box --yes
check "a change that is not allowed is a conflict" exits 4
check "which names the rule" says 'b.txt: promote.allow of cloche.toml does not name it'
check "and how to proceed" says 'exclude'
check "nothing was applied" is "$(cat "$WORK/b.txt")" two
try cloche promote box --yes --exclude b.txt --json
check "without it, there is nothing left" field_is changes '[]'
inside twin 'rm -r secrets'
try cloche promote twin --yes
check "a deletion above what is denied is a conflict" exits 4
check "which names the pattern" says "secrets/deep/key: promote.deny of cloche.toml forbids it: 'secrets/deep/'"
check "the file is there" is "$(cat "$WORK/secrets/deep/key")" s
inside twin 'git -v > /dev/null 2>&1; echo q > pyproject.toml'
try cloche promote twin pyproject.toml --yes --json
check "a read-only path stays" field_is state conflict
check "and says so" field_is conflicts.0.reason "promote.read_only of cloche.toml forbids it: 'pyproject.toml'"
try cloche new --name empty
inside empty 'mkdir nothing'
try cloche promote empty --yes --json
check "a new directory with nothing allowed in it is a conflict" field_is state conflict
inside empty 'rmdir nothing; mkdir lib/n; mv lib/a.py lib/n/b.py'
try cloche promote empty --yes --json
check "a rename within what is allowed is none" field_is state done
inside empty 'mv lib/n/b.py c.txt'
try cloche promote empty --yes --json
check "a rename out of it is one" field_is state conflict

# --- The agent's copy has no effect.
try cloche new --name sly
inside sly 'printf "[promote]\n" > cloche.toml; echo evil > b.txt'
try cloche promote sly --yes --json --exclude cloche.toml
check "its own copy does not change the rules" field_is state conflict
try cloche promote sly cloche.toml --yes --json
check "nor does it get out" field_is conflicts.0.reason 'what it says binds promotions: it is only yours to change'
inside sly 'rm cloche.toml'
try cloche promote sly cloche.toml --yes --json
check "not even its deletion" field_is state conflict
check "b.txt is as it was" is "$(cat "$WORK/b.txt")" two

# --- The owner changes the real file.
printf '[promote]\nallow = ["*.txt"]\n' > "$WORK/cloche.toml"
inside sly 'git init > /dev/null 2>&1; echo fine > lib/z.py'
try cloche promote sly lib --dry-run --json
check "a promotion says that the real one has changed" is "$(field notes.0 | grep -c 'cloche.toml has changed .* cloche pipeline .* repin')" 1
check "and goes by the one of then" field_is state dry_run
try cloche pipeline sly repin
check "repin asks a person" exits 5
check "and shows the file" says 'allow = \["\*.txt"\]'
try cloche pipeline sly repin --yes
check "or takes --yes" mentions "^sha256:$(sha256sum < "$WORK/cloche.toml" | cut -c 1-64)"
try cloche promote sly lib --yes --json
check "now the new one holds" field_is state conflict
try cloche promote sly b.txt --yes --json
check "for what it allows, too" field_is state done
if [ "$MODE" != shared ]; then
  stop_daemon  # the next command starts another
  try cloche show sly --json
  check "also after a restart of the daemon" field_is project_file "sha256:$(sha256sum < "$WORK/cloche.toml" | cut -c 1-64)"
fi

# --- Files that make no sense.
printf '[promote]\nalow = []\n' > "$WORK/cloche.toml"
try cloche new
check "an unknown key is an error" exits 2
check "with its line" says 'cloche.toml:2: promote has no key'
printf '[promote]\nallow = ["[a-"]\n' > "$WORK/cloche.toml"
refused invalid new
printf '[promote]\nalow = []\n' > "$WORK/cloche.toml"
for words in "run -- true" "promote sly --dry-run" "explain" "shell -T" "pipeline sly run" "race --approach a=true"; do
  # shellcheck disable=SC2086
  try cloche $words
  check "it is an error of: cloche $words" not exits 0
  check "with file and line" says "$WORK/cloche.toml:2: promote has no key"
  check "and what to do" says 'known here: allow, deny, read_only'
done
try cloche exec sly -- true
check "existing sandboxes continue" exits 0
head -c 70000 /dev/zero | tr '\0' '#' > "$WORK/cloche.toml"
refused invalid new
rm "$WORK/cloche.toml" && mkfifo "$WORK/cloche.toml"
refused invalid new
rm "$WORK/cloche.toml"

# --- Defaults for sandboxes: a project takes away, and gives nothing.
limits() { cloche show "$1" --json > "$OUT" 2> "$ERR"; }
cat > "$WORK/cloche.toml" << 'END'
[sandbox]
allow = ["api.example.com:443", "evil.example.com:443"]
secrets = ["token"]
hide = ["secrets"]
limits = { pids = 60, files = 99999999, wall = "1h30m" }
END
try cloche new --name wish
check "a wish of [sandbox] is an error where it is out of range" says 'cloche.toml:5: .*files'
sed -i 's/99999999/1048576/' "$WORK/cloche.toml"
try cloche new --name wish
check "ungranted wishes do not prevent the start" exits 0
check "and are named" says 'not granted: cloche.toml asks for --allow evil.example.com:443'
check "secrets, too" says 'asks for --secret token'
try cloche net wish --json
check "nothing is allowed" field_is rules '[]'
try cloche exec wish -- ls
check "hide hides" not mentions secrets
limits wish
check "a limit is lowered" field_is limits.pids 60
# Rootless it is a part of the caller's own limit.
if [ "$MODE" = rootless ]; then
  check "and not raised" test "$(field limits.files)" -le 65536
else
  check "and not raised" field_is limits.files 65536
fi
check "of time, too" field_is limits.wall 5400.0
try cloche new --name typed --allow evil.example.com:443 --pids 70
limits typed
check "typed limits hold" field_is limits.pids 70
try cloche net typed --json
check "and is granted" field_is rules.0.rule evil.example.com:443
as_caller mkdir -p "$CALLER_HOME/.config/cloche"
as_caller tee "$CALLER_HOME/.config/cloche/config.toml" > "$T/log" << 'END'
[sandbox]
allow = ["api.example.com:443", "other.example.com:443"]
limits = { pids = 40 }
END
try cloche new --name own
check "settings" exits 0
try cloche net own --json
check "of what they give the project names what it needs" field_is '#rules' null
check "one rule" is "$(grep -o 'example.com:443' "$OUT" | sort -u | wc -l)" 1
check "that of both" field_is rules.0.rule api.example.com:443
limits own
check "the smaller limit holds" field_is limits.pids 40
try cloche new --name bare --no-defaults
limits bare
check "--no-defaults leaves both out" field_is limits.pids 1024
cloche exec own -- sh -c 'echo >> ~/.config/cloche/config.toml' > "$T/log" 2>&1
try cloche promote own "$CALLER_HOME/.config" --yes --json
check "settings never come out of a sandbox" field_is conflicts.0.reason 'it gives sandboxes their rights: it is only yours to change'
printf '[sandbox]\nallow = ["*:443"]\n' | as_caller tee "$CALLER_HOME/.config/cloche/config.toml" > "$T/log"
printf '[sandbox]\nlimits = { pids = 60 }\n' > "$WORK/cloche.toml"
try cloche run -- true
check "every host in the settings needs no yes" exits 0
try as_caller "$PYTHON" "$BIN/dialogue.py" 'Grant it?=y' -- "$BIN/cloche" run --allow '*:443' -- true
check "a typed one is asked about" exits 0
check "once" is "$(grep -o 'Grant it' "$OUT" | wc -l)" 1
refused invalid run --allow '*:443' -- true
printf '[sandbox]\nrw = ["/"]\n' | as_caller tee "$CALLER_HOME/.config/cloche/config.toml" > "$T/log"
try cloche new
check "broken settings are an error" says 'config.toml:2: sandbox has no key'
rm "$CALLER_HOME/.config/cloche/config.toml" "$WORK/cloche.toml"
try cloche new --name plain
check "without a file there are no rules" exits 0
inside plain 'echo free > b.txt'
try cloche promote plain --yes --json
check "and everything goes" field_is state done
