"""sequence_inside.py ROOT SEED COUNT: runs inside a sandbox; so many random changes below
ROOT/ours, then prints all that is seen below ROOT. Only what can be promoted: no pipes, sockets or devices."""
import base64
import os
import pickle
import sys

import rearrange
from tree import seen


def refuse(*_):
    raise OSError("not in this test")


root, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.umask(0o022)
for name in ("pipe", "listen", "device"):
    delattr(rearrange.Rearranger, name)
os.mkfifo = refuse
os.makedirs(f"{root}/ours", exist_ok=True)
changes = rearrange.Rearranger(f"{root}/ours", seed)
for _ in range(count):
    changes.once()
print(base64.b64encode(pickle.dumps(seen(root))).decode())
