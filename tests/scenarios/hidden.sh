#!/usr/bin/env bash
# Credentials are absent inside, agents may make their own, and the absence is not a deletion.
. "$(dirname "$0")/../harness/lib.sh"
as_caller sh -c '
  cd "$HOME"
  mkdir -p .ssh .aws .gnupg .kube .config/gh .config/gcloud .docker .mozilla/firefox .local/share/keyrings
  for f in .ssh/id_ed25519 .ssh/config .aws/credentials .gnupg/key .kube/config .netrc .git-credentials .npmrc \
    .bash_history .config/gh/hosts.yml .config/gcloud/creds .docker/config.json .pgpass .mozilla/firefox/cookies \
    .local/share/keyrings/login.keyring .vault-token; do echo flag-of-host > "$f"; done
  echo visible > .gitconfig'
as_caller sh -c '
  mkdir -p project/.git project/sub/deep elsewhere
  echo flag-of-host > project/.env; echo flag-of-host > project/.env.production
  echo flag-of-host > project/sub/deep/.env; echo flag-of-host > elsewhere/.env
  echo example > project/.env.example; echo code > project/main.c'
cd "$WORK/project" || exit 1
fingerprint() { (cd "$T" && find home work -printf '%p %s %T@ %U\n' | sort); }
fingerprint > "$T/before"

for path in .ssh .aws .gnupg .netrc .git-credentials .kube .config/gh .config/gcloud .docker .npmrc \
  .bash_history .pgpass .mozilla .local/share/keyrings .vault-token; do
  try cloche run -- ls -d "$CALLER_HOME/$path"
  check "~/$path is absent" says 'No such file'
done
try cloche run -- cat "$CALLER_HOME/.gitconfig"
check "~/.gitconfig is there" prints visible
try cloche run -- sh -c 'ls -A; ls -A sub/deep'
check ".env in the project is absent" not mentions '^\.env$'
check ".env.production in the project is absent" not mentions 'env.production'
check ".env.example is there" mentions 'env.example'
try cloche run -- cat "$WORK/elsewhere/.env"
check "the globs expand over the project only" prints flag-of-host
try cloche run -- sh -c "grep -rs flag-of-host '$CALLER_HOME' '$WORK/project' | wc -l"
check "no hidden content is left" prints 0
try cloche run --json -- true
check "hidden files are not deletions" field_is changes.deleted 0
check "nor changes" field_is changes.changed 0

try cloche run -- sh -c 'mkdir ~/.ssh && echo mine > ~/.ssh/id && cat ~/.ssh/id && echo own > .env && cat .env && ls -A ~/.ssh'
check "the agent may make its own there" prints 'mine
own
id'
try cloche new --name box
try cloche exec box -- sh -c 'echo own > .env; mkdir ~/.aws; echo own > ~/.aws/credentials; rm -rf ~/.ssh; mv .env .env2; mv .env2 .env'
try cloche stop box
try cloche exec box -- cat .env "$CALLER_HOME/.aws/credentials"
check "and keeps it over a stop" prints 'own
own'
try cloche exec box -- ls "$CALLER_HOME/.ssh"
check "hidden files stay hidden after a stop" not exits 0
fingerprint > "$T/after"
check "the host's are untouched" diff "$T/before" "$T/after"

try cloche explain
check "explain shows what is hidden" mentions "$CALLER_HOME/.ssh"
try cloche explain --json
check "explain --json, too" mentions "$CALLER_HOME/.aws"
try cloche run -- sh -c "ls '$STATE' '$RUN'"
check "Cloche's own state is absent" not mentions 'sock\|pool\|daemon'

if [ "$MODE" = system ]; then
  secret=$(mktemp /etc/ssl/private/cloche-test.XXXXXX 2> /dev/null) || secret=
  try cloche run -- sh -c 'ls /etc/ssl/private'
  check "/etc/ssl/private is absent" not exits 0
  [ -z "$secret" ] || rm "$secret"
  try cloche run -- sh -c 'cut -d: -f2 /etc/shadow | grep "\\$"'
  check "/etc/shadow has no hashes" prints_nothing
  try cloche run -- sh -c 'cut -d: -f1 /etc/shadow'
  cut -d: -f1 /etc/shadow > "$T/users"
  check "but all its users" diff "$T/users" "$OUT"
  try cloche run -- sh -c 'stat -c "%a %U %G" /etc/shadow'
  check "and its mode and owner" prints "$(stat -c '%a %U %G' /etc/shadow)"
fi
if [ "$MODE" != rootless ]; then
  other=$(mktemp -d /home/cloche-test-XXXXXX)
  chmod 755 "$other"
  echo flag-of-host > "$other/file"
  chown -R 31999:31999 "$other"
  try cloche run -- cat "$other/file"
  check "another user's home is absent" not mentions flag
  rm -r "$other"
fi

# The host makes a directory in which something is hidden, after masks of its home were made.
as_caller sh -c 'mv ~/.config ~/away'
other=(--hide "$CALLER_HOME/other")  # no mask is made yet with this
for _ in 1 2 3; do try cloche run "${other[@]}" -- true; done
try cloche new "${other[@]}" --name early
as_caller sh -c 'mv ~/away ~/.config'
try cloche run "${other[@]}" -- sh -c "cat ~/.config/gh/* ~/.config/gcloud/* 2> /dev/null; ls -d ~/.config"
check "files the host makes later are hidden from new sandboxes" not mentions flag-of-host
check "and nothing more is" mentions "$CALLER_HOME/.config"
try cloche exec early -- sh -c "cat ~/.config/gh/* ~/.config/gcloud/*"
check "from one that runs, too" not mentions flag-of-host
try cloche rm early

