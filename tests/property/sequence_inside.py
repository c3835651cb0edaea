"""sequence_inside.py ROOT SEED COUNT HOW: makes COUNT random changes below ROOT/ours, then prints everything below
ROOT. HOW "many" makes one change with more entries than a promotion examines while a sandbox is frozen. Makes only
what can be promoted: no pipes, sockets or devices."""
import base64
import os
import pickle
import random
import shutil
import sys

import rearrange
from tree import seen

MANY = 1100


def refuse(*_):
    raise OSError("not in this test")


def make_many(root, seed):
    dice, one, other = random.Random(seed), f"{root}/many", f"{root}/more"
    if os.path.isdir(other):
        shutil.rmtree(other)
    elif os.path.isdir(one):
        dice.choice([lambda: shutil.rmtree(one), lambda: shutil.move(one, other), lambda: os.unlink(f"{one}/7")])()
    else:
        os.mkdir(one)
        for number in range(MANY):
            with open(f"{one}/{number}", "w") as file:
                file.write(f"{seed} {number}")


root, seed, count, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
os.umask(0o022)
for name in ("pipe", "listen", "device"):
    delattr(rearrange.Rearranger, name)
os.mkfifo = refuse
if count:
    os.makedirs(f"{root}/ours", exist_ok=True)
if how == "many":
    try:
        make_many(root, seed)
    except OSError:
        pass
changes = rearrange.Rearranger(f"{root}/ours", seed)
for _ in range(count):
    changes.once()
print(base64.b64encode(pickle.dumps(seen(root))).decode())
