"""Runs cloche under a pseudo terminal of ours and looks at it as a person would."""
import fcntl
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
    def __init__(self, *arguments, rows=33, columns=101):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            set_size(0, rows, columns)
            os.execv(CLOCHE, [CLOCHE, *arguments])

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
    check("what it wrote stays in the sandbox", seen.stdout == b"42\n", seen)


@case("escape sequences")
def _():
    # A hostile name must not write to the person's terminal through our own messages.
    terminal = Terminal("run", "--", "\x1b]0;owned\x07")
    terminal.status()
    check("our own messages carry no escape sequences of others", b"\x1b]0;" not in terminal.text,
          terminal.text)


done()
