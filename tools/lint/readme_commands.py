#!/usr/bin/env -S python3 -B
"""readme_commands.py BUILD: the commands README.md shows as run do run, and print what it says.

A fence ```sh run is executed with `sh -eu` in an empty directory where `build` is BUILD, with a
home and a daemon of its own; lines may start with "$ ". A fence ```text output right after it is compared with
the standard output: a line `...` stands for any lines, `...` within a line for any text.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import repo

FENCE = re.compile(r"^```(\S.*)?$")


def fences(path):
    """[(line, info, text)]"""
    found, start = [], None
    for number, line in repo.lines(path):
        match = FENCE.match(line)
        if start is None and match:
            start, info, body = number, (match.group(1) or "").strip(), []
        elif match:
            found.append((start, info, body))
            start = None
        elif start is not None:
            body.append(line)
    return found


def as_pattern(expected):
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            pieces = [re.escape(piece) for piece in line.rstrip().split("...")]
            parts.append(".*?".join(pieces) + r"[ \t]*\n")
    return re.compile("".join(parts))


def end_daemon(env):
    """It removes its sandboxes; without it the scratch directory can go."""
    asked = subprocess.run(["cloche", "status", "--json"], env=env, capture_output=True, text=True)
    if asked.returncode != 0:
        return
    pid = json.loads(asked.stdout)["pid"]
    os.kill(pid, signal.SIGTERM)
    while os.path.exists(f"/proc/{pid}/exe"):  # a zombie has none
        time.sleep(0.05)


def run(build, lines):
    script = "\n".join(re.sub(r"^\$ ", "", line) for line in lines) + "\n"
    with tempfile.TemporaryDirectory() as scratch:
        home = os.path.join(scratch, "home")
        here = os.path.join(scratch, "here")
        os.makedirs(home)
        os.makedirs(here)
        os.symlink(build, os.path.join(here, "build"))
        os.chmod(scratch, 0o711)  # cloched is not root and has to get through
        path = os.path.join(build, "bin") + ":" + os.environ["PATH"]
        env = dict(os.environ, HOME=home, PATH=path, CLOCHE_STATE_DIR=os.path.join(scratch, "state"),
                   CLOCHE_RUNTIME_DIR=os.path.join(scratch, "run"))
        env.pop("CLOCHE_SOCKET", None)
        try:
            return subprocess.run(["sh", "-eu", "-c", script], cwd=here, env=env, timeout=120,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        finally:
            end_daemon(env)


def main():
    build = os.path.abspath(sys.argv[1])
    findings, ran = [], 0
    blocks = fences("README.md") if os.path.exists(os.path.join(repo.ROOT, "README.md")) else []
    for index, (line, info, body) in enumerate(blocks):
        if info != "sh run":
            continue
        ran += 1
        try:
            done = run(build, body)
        except subprocess.TimeoutExpired:
            findings.append(f"README.md:{line}: did not end within two minutes")
            continue
        if done.returncode != 0:
            findings.append(f"README.md:{line}: exit status {done.returncode}\n"
                            f"{done.stdout}{done.stderr}")
        elif index + 1 < len(blocks) and blocks[index + 1][1] == "text output":
            if not as_pattern(blocks[index + 1][2]).fullmatch(done.stdout):
                findings.append(f"README.md:{line}: prints something else:\n{done.stdout}")
    print(f"{ran} blocks run")
    if ran == 0:
        findings.append("README.md: no ```sh run block, so nothing it shows is known to work")
    repo.report(findings, "correct README.md or the program")


if __name__ == "__main__":
    main()
