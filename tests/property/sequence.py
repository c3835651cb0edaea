"""sequence.py WORK BIN: long random sequences of work, promotions, undos, snapshots, rollbacks, forks, stops and
restarts. After every promotion the sandbox sees what it saw before, and reality equals what it sees; an undo
brings back what was there. CLOCHE_SEED runs one seed, CLOCHE_ROUNDS so many, CLOCHE_STEPS so long each."""
import base64
import collections
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time

from report import check, done
from tree import difference, seen

WORK, BIN, MODE = sys.argv[1:4]
TOP = f"{WORK}/tree"
ROUNDS = int(os.environ.get("CLOCHE_ROUNDS") or 6)
STEPS = int(os.environ.get("CLOCHE_STEPS") or 14)
SEEDS = [os.environ["CLOCHE_SEED"]] if os.environ.get("CLOCHE_SEED") else list(range(1, ROUNDS + 1))
MODE_BITS, OWNER, GROUP, ATTRIBUTES, TIME, REST = range(6)
counts = collections.Counter()


class Wrong(Exception):
    pass


def cloche(*words, may_fail=False):
    result = subprocess.run([f"{BIN}/cloche", *words], capture_output=True, text=True, cwd=WORK,
                            stdin=subprocess.DEVNULL, timeout=60)
    if result.returncode != 0 and not may_fail:
        raise Wrong(f"cloche {' '.join(words)}: {result.returncode} {result.stdout[:900]} {result.stderr[:900]}")
    return result


def comparable(tree):
    """Without times of directories, bits that are left out, and which names are one file."""
    result = {}
    for path, said in tree.items():
        directory = int(said[MODE_BITS], 8) & 0o170000 == 0o040000
        said = list(said)
        said[MODE_BITS] = oct(int(said[MODE_BITS], 8) & (~0o4000 if directory else ~0o6000))
        if directory:
            said[TIME] = None
        if int(said[MODE_BITS], 8) & 0o170000 == 0o100000:
            said[REST:REST + 2] = []
        result[path] = said
    return result


def timeless(tree):
    """A time alone is not promoted."""
    return {path: said[:TIME] + said[REST:] for path, said in tree.items()}