# Behind links, too: a home that is a link, and a directory of it that has become one.
as_caller sh -c 'cd "$HOME" && mkdir dotfiles && mv .config dotfiles/config && ln -s dotfiles/config .config'
try cloche run "${other[@]}" -- cat "$CALLER_HOME/dotfiles/config/gh/hosts.yml"
check "a file behind a new link is absent" says 'No such file'
as_caller sh -c 'cd "$HOME" && rm .config && mkdir -p .config/gh && echo flag-of-host > .config/gh/hosts.yml'
try cloche run "${other[@]}" -- sh -c "cat ~/.config/gh/hosts.yml; ls -d ~/.config"
check "a file in a directory that was a link is absent" not mentions flag-of-host
check "the directory is not" mentions "$CALLER_HOME/.config"
as_caller sh -c 'cd "$HOME" && rm -r .config && ln -s dotfiles/config .config'
ln -s "$CALLER_HOME" "$T/link"
CALLER_ENV=(HOME="$T/link")
for home in "$T/link" "$CALLER_HOME"; do
  for path in .ssh/id_ed25519 .config/gh/hosts.yml dotfiles/config/gh/hosts.yml; do
    try cloche run --hide "$WORK/none" -- cat "$home/$path"
    check "$path behind a link is absent" says 'No such file'
  done
done
try cloche run --hide "$T/link/.gitconfig" -- sh -c 'cat ~/.gitconfig'
check "--hide through a link hides" not mentions visible
CALLER_ENV=()

# Hidden names that are links: their targets cannot be read by their own names either.
cd "$WORK/project" || exit 1
as_caller sh -c '
  cd "$HOME" && mkdir -p keep/ssh keep/chain keep/kube keep/cwd keep/hop "$1/secrets"
  for f in keep/ssh/id keep/chain/key keep/netrc keep/kube/config keep/pgpass "$1/secrets/env" "$1/secrets/deep"; do
    echo flag-of-host > "$f"
  done
  rm -rf .ssh .gnupg .netrc .kube .pgpass .aws .mozilla .docker .npmrc
  ln -s keep/ssh .ssh; ln -s "$HOME/keep/hop/second" .gnupg; ln -s ../chain keep/hop/second
  ln -s keep/netrc .netrc; ln -s keep/ssh/../kube/ .kube; ln -s .//keep/pgpass .pgpass
  ln -s "$HOME" .aws; ln -s / .mozilla; ln -s "$2" .docker; ln -s /etc .npmrc
  rm "$2/.env"; ln -s "$1/secrets/env" "$2/.env"; ln -s ../../../secrets/deep "$2/sub/deep/.envrc"
  ln -s .env.example "$2/.env.local"' sh "$WORK" "$WORK/project"
try cloche run -- sh -c 'cd ~; cat keep/ssh/id keep/chain/key keep/netrc keep/kube/config keep/pgpass "$@" 2>&1' \
  sh "$WORK/secrets/env" "$WORK/secrets/deep"
check "targets of hidden links are absent by their own names" not mentions flag-of-host
check "all of it" is "$(grep -c 'No such file' "$OUT")" 7
try cloche run -- sh -c "grep -rs flag-of-host '$CALLER_HOME' '$WORK/project' '$WORK/secrets' | wc -l"
check "by any name" prints 0
try cloche run -- sh -c 'cat .env.example main.c; ls -d ~/keep ~/.ssh ~/keep/hop /usr/bin /etc/passwd'
check "files the links must not hide are there" is "$(head -n 2 "$OUT" | tr '\n' ' ')" 'example code '
check "and so is the rest" is "$(grep -c 'keep\|/usr/bin\|/etc/passwd' "$OUT")" 4
as_caller sh -c 'cd "$HOME" && mkdir later && echo flag-of-host > later/id && ln -sfn later .ssh'
try cloche run -- cat "$CALLER_HOME/later/id"
check "a link that leads elsewhere since hides that" says 'No such file'
as_caller sh -c 'cd "$HOME" && mkdir last && echo flag-of-host > last/x && ln -s last .vault-other && mkdir -p keep/new &&
  rm .vault-token; echo flag-of-host > keep/new/token && ln -s keep/new/token .vault-token'
try cloche run -- cat "$CALLER_HOME/keep/new/token"
check "one that is made since, too" says 'No such file'

# However deep it lies: a path of 6,000 bytes.
cat > "$T/deep.py" << 'END'
import os
for _ in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
    open(".env", "w").write("flag-of-host\n")
    open("code", "w").write("code\n")
END
cat > "$WORK/descend.py" << 'END'
import os, sys
seen = []
while True:
    seen += os.listdir(".")
    if not os.path.isdir("d" * 200):
        break
    os.chdir("d" * 200)
print(seen.count(".env"), seen.count("code"))
END
as_caller mkdir "$WORK/deep"
(cd "$WORK/deep" && as_caller mkdir .git && as_caller "$PYTHON" "$T/deep.py")
cd "$WORK/deep" || exit 1
try cloche run -- "$PYTHON" "$WORK/descend.py"
check "in a project of very long paths sandboxes start, and .env is absent to the bottom" prints '0 30'
CALLER_ENV=()
