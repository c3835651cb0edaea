"""Runs cloche under a pseudo terminal of ours and looks at it as a person would."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from report import case, check, done

CLOCHE = os.environ["CLOCHE"]


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
    def __init__(self, *arguments, rows=33, columns=101, program=CLOCHE):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            set_size(0, rows, columns)
            os.execv(program, [program, *arguments])

    def read_until(self, wanted):
        deadline = time.monotonic() + 30  # a hang, not a measure
        while wanted not in self.text:
            if time.monotonic() > deadline:
                raise AssertionError(f"never saw {wanted!r} in {self.text!r}")
            ready, _, _ = select.select([self.fd], [], [], 1)
            if not ready:
                continue
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            if not got:
                raise AssertionError(f"ended without {wanted!r} in {self.text!r}")
            self.text += got

    def type(self, data):
        os.write(self.fd, data)

    def read_more(self, seconds):
        """Reads what comes until then; an OSError: it has ended."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            self.text += os.read(self.fd, 65536)

    def status(self):
        """Reads to the end; what a shell would say."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    got = os.read(self.fd, 65536)
                    self.text += got
                    if got:
                        continue
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"never ended: {self.text!r}")


@case("a terminal of its own")
def _():
    terminal = Terminal("run", "--", "sh", "-c",
                        "tty; test -t 0 && test -t 1 && test -t 2 && echo all; stty size; ls /dev/pts")
    check("the command ends well", terminal.status() == 0, terminal.text)
    lines = terminal.text.decode().split()
    check("its terminal is the first of its own devpts", "/dev/pts/0" in lines, terminal.text)
    check("all three streams are terminals", "all" in lines, terminal.text)
    check("the size is the person's", b"33 101" in terminal.text, terminal.text)
    check("the person's terminal is not inside", lines.count("1") == 0, lines)


@case("colours")
def _():
    terminal = Terminal("run", "--", "ls", "--color=auto", "-d", "/")
    terminal.status()
    check("tools see a terminal and use colours", b"\x1b[" in terminal.text, terminal.text)
    plain = subprocess.run([CLOCHE, "run", "--", "ls", "--color=auto", "-d", "/"],
                           stdin=subprocess.DEVNULL, capture_output=True)
    check("and none into a pipe", plain.stdout == b"/\n", plain)


@case("resize")
def _():
    terminal = Terminal("run", "--", "sh", "-c",
                        "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    set_size(terminal.fd, 50, 120)
    terminal.read_until(b"50 120")
    check("a new size arrives inside with its signal", terminal.status() == 0, terminal.text)


@case("Ctrl-C")
def _():
    terminal = Terminal("run", "--", "sh", "-c",
                        "trap 'echo caught; exit 42' INT; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    terminal.read_until(b"caught")
    check("Ctrl-C is the command's to handle", terminal.status() == 42, terminal.text)
    terminal = Terminal("run", "--", "sh", "-c", "echo ready; exec sleep 1000")
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    check("unhandled it ends the command with 130", terminal.status() == 130, terminal.text)


@case("Ctrl-D")
def _():
    terminal = Terminal("run", "--", "cat")
    terminal.type(b"abc\n")
    terminal.read_until(b"abc\r\nabc")
    terminal.type(b"\x04")
    check("Ctrl-D ends cat", terminal.status() == 0, terminal.text)


@case("Ctrl-C without a terminal inside")
def _():
    terminal = Terminal("run", "-T", "--", "sh", "-c",
                        "trap 'echo caught; exit 43' INT; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    check("with -T the signal is passed on", terminal.status() == 43, terminal.text)


@case("the terminal afterwards")
def _():
    terminal = Terminal("run", "--", "sh", "-c", "stty raw -echo; printf done")
    before = termios.tcgetattr(terminal.fd)
    # The master shows the settings of the terminal as long as it is open.
    terminal.read_until(b"done")
    code = terminal.status()
    after = termios.tcgetattr(terminal.fd)
    check("the person's terminal is as before", code == 0 and after[3] & termios.ECHO != 0
          and after[3] & termios.ICANON != 0, (code, before, after))


@case("the person leaves")
def _():
    terminal = Terminal("run", "--", "sh", "-c", "echo ready; exec sleep 1000")
    terminal.read_until(b"ready")
    os.close(terminal.fd)
    _, status = os.waitpid(terminal.pid, 0)
    check("a closed terminal ends cloche", os.waitstatus_to_exitcode(status) in (129, -1), status)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        listed = subprocess.run([CLOCHE, "ls", "--json"], capture_output=True).stdout
        if listed.strip() == b"[]":
            break
        time.sleep(0.1)
    check("and the sandbox with it", listed.strip() == b"[]", listed)


@case("shell")
def _():
    os.environ["SHELL"] = "/bin/sh"
    made = subprocess.run([CLOCHE, "new", "--name", "shelled"], capture_output=True)
    check("a sandbox to open a shell in", made.returncode == 0, made)
    terminal = Terminal("shell", "shelled")
    terminal.type(b"echo $((40+2)) > answer; exit 9\n")
    check("cloche shell is a shell with its status", terminal.status() == 9, terminal.text)
    seen = subprocess.run([CLOCHE, "exec", "shelled", "--", "cat", "answer"],
                          stdin=subprocess.DEVNULL, capture_output=True)
    check("its files stay in the sandbox", seen.stdout == b"42\n", seen)


def press_until(terminal, wanted):
    """Ctrl-C again, but not before the last one had time to be answered: one more means more."""
    while wanted not in terminal.text:
        terminal.type(b"\x03")
        answered = time.monotonic() + 1
        while wanted not in terminal.text and time.monotonic() < answered:
            terminal.read_more(0.1)


@case("double Ctrl-C")
def _():
    stubborn = "trap '' INT; echo ready; while :; do sleep 0.05; done"
    for words in (["-T"], []):
        terminal = Terminal("run", *words, "--", "sh", "-c", stubborn)
        terminal.read_until(b"ready")
        press_until(terminal, b"Ctrl-C did not end the command")
        check(f"a second Ctrl-C ends what ignores the first {words}", terminal.status() == 143,
              terminal.text)
    terminal = Terminal("run", "-T", "--", "sh", "-c",
                        "trap '' INT TERM; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    press_until(terminal, b"Ctrl-C did not end the command")
    terminal.type(b"\x03")
    terminal.read_until(b"killing the command")
    check("a third kills what ignores that", terminal.status() == 137, terminal.text)
    terminal = Terminal("run", "--", "sh", "-c",
                        "trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    for count in range(1, 4):
        terminal.type(b"\x03")
        while terminal.text.count(b"caught") < count:
            terminal.read_more(1)
    check("a program that handles it continues", b"ending it" not in terminal.text, terminal.text)
    os.kill(terminal.pid, signal.SIGTERM)
    check("and ends by other signals", terminal.status() == 143, terminal.text)


def prompt_of(shell, home_files, wanted, *, sandbox="shelled", line=b"echo $((40+2)); exit 0\n"):
    def inside(*words, text=""):
        subprocess.run([CLOCHE, "exec", sandbox, "--", *words], input=text.encode(), check=True,
                       capture_output=True)
    for name, text in home_files.items():
        inside("sh", "-c", f"cat > ~/{name}", text=text)
    os.environ["SHELL"] = shell
    terminal = Terminal("shell", sandbox)
    terminal.read_until(wanted)
    terminal.type(line)
    code = terminal.status()
    for name in home_files:
        inside("sh", "-c", f"rm ~/{name}")
    return terminal, code


@case("the shell says where one is")
def _():
    terminal, code = prompt_of("/bin/bash", {".bashrc": "PS1='mine> '\nalias x=y\n"},
                               b"(cloche shelled) mine> ")
    check("bash: the mark is before the person's own prompt", code == 0, terminal.text)
    check("a banner says that nothing is real", b"you are in shelled" in terminal.text
          and b"nothing here is real" in terminal.text, terminal.text)
    check("and how to leave", b"leave with exit or Ctrl-D" in terminal.text, terminal.text)
    check("leaving says so", b"back on the real machine" in terminal.text, terminal.text)
    terminal, code = prompt_of(
        "/bin/bash", {".bashrc": "PROMPT_COMMAND='PS1=\"made\\$ \"'\n"}, b"(cloche shelled) made$ ")
    check("bash: also where the prompt is made anew each time", code == 0, terminal.text)
    os.environ["ENV"] = "$HOME/.shrc"
    terminal, code = prompt_of("/bin/sh", {".shrc": "PS1='own> '\n"}, b"(cloche shelled) ")
    check("sh: the mark is there", code == 0, terminal.text)
    del os.environ["ENV"]
    if os.path.exists("/usr/bin/zsh"):
        terminal, code = prompt_of("/usr/bin/zsh", {".zshrc": "PS1='z> '\n"}, b"(cloche shelled) z> ")
        check("zsh: the mark is before the person's own prompt", code == 0, terminal.text)
    if os.path.exists("/usr/bin/fish"):
        terminal, code = prompt_of("/usr/bin/fish", {}, b"(cloche shelled) ", line=b"exit 0\n")
        check("fish: the mark is there", code == 0, terminal.text)
    seen = subprocess.run([CLOCHE, "diff", "shelled", "--all", "--name-only"], capture_output=True,
                          stdin=subprocess.DEVNULL)
    check("nothing of it is left in the sandbox", b"cloche." not in seen.stdout, seen.stdout)


def names():
    listed = subprocess.run([CLOCHE, "ls", "-q"], capture_output=True, stdin=subprocess.DEVNULL)
    return listed.stdout.split()


@case("leaving a disposable shell")
def _():
    os.environ["SHELL"] = "/bin/sh"
    before = names()
    terminal = Terminal("shell")
    terminal.read_until(b"(cloche sb_")
    terminal.type(b"exit 3\n")
    check("nothing changed: it goes without a question", terminal.status() == 3, terminal.text)
    check("and is gone", names() == before, names())
    terminal = Terminal("shell")
    terminal.read_until(b"(cloche sb_")
    terminal.type(b"echo work > worked; exit 0\n")
    terminal.read_until(b"1 change not promoted. Discard, promote, or keep it?")
    terminal.type(b"d\n")
    check("work is asked about", terminal.status() == 0, terminal.text)
    check("and can be discarded", names() == before, names())
    terminal = Terminal("shell", "--name", "stays")
    terminal.read_until(b"(cloche stays) ")
    terminal.type(b"echo work > worked; exit 0\n")
    terminal.read_until(b"or keep it?")
    terminal.type(b"k\n")
    check("or kept", terminal.status() == 0 and len(names()) == len(before) + 1, terminal.text)
    terminal = Terminal("rm", "stays")
    terminal.read_until(b"1 change not promoted")
    terminal.read_until(b"Remove it all the same? [y/N] ")
    terminal.type(b"n\n")
    check("rm asks before work is lost", terminal.status() == 4, terminal.text)
    terminal = Terminal("rm", "--force", "stays")
    check("--force does not", terminal.status() == 0, terminal.text)
    check("it is gone", names() == before, names())
    terminal = Terminal("shell")
    terminal.read_until(b"(cloche sb_")
    terminal.type(b"echo work > promoted-from-shell; exit 0\n")
    terminal.read_until(b"or keep it?")
    terminal.type(b"p\n")
    terminal.read_until(b"Apply 1 change to reality?")
    terminal.type(b"y\n")
    check("or promoted", terminal.status() == 0, terminal.text)
    check("and is real", os.path.exists("promoted-from-shell"), terminal.text)
    check("then the sandbox goes", names() == before, names())


@case("escape sequences")
def _():
    # A hostile name must not write to the person's terminal through our own messages.
    terminal = Terminal("run", "--", "\x1b]0;owned\x07")
    terminal.status()
    check("our own messages carry no escape sequences of others", b"\x1b]0;" not in terminal.text,
          terminal.text)


def make(name, script):
    """A sandbox in which this was run."""
    subprocess.run([CLOCHE, "new", "--name", name], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    subprocess.run([CLOCHE, "exec", name, "--", "sh", "-c", script], stdin=subprocess.DEVNULL,
                   capture_output=True, check=True)


@case("keys typed before a question are not its answer")
def _():
    make("ahead", "echo x > ahead-file; mkdir -p .husky; echo id > .husky/pre-push")
    # The shell takes its own line; the rest waits in the terminal when cloche starts.
    terminal = Terminal("-c", f"echo ready; read line; exec {CLOCHE} promote ahead", program="/bin/sh")
    terminal.read_until(b"ready")
    terminal.type(b"go\ny\ny\ny\n")
    terminal.read_until(b"[y,s,a,?]")
    terminal.type(b"y\ny\ny\n")  # the first is the answer, the others come too early
    terminal.read_until(b"to reality? [y/N]")
    terminal.type(b"n\n")
    check("no question is answered before it is asked", terminal.status() == 4, terminal.text)
    check("and nothing was applied", not os.path.exists("ahead-file"), terminal.text)
    terminal = Terminal("promote", "ahead", ".husky", "--yes")
    terminal.read_until(b"[y,s,a,?]")
    terminal.type(b"y\n")
    check("an answer in time counts", terminal.status() == 0, terminal.text)


@case("names that act on a terminal")
def _():
    odd = "odd\u009b31m\x7f\u0085\u202e\u2066\u2028\x1b]0;owned\x07"
    make("names", f"echo '{odd}' > '{odd}'; ln -s '{odd}' 'link{odd}'; mkdir '{odd}d'; echo x > '{odd}d/{odd}'")
    raw = [b"\x7f", b"\xc2\x9b", b"\xc2\x85", b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xe2\x80\xa8", b"\x1b]0;"]
    environment = dict(os.environ, NO_COLOR="1", PAGER="cat")
    os.environ.update(environment)
    for words in ("diff names", "diff names --json", "diff names --patch", "diff names --name-only",
                  "promote names --dry-run", "promote names --dry-run --json", "promote names --exclude no --json",
                  "ls", "ls --json", "show names", "show names --json", "logs names", "logs names --json",
                  "promotions", "promotions --json", "explain", "explain --json", "snapshots names --json",
                  f"show {odd}", f"show {odd} --json", f"promote names {odd} --json"):
        terminal = Terminal(*words.split(" "))
        terminal.status()
        found = [each for each in raw if each in terminal.text]
        # A command's own output is its own.
        if words == "logs names":
            continue
        check(f"cloche {words.encode('ascii', 'replace').decode()} writes none of them raw", not found,
              (found, terminal.text))
    plain = subprocess.run([CLOCHE, "diff", "names", "--json"], stdin=subprocess.DEVNULL, capture_output=True)
    check("nor does JSON for a program", not [each for each in raw if each in plain.stdout], plain.stdout)
    names = [os.path.basename(each["path"]) for each in json.loads(plain.stdout)["changes"]]
    check("whose values are what they are", odd in names, names)


done()
