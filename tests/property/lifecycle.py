"""lifecycle.py STATE WORK MODE: makes sandboxes in every way and uses every verb on them, while the daemon
exits, is killed, or finds a registry that another version wrote. The listed sandboxes, their states and
contents must match the model. CLOCHE_SEED repeats a run, CLOCHE_SECONDS makes it longer."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import api  # from the harness
from report import check, done

state, work, mode = sys.argv[1:4]
cloche = os.environ["CLOCHE"]
seed = os.environ.get("CLOCHE_SEED") or "20261117"
seconds = float(os.environ.get("CLOCHE_SECONDS") or 5)
dice = random.Random(seed)
print(f"     CLOCHE_SEED={seed}", flush=True)
os.environ.pop("CLOCHE_SOCKET")  # so that a daemon that exited is started again

COMMAND_KEYS = {"argv": ["true"], "cwd_optional": True, "pty": {"rows": 24, "columns": 80}, "stdin": True,
                "background": False, "fresh": False, "wall": 5, "output": 4096, "timing": True, "keep": True}
ADDED_LATER = ["lives_since", "groups", "origin", "birth_ns", "moved", "guarded", "earlier_births", "birth_note",
               "project_file_digest", "reason", "commands"]


class Wrong(Exception):
    pass


def attempt(*words, stdin=None):
    return subprocess.run([cloche, *words], capture_output=True, timeout=60, cwd=work, input=stdin,
                          stdin=subprocess.DEVNULL if stdin is None else None)


def run(*words, stdin=None):
    finished = attempt(*words, stdin=stdin)
    if finished.returncode != 0:
        raise Wrong(f"cloche {' '.join(words)}: {finished.returncode} {finished.stderr.decode()[:500]}")
    return finished.stdout.decode()


def ask(*words):
    return json.loads(run(*words, "--json"))


def refused(*words):
    finished = attempt(*words)
    if finished.returncode == 0 or not finished.stderr:
        raise Wrong(f"cloche {' '.join(words)}: {finished.returncode}, should be refused with a message")
    return finished.stderr.decode()


class Box:
    def __init__(self, id, way, mark, memory=False):
        self.id, self.way, self.mark, self.memory = id, way, mark, memory
        self.text = None       # content of the mark
        self.state = "running"
        self.saved = {}        # snapshot -> content of the mark
        self.damaged = set()   # damaged snapshots


class World:
    def __init__(self):
        self.boxes = {}
        self.count = 0
        self.counts = {}

    # Ways to make one: return the id, and where it keeps its mark.
    def keep(self, way):
        name = f"{way}-{self.count}"
        mark = f"{work}/mark-{name}"
        flags = {
            "plain": [], "env": ["--env", "HOME=/x", "--env", "EMPTY=", "--label", "team=a b", "--agent", "anna",
                                 "--task", "t", "--on-violation", "kill"],
            "limits": ["--pids", "100", "--commands", "1000", "--life", "2h", "--idle", "1h", "--output", "1M",
                       "--wall", "1h", "--files", "100", "--denials", "50"],
            "grants": ["--ro", f"{work}/ro", "--rw", f"{work}/rw", "--hide", f"{work}/hidden"],
            "network": ["--allow", "example.com:443", "--deny", "other.example:443", "--proxy-env", "--net-limit",
                        "connections=5"],
            "secret": ["--secret", "token"],
            "canaries": ["--canaries"],
            "saving": ["--auto-snapshot", "every-command"],
            "timed": ["--auto-snapshot", "1h"],
            "memory": ["--in-memory"],
            "declared": ["--declared", "--input", f"{work}/input", "--out", f"{work}/out"],
            "base": ["--base", f"dir:{work}/base"],
        }[way]
        if way == "declared":
            mark = f"{work}/out/mark-{name}"
        if way == "base":
            mark = f"/mark-{name}"
        if dice.random() < 0.5:
            command = ["run", "--keep", "--json", "--name", name, *flags, "--", "sh", "-c", "true"]
            id = json.loads(run(*command))["sandbox"]
        else:
            id = ask("new", "--name", name, *flags)["id"]
        box = Box(id, way, mark, way == "memory")
        self.add(box)
        self.write(box)

    def services(self):
        id = ask("new", "--name", f"services-{self.count}")["id"]
        answer = api.call("POST", f"/v1/sandboxes/{id}/services",
                          {"services": [{"name": "idle", "program": "/bin/sleep", "argv": ["sleep", "1000"]}]})
        if answer[0] != 200:
            raise Wrong(f"services: {answer}")
        box = Box(id, "services", f"{work}/mark-{id}")
        self.add(box)
        self.write(box)

    def race(self):
        name = f"race-{self.count}"
        answer = ask("race", "--approach", f"one=echo raced > mark-{name}", "--check", "true")
        winner = [lane for lane in answer["lanes"] if lane["name"] == "one"][0]
        box = Box(winner["sandbox"], "race", f"{work}/mark-{name}")
        box.text = "raced"
        self.add(box)
        self.look_up(box)

    def fork(self):
        parent = self.choose(lambda box: not box.memory and box.way != "declared")
        if not parent:
            return
        good = [id for id in parent.saved if id not in parent.damaged]
        origin = dice.choice(good) if good and dice.random() < 0.5 else parent.id
        for each in ask("fork", origin, "--count", str(dice.choice([1, 2]))):
            box = Box(each["id"], parent.way, parent.mark)
            box.text = parent.saved[origin] if origin in parent.saved else parent.text
            box.state = "stopped"
            self.add(box)

    def add(self, box):
        self.boxes[box.id] = box
        self.count += 1
        self.counts[box.way] = self.counts.get(box.way, 0) + 1

    def choose(self, wanted=lambda box: True, states=("running", "stopped")):
        found = [box for box in self.boxes.values() if box.state in states and wanted(box)]
        return dice.choice(found) if found else None

    # Verbs.
    def write(self, box=None):
        box = box or self.choose()
        if not box:
            return
        text = f"{dice.random()}"
        before = {each["id"] for each in ask("snapshots", box.id)} if box.way == "saving" else set()
        old = box.text
        run("exec", box.id, "--", "sh", "-c", f"echo {text} > {box.mark}")
        box.text, box.state = text, "running"
        if box.way == "saving":
            for each in ask("snapshots", box.id):
                if each["id"] not in before:
                    box.saved[each["id"]] = old

    def read(self, box=None):
        box = box or self.choose(lambda each: each.text)
        if not box:
            return
        if box.way == "saving":
            return self.write(box)
        got = run("exec", box.id, "--", "sh", "-c", f"cat {box.mark} || true").strip()
        box.state = "running"
        if got != (box.text or ""):
            raise Wrong(f"{box.way} {box.id} holds {got!r}, should hold {box.text!r}")

    def stop(self):
        box = self.choose()
        if box and not box.memory:
            run("stop", box.id)
            box.state = "stopped"

    def remove(self):
        box = self.choose(states=("running", "stopped", "ended", "unreadable"))
        if box:
            self.discard(box)

    def discard(self, box):
        run("rm", box.id)
        del self.boxes[box.id]
        if "find sandbox" not in refused("show", box.id):
            raise Wrong(f"{box.id} is removed, and still there")
        if mode == "rootless" and os.path.exists(f"{state}/pool/kept/{box.id}"):
            raise Wrong(f"{box.id} is removed, its files are not")

    def save(self):
        box = self.choose(lambda each: not each.memory and each.way != "declared")
        if box:
            box.saved[ask("snapshot", box.id)["id"]] = box.text

    def roll_back(self):
        box = self.choose(lambda each: each.saved and each.way not in ("services", "saving"))
        if not box:
            return
        target = dice.choice(list(box.saved))
        if target in box.damaged:
            if "cannot be read" not in refused("rollback", box.id, target):
                raise Wrong("a snapshot that cannot be read is refused for another reason")
            return
        answer = ask("rollback", box.id, target)
        box.saved[answer["kept_as"]["id"]] = box.text
        box.text, box.state = box.saved[target], "stopped"

    def change_network(self):
        box = self.choose(lambda each: each.way in ("plain", "network", "race"))
        if box:
            run("net", box.id, "allow", f"host{dice.randrange(100)}.example:443")

    def look(self):
        box = self.choose(lambda each: each.way not in ("declared", "base"))
        if box:
            run("diff", box.id, "--stat") if dice.random() < 0.5 else run("show", box.id)

    def look_up(self, box):
        box.state = ask("show", box.id)["state"]

    # Ways for a daemon to end.
    def end(self, number):
        run("ls")  # starts one if none is running
        pid = json.loads(run("status", "--json"))["pid"]
        os.kill(pid, number)
        for box in self.boxes.values():
            if box.state in ("running", "stopped"):
                box.state = "ended" if box.memory else "stopped"
        return pid

    def leave(self):
        pid = self.end(signal.SIGTERM)
        # Wait until it has noticed, but not until it is gone: the next command must do that.
        while os.path.exists(f"{state}/daemon/alive") and os.path.exists(f"/proc/{pid}"):
            time.sleep(0.001)

    def kill(self):
        self.end(signal.SIGKILL)

    def upgrade(self):
        pid = self.end(signal.SIGTERM)
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.01)
        registry = sqlite3.connect(f"{state}/daemon/registry.db", timeout=20)
        rows = registry.execute("SELECT id, record FROM sandboxes").fetchall()
        for id, text in rows:
            box = self.boxes[id]
            if box.state == "unreadable" or dice.random() < 0.5:
                continue
            record = json.loads(text)
            how = dice.choices(["older", "later", "cut", "types", "empty", "state"], [70, 8, 6, 6, 5, 5])[0]
            if how == "older":
                for key in dice.sample(ADDED_LATER, dice.randrange(len(ADDED_LATER))):
                    record.pop(key, None)
                record["request"].update({key: COMMAND_KEYS[key] for key in
                                          dice.sample(sorted(COMMAND_KEYS), dice.randrange(len(COMMAND_KEYS)))})
                record["of_a_later_version"] = {"a": [1]}
            elif how == "later":
                record["request"]["of_a_later_version"] = True
            elif how == "types":
                record[dice.choice(["created", "head", "moved", "request", "birth_ns", "commands"])] = {"not": "this"}
            elif how == "empty":
                record = {}
            text = json.dumps(record)
            if how == "cut":
                text = text[:dice.randrange(len(text))]
            registry.execute("UPDATE sandboxes SET record = ? WHERE id = ?", (text, id))
            if how == "state":
                registry.execute("UPDATE sandboxes SET state = 'hibernating' WHERE id = ?", (id,))
            if how != "older":
                box.state = "unreadable"
                self.counts["unreadable"] = self.counts.get("unreadable", 0) + 1
        for id, sandbox in registry.execute("SELECT id, sandbox FROM snapshots").fetchall():
            if dice.random() < 0.1:
                registry.execute("UPDATE snapshots SET record = ? WHERE id = ?",
                                 (dice.choice(["", "{}", '{"kind": 5}', '{"kind": "of a later version"}', "[1]"]), id))
                self.boxes[sandbox].damaged.add(id)
        registry.commit()
        registry.close()

    # Must hold at any time.
    def verify(self):
        listed = {each["id"]: each for each in ask("ls", "--all")}
        if set(listed) != set(self.boxes):
            raise Wrong(f"listed {sorted(listed)}, should be {sorted(self.boxes)}")
        for id, box in self.boxes.items():
            if listed[id]["state"] != box.state:
                raise Wrong(f"{box.way} {id} is {listed[id]['state']} ({listed[id]['reason']}), should be {box.state}")
        unreadable = sorted(id for id, box in self.boxes.items() if box.state == "unreadable")
        checks = {each["name"]: each for each in ask("doctor")["checks"]}
        named = sorted(each["id"] for each in checks.get("records", {}).get("unreadable", []) if each["id"].startswith("sb_"))
        if named != unreadable:
            raise Wrong(f"doctor names {named}, should name {unreadable}")
        for id in unreadable:
            box = self.boxes[id]
            words = dice.choice([["exec", id, "--", "true"], ["diff", id], ["snapshot", id], ["fork", id],
                                 ["net", id, "allow", "a.example:443"], ["promote", id, "--yes"], ["logs", id]])
            said = refused(*words)
            if "cannot be read" not in said or f"cloche rm {id}" not in said:
                raise Wrong(f"cloche {' '.join(words)} of one that cannot be read says {said}")
            if box.saved:
                refused("fork", next(iter(box.saved)))

    def verify_contents(self):
        for box in list(self.boxes.values()):
            if box.state in ("running", "stopped"):
                self.read(box)


world = World()
WAYS = ["plain", "env", "limits", "grants", "network", "secret", "canaries", "saving", "timed", "memory", "declared",
        "base"]
wrong = None
steps = []


def step(function, *arguments):
    steps.append(function.__name__ + "".join(f" {each}" for each in arguments))
    function(*arguments)


try:
    run("secret", "set", "token", "--host", "api.example", stdin=b"ghp_0123456789abcdefghijklmnop\n")
    for way in WAYS:
        step(world.keep, way)
    for function in (world.services, world.race, world.fork, world.save, world.verify):
        step(function)
    for end in (world.leave, world.kill, world.upgrade):
        step(end)
        step(world.verify)
        step(world.verify_contents)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        step(dice.choices([world.write, world.read, world.stop, world.save, world.roll_back, world.fork, world.remove,
                           world.change_network, world.look, world.leave, world.kill, world.upgrade, world.verify],
                          [20, 15, 8, 8, 8, 5, 8, 6, 6, 4, 4, 6, 10])[0])
        if sum(box.state != "unreadable" for box in world.boxes.values()) < 8:
            step(world.keep, dice.choice(WAYS))
    step(world.leave)
    step(world.verify)
    step(world.verify_contents)
    for each in list(world.boxes.values()):
        if each.state == "unreadable":
            step(world.discard, each)
    step(world.kill)
    step(world.verify)
except (Wrong, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as error:
    wrong = f"{type(error).__name__}: {error}\n     after: {'; '.join(steps[-12:])}"
print("    ", len(steps), "steps,", ", ".join(f"{count} {way}" for way, count in world.counts.items()))
check("everything matches the model after every step", wrong is None, wrong)
done()