class World:
    def __init__(self, seed):
        self.dice = random.Random(f"steps{seed}")
        self.seed, self.step, self.names = seed, 0, 0
        self.box = None
        self.saved, self.promotions, self.story = [], [], []
        self.lost = False  # a rollback may lead to a state whose base a promotion has changed
        self.new_box("new")

    def tell(self, what):
        self.story.append(what)
        counts[what.split()[0]] += 1

    def new_box(self, *how):
        self.names += 1
        name = f"box{self.names}"
        cloche(*how, "--name", name)
        self.box = name

    def inside(self, count=0):
        result = cloche("exec", "-q", self.box, "--", "python3", f"{WORK}/sequence_inside.py", TOP,
                        f"{self.seed}.{self.step}", str(count))
        return comparable(pickle.loads(base64.b64decode(result.stdout)))

    def work(self):
        count = self.dice.choice([1, 2, 4, 8])
        self.tell(f"work {count}")
        self.inside(count)

    def reality(self):
        path = f"{TOP}/theirs/{self.dice.choice('abc')}"
        self.tell(f"reality {os.path.basename(path)}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(str(self.dice.random()))

    def promote(self):
        before, reality = self.inside(), comparable(seen(TOP))
        result = cloche("promote", self.box, TOP, "--yes", "--allow-triggers", "--json", may_fail=True)
        answer = json.loads(result.stdout or "{}")
        self.tell(f"promote {result.returncode}")
        if result.returncode != 0:
            now = comparable(seen(TOP))
            if now != reality:
                raise Wrong(["refused, and yet reality changed", difference(reality, now)])
            if not self.lost:
                raise Wrong(["refused without a reason", result.stdout[:1500], result.stderr[:500]])
            return
        if answer.get("id"):
            self.promotions.append((answer["id"], reality))
        after, now = self.inside(), comparable(seen(TOP))
        if after != before:
            raise Wrong(["the sandbox sees something else after its promotion", difference(before, after)])
        if timeless(now) != timeless(after):
            raise Wrong(["reality is not what the sandbox sees", difference(after, now)])
        self.lost = False

    def undo(self):
        if not self.promotions:
            return
        name, reality = self.promotions.pop()
        before = self.inside()
        result = cloche("undo", name, "--json", may_fail=True)
        self.tell(f"undo {result.returncode}")
        now, reality = ({path: said for path, said in tree.items() if not path.startswith(b"theirs")}
                        for tree in (comparable(seen(TOP)), reality))
        if result.returncode != 0:
            raise Wrong(["undo was refused", result.stdout[:900], result.stderr[:500]])
        if now != reality:
            raise Wrong(["undo does not bring back what was", difference(reality, now)])
        after = self.inside()
        if after != before and not self.lost:
            raise Wrong(["the sandbox sees something else after an undo", difference(before, after)])

    def snapshot(self):
        answer = json.loads(cloche("snapshot", self.box, "--json").stdout)
        self.saved.append((answer["id"], len(self.promotions), self.inside()))
        self.tell(f"snapshot {len(self.saved)}")

    def rollback(self):
        if not self.saved:
            return
        name, promoted, was = self.dice.choice(self.saved)
        cloche("rollback", self.box, name)
        self.tell(f"rollback {name}")
        now = self.inside()
        # What was promoted since shows through where the saved state never changed it.
        if promoted == len(self.promotions) and not self.undone_since(name) and now != was:
            raise Wrong(["a rollback is not what was saved", difference(was, now)])
        self.lost = True

    def undone_since(self, name):
        at = max(i for i, (each, _, _) in enumerate(self.saved) if each == name)
        return at >= 0 and any(line.startswith(("promote", "undo", "reality")) for line in self.story)

    def fork(self):
        before = self.inside()
        old = self.box
        self.names += 1
        cloche("fork", old, "--name", f"box{self.names}")
        self.box = f"box{self.names}"
        self.tell(f"fork {self.box}")
        if self.inside() != before:
            raise Wrong(["a fork is not its parent", difference(before, self.inside())])
        self.saved, self.promotions = [], []
        cloche("rm", old)

    def stop(self):
        before = self.inside()
        cloche("stop", self.box)
        self.tell("stop")
        if self.inside() != before:
            raise Wrong(["after a stop it sees something else", difference(before, self.inside())])

    def restart(self):
        if MODE == "shared":
            return
        before = self.inside()
        pid = json.loads(cloche("status", "--json").stdout)["pid"]
        how = self.dice.choice([signal.SIGTERM, signal.SIGKILL])
        os.kill(pid, how)
        while os.path.exists(f"/proc/{pid}") and state_of(pid) != "Z":
            time.sleep(0.01)
        self.tell(f"restart {how.name}")
        now = self.inside()
        if now != before:
            raise Wrong(["after a restart it sees something else", difference(before, now)])

    def once(self):
        self.step += 1
        actions = {self.work: 40, self.promote: 25, self.undo: 6, self.snapshot: 6, self.rollback: 6,
                   self.fork: 4, self.stop: 5, self.restart: 4, self.reality: 4}
        self.dice.choices(list(actions), list(actions.values()))[0]()


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def prepare(seed):
    subprocess.run(["chmod", "-R", "u+rwX", TOP], capture_output=True)
    shutil.rmtree(TOP, ignore_errors=True)
    os.makedirs(f"{TOP}/theirs")
    subprocess.run([sys.executable, f"{WORK}/sequence_inside.py", TOP, f"base{seed}", "30"], check=True,
                   capture_output=True)


def main():
    for name in ("rearrange.py", "sequence_inside.py", "tree.py"):
        shutil.copy(f"{BIN}/{name}", WORK)
    for seed in SEEDS:
        prepare(seed)
        world = World(seed)
        try:
            for _ in range(STEPS):
                world.once()
            world.promote()
        except (Wrong, subprocess.TimeoutExpired) as error:
            check(f"seed {seed}: {world.story}", False, error.args)
        cloche("rm", "--all", may_fail=True)
    check(f"seeds {SEEDS[0]} to {SEEDS[-1]}: {dict(counts)}", True)
    check("something was promoted", counts["promote"] >= len(SEEDS), dict(counts))


main()
done()
