#!/usr/bin/env bash
# The tools of everyday work run unchanged, and none of what they do counts as suspicious.
# tools.sh MODE TOOL
. "$(dirname "$0")/../harness/lib.sh"
TOOL=$2
# Tools that people install into their own home are used from there, if the caller may.
TOOL_PATH=$SAFE_PATH
found=$(command -v "$TOOL" || true)
if [ -n "$found" ] && ! PATH=$SAFE_PATH command -v "$TOOL" > /dev/null; then
  as_caller test -x "$found" || skip "$TOOL is installed where the caller cannot reach it: $found"
  TOOL_PATH=$(dirname "$found"):$SAFE_PATH
  CALLER_ENV+=(PATH="$TOOL_PATH" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}")
fi
need() { PATH=$TOOL_PATH command -v "$1" > /dev/null || skip "there is no $1"; }
need "$TOOL"

# works SENTENCE SCRIPT EXPECTED: outside as a control, then inside; no denial but quiet ones.
works() {
  rm -rf "$WORK/control" && as_caller mkdir "$WORK/control" && cd "$WORK/control" || exit 1
  try as_caller env SHELL=/bin/sh sh -ec "$2"
  [ $status = 0 ] || { cat "$ERR"; skip "$TOOL does not work outside either: $1"; }
  cd "$WORK" && rm -rf "$WORK/control" && as_caller mkdir "$WORK/control" && cd "$WORK/control" || exit 1
  try cloche run --json -- sh -ec "$2"
  check "$1 succeeds" exits 0
  field stdout > "$T/result"
  check "$1: its output is right" grep -qe "$3" "$T/result"
  check "$1: nothing is denied" field_is denials 0
  check "$1: no limit is in the way" field_is limit null
  check "$1: the copy alone has changed" is "$(ls -A "$WORK/control")" ""
}

case $TOOL in
git)
  works "a repository" 'git init -q repo; cd repo; git config user.email a@b; git config user.name n; echo 1 > f; git add f
    git commit -qm first; echo 2 > f; git status --short; git stash -q; git stash pop -q; git checkout -qb other; git commit -qam second
    git log --oneline | wc -l; git gc -q; git fsck; git worktree add -q ../tree; git clone -q . ../clone; ls ../clone' '^2$'
  ;;
gcc)
  works "compile and run" 'printf "#include <stdio.h>\n#include <pthread.h>\nint main(){puts(\"built\");}" > a.c; gcc -O2 -pthread a.c -o a; ./a' built
  ;;
cmake)
  works "a project" 'mkdir p; cat > p/CMakeLists.txt <<E
cmake_minimum_required(VERSION 3.10)
project(p C)
add_executable(p p.c)
enable_testing()
add_test(NAME t COMMAND p)
E
    echo "int main(){return 0;}" > p/p.c; cmake -S p -B b > /dev/null; cmake --build b -j2 > /dev/null; cd b; ctest' '100% tests passed'
  ;;
make)
  works "make -j4" 'printf "all: \$(patsubst %%,o%%,1 2 3 4 5 6 7 8)\no%%:\n\tsleep 0.01; echo made > \$@\n" > Makefile; make -j4 > /dev/null; ls o* | wc -l' '^8$'
  ;;
python3)
  works "a virtual environment" 'python3 -m venv v; v/bin/python -m pip list 2>/dev/null; v/bin/python -c "import sys; print(sys.prefix)"' '/v$'
  works "processes, threads, sockets" 'python3 - <<E
import multiprocessing, concurrent.futures, socket, sqlite3, tempfile, asyncio, threading, subprocess
def f(x): return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(4) as p: print(sum(p.map(f, range(10))))
    with concurrent.futures.ThreadPoolExecutor() as t: list(t.map(f, range(10)))
    a, b = socket.socketpair(); a.send(b"x"); b.recv(1)
    s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); c.close()
    asyncio.run(asyncio.sleep(0)); subprocess.run(["true"], check=True)
E' '^285$'
  ;;
node)
  works "node" 'node -e "const fs=require(\"fs\"),w=require(\"worker_threads\"),c=require(\"child_process\"),h=require(\"http\");
    c.execSync(\"true\"); fs.watch(\".\").close(); new w.Worker(\"1\",{eval:true}).on(\"exit\",()=>{
    const s=h.createServer((q,r)=>r.end(\"served\")).listen(0,\"127.0.0.1\",()=>h.get({host:\"127.0.0.1\",port:s.address().port},r=>r.on(\"data\",d=>{console.log(String(d));s.close()})))})"' served
  ;;
npm)
  works "npm offline" 'mkdir p; cd p; npm init -y > /dev/null; npm pkg set scripts.hello="echo from-script" ; npm run -s hello; npm install --offline > /dev/null; npm ls' from-script
  ;;
cargo)
  works "cargo offline" 'cargo new -q --vcs none hello; cd hello; cargo build -q --offline; cargo test -q --offline > /dev/null; cargo run -q --offline' 'Hello, world'
  ;;
sqlite3)
  works "sqlite3 with WAL" 'sqlite3 d.db "pragma journal_mode=wal; create table t(a); insert into t values(1),(2); select sum(a) from t;"; sqlite3 d.db "pragma integrity_check"' '^3$'
  ;;
tmux)
  works "a tmux session" 'tmux -L t -f /dev/null new-session -d -x 80 -y 24 "sh"
    # Typed before the prompt is there, the answer would stand beside it and not on a line of its own.
    n=0; until tmux -L t capture-pane -p | grep -q "[\$#]"; do sleep 0.05; n=$((n+1)); [ $n -lt 400 ]; done
    tmux -L t send-keys "echo \$((6*7))" Enter
    n=0; until tmux -L t capture-pane -p | grep -qx 42; do sleep 0.05; n=$((n+1)); [ $n -lt 400 ]; done; tmux -L t capture-pane -p; tmux -L t kill-server' '^42$'
  ;;
gdb)
  need gcc
  works "gdb" 'printf "int f(int x){return x+1;}\nint main(){return f(41)-42;}" > a.c; gcc -g a.c -o a
    gdb -q -batch -ex "break f" -ex run -ex "print x" -ex continue ./a 2>/dev/null' '\$1 = 41'
  ;;
strace)
  works "strace" 'strace -f -o log true; grep -c exit_group log; sleep 100 & p=$!; strace -p $p -o log2 & s=$!; sleep 0.2; kill $s; kill $p; wait || true' '^1$'
  ;;
tar)
  works "tar and the like" 'mkdir d; echo x > d/f; ln d/f d/hard; ln -s f d/soft; tar czf t.tgz d; mkdir e; tar xzf t.tgz -C e; rsync -a d/ r/ 2>/dev/null || cp -a d r; diff -r d e/d && echo same' same
  ;;
bash)
  works "a shell" 'bash -c "set -o pipefail; exec 3<> /dev/null; diff <(echo a) <(echo a) && echo equal
    trap : EXIT; sleep 0.01 & wait; cat <<< here; read x < <(echo y)
    for tool in nproc ps df free uptime who env locale \"top -bn1\" \"ulimit -a\"; do \$tool > /dev/null; done"' equal
  ;;
perl)
  works "perl" 'perl -e "use Socket; socketpair(A,B,AF_UNIX,SOCK_STREAM,0); if(fork()==0){print A \"x\"; exit} wait; print \"forked\n\""' forked
  ;;
*) echo "unknown tool $TOOL"; exit 1 ;;
esac
