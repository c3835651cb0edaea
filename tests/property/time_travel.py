"""time_travel.py ROOT BIN: random changes, snapshots, rollbacks and forks; after each rollback or fork the
tree equals the saved one. CLOCHE_SEED repeats a run, CLOCHE_SECONDS makes it longer."""
import json
import os
import random
import subprocess
import sys
import time

from report import check  # from the harness

root, programs = sys.argv[1], sys.argv[2]
cloche = os.environ["CLOCHE"]
seed = os.environ.get("CLOCHE_SEED") or "20261115"
seconds = float(os.environ.get("CLOCHE_SECONDS") or 20)
dice = random.Random(seed)
print(f"     CLOCHE_SEED={seed}", flush=True)


def run(*words):
    done = subprocess.run([cloche, *words], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"cloche {' '.join(words)}: {done.returncode} {done.stderr.decode()[:500]}")
    return done.stdout


def ask(*words):
    return json.loads(run(*words, "--json"))


def tree(sandbox):
    return run("exec", sandbox, "--", sys.executable, f"{programs}/walk.py", root)


# An overlay reports hard links reliably only after it is mounted again: until then, a file of the
# host that got a second name keeps its old inode number.
def without_links(text):
    return text[:text.index(b"\nlinks:")]


def first_difference(is_now, was):
    now, then = is_now.decode(errors="replace").splitlines(), was.decode(errors="replace").splitlines()
    for left, right in zip(now + ["(end)"], then + ["(end)"]):
        if left != right:
            return f"now  {left[:300]}\n     then {right[:300]}"
    return "one goes on after the other has ended"


class World:
    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.saved = {}   # snapshot -> tree
        self.counts = dict.fromkeys(["changes", "snapshots", "rollbacks", "forks"], 0)
        self.wrong = []

    def compare(self, sandbox, was, what):
        now = tree(sandbox)
        if b"\nlinks:" not in was:
            now = without_links(now)
        if now != was:
            self.wrong.append(f"{what}: {first_difference(now, was)}")

    def change(self):
        batch = dice.choice([1, 5, 40])
        self.counts["changes"] += int(run(
            "exec", self.sandbox, "--", sys.executable, f"{programs}/mutate.py", root,
            str(dice.random()), str(batch)))

    def save(self):
        if dice.random() < 0.5:
            run("stop", self.sandbox)
            was = tree(self.sandbox)
        else:
            was = without_links(tree(self.sandbox))
        self.saved[ask("snapshot", self.sandbox)["id"]] = was
        self.counts["snapshots"] += 1

    def roll_back(self):
        if not self.saved:
            return
        target = dice.choice(list(self.saved))
        present = without_links(tree(self.sandbox))
        answer = ask("rollback", self.sandbox, target)
        self.saved[answer["kept_as"]["id"]] = present
        self.counts["rollbacks"] += 1
        self.compare(self.sandbox, self.saved[target], f"rollback to {target}")
        listed = {each["id"] for each in ask("snapshots", self.sandbox)}
        self.saved = {id: was for id, was in self.saved.items() if id in listed}  # old ones are pruned

    def fork(self):
        if self.saved and dice.random() < 0.5:
            origin = dice.choice(list(self.saved))
            was = self.saved[origin]
        else:
            origin, was = self.sandbox, without_links(tree(self.sandbox))
        forks = [each["id"] for each in ask("fork", origin, "--count", "2")]
        self.counts["forks"] += 2
        run("exec", forks[0], "--", sys.executable, f"{programs}/mutate.py", root, str(dice.random()), "20")
        self.compare(forks[1], was, f"fork of {origin}")
        if dice.random() < 0.3:  # continue in the fork
            run("rm", forks[0], self.sandbox)
            self.sandbox, self.saved = forks[1], {}
        else:
            run("rm", *forks)

    def remove(self):
        if len(self.saved) < 3:
            return
        gone = dice.choice(list(self.saved))
        del self.saved[gone]
        run("snapshots", "rm", gone)


world = World(ask("new")["id"])
end = time.monotonic() + seconds
try:
    while time.monotonic() < end and not world.wrong:
        dice.choices([world.change, world.save, world.roll_back, world.fork, world.remove],
                     [50, 20, 18, 8, 4])[0]()
    for each, was in list(world.saved.items())[:5]:
        run("rollback", world.sandbox, each)
        world.compare(world.sandbox, was, f"at last {each}")
except (RuntimeError, subprocess.TimeoutExpired) as error:
    world.wrong.append(str(error))
print("    ", ", ".join(f"{count} {what}" for what, count in world.counts.items()))
check("the tree always equals the saved one", not world.wrong, "\n     ".join(world.wrong[:3]))
check("there was something to compare", world.counts["rollbacks"] > 2 and world.counts["changes"] > 50, "")
