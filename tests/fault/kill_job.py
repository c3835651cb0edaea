"""kill_job.py SPAWN DELAY_MS: kills the next process that cloche-spawn starts for a saved state.

They are its children in its own user namespace, but for the keeper, which is there already. Prints
the pid, or nothing when none came.
"""
import os
import signal
import sys
import time

spawn, delay = int(sys.argv[1]), float(sys.argv[2]) / 1000
namespace = os.readlink(f"/proc/{spawn}/ns/user")


def children():
    with open(f"/proc/{spawn}/task/{spawn}/children") as file:
        return {int(pid) for pid in file.read().split()}


def is_job(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/user") == namespace
    except OSError:
        return False


there = children()
end = time.monotonic() + 5
while time.monotonic() < end:
    try:
        new = [pid for pid in children() - there if is_job(pid)]
    except OSError:
        break
    if new:
        time.sleep(delay)
        try:
            os.kill(new[0], signal.SIGKILL)
            print(new[0])
        except ProcessLookupError:
            there.add(new[0])
            continue
        break
