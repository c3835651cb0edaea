"""sequence.py WORK BIN MODE: long random sequences of work in several sandboxes, promotions (of all or of parts),
undos, snapshots, rollbacks, forks, stops, restarts and of a person's changes in reality meanwhile.
CLOCHE_SEED runs one seed (or FIRST-LAST), CLOCHE_ROUNDS that many seeds, CLOCHE_STEPS that many steps each.

Must hold:
  promoted    The sandbox sees exactly what it saw before. At and below the promoted paths reality is what it sees,
              except where somebody else left something that the sandbox has never taken over. Nothing that
              somebody else left changes, and nothing outside the promoted paths.
  refused     Reality and sandbox are as before, and each conflict concerns something that somebody else left, or
              that a rollback has separated from its base.
  undone      Everything that promotion changed is as before; nothing else changes, and no sandbox sees a change
              where reality has none, by whatever name it shows it. Refused: nothing changes, and somebody has
              changed those paths since.
"Somebody else" is the person, or another sandbox. A path's mark says which of them left it as it is now.
"""
import base64
import collections
import ctypes
import json
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

from report import check, done
from tree import difference, seen

WORK, BIN, MODE = sys.argv[1:4]
TOP = f"{WORK}/tree"
ROUNDS = int(os.environ.get("CLOCHE_ROUNDS") or 10)
STEPS = int(os.environ.get("CLOCHE_STEPS") or 20)
VISIBLY, AT_ALL, PUT = range(3)
MODE_BITS, OWNER, GROUP, ATTRIBUTES, TIME, REST = range(6)
MOST_BOXES = 3
# Cases of a partial promotion that needs another part.
PARTIAL = ("-NO-PARENT", "-PARENT-FILE", "-PARENT-SYMLINK", "-NOT-EMPTY")
counts = collections.Counter()
libc = ctypes.CDLL(None, use_errno=True)


class Wrong(Exception):
    pass


def cloche(*words, may_fail=False):
    result = subprocess.run([f"{BIN}/cloche", *words], capture_output=True, text=True, cwd=WORK,
                            stdin=subprocess.DEVNULL, timeout=120)
    if result.returncode != 0 and not may_fail:
        raise Wrong(f"cloche {' '.join(words)}: {result.returncode} {result.stdout[:900]} {result.stderr[:900]}")
    return result


def comparable(tree):
    """Ignores times of directories, bits that are not promoted, and hard links."""
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


def timeless(said):
    """A time alone is not promoted."""
    return said and said[:TIME] + said[REST:]


def differing(one, other, of=lambda said: said):
    return {path for path in one.keys() | other.keys() if of(one.get(path)) != of(other.get(path))}


def reality():
    return comparable(seen(TOP))


def born(path):
    """By statx, because os.stat does not report it."""
    answer = ctypes.create_string_buffer(256)
    at_working_directory, no_follow, birth_time, its_place = -100, 0x100, 0x800, 80
    if libc.statx(at_working_directory, path, no_follow, birth_time, answer) < 0:
        raise OSError(ctypes.get_errno(), "statx", path)
    return struct.unpack_from("qI", answer, its_place)


def numbers():
    """The kernel's record of every change, visible or not: the file's identity (an inode number alone is soon reused)
    and its ctime."""
    found = {}
    for here, directories, files in os.walk(os.fsencode(TOP)):
        for name in directories + files:
            path = os.path.join(here, name)
            info = os.lstat(path)
            found[os.path.relpath(path, os.fsencode(TOP))] = ((info.st_ino, *born(path)), info.st_ctime_ns)
    return found


def told(path):
    """The entries for a path in the journals of promotions, as evidence when a test fails."""
    found, plain = [], lambda text: base64.b64decode(text)
    store = f"{os.environ['HOME']}/.local/state/cloche/promotions"
    for name in sorted(os.listdir(store)):
        if not os.path.exists(f"{store}/{name}/journal"):
            continue
        with open(f"{store}/{name}/journal") as file:
            lines = [json.loads(line) for line in file if line.strip(" \0\n")]
        steps, parents = ([line for line in lines if key in line] for key in ("step", "parent"))
        left = [line for line in lines if "settled" in line]
        for key, all_of, times in (("path", steps, "settled"), ("parent", parents, "parents")):
            for index, line in enumerate(all_of):
                if plain(line[key]) == path:
                    found.append([name, [line["state"] for line in lines if "state" in line][-1],
                                  {key: line[key] for key in line if key not in ("target", "path", "parent")},
                                  [each[times][index] for each in left]])
    return found


def related(path, others):
    return any((path + b"/").startswith(each + b"/") or (each + b"/").startswith(path + b"/") for each in others)


class Box:
    """A sandbox, and what the model knows about it."""

    def __init__(self, name, marks, had):
        self.name = name
        self.marks, self.had = [dict(each) for each in marks], set(had)  # as of its creation
        self.own = []        # promotions, including those of its ancestors
        self.saved = []      # id, its view, reality, number of changes to reality by then
        self.apart = False   # a rollback led to a state whose base has changed

    def knows(self, path, mark, kind):
        """It saw the version with this mark there, or left it itself."""
        return mark in self.own or mark == self.marks[kind].get(path, "start")


class World:
    def __init__(self, seed):
        self.dice = random.Random(f"steps{seed}")
        self.seed, self.step, self.names, self.moves = seed, 0, 0, 0
        # By path, who last changed it: visibly; at all, even invisibly; and who created the very file or directory
        # there. Missing: it was there from the beginning.
        self.marks = [{}, {}, {}]
        self.left = {}       # by promotion that is not undone: path -> whether it left something there
        self.promotions, self.story, self.boxes = [], [], []
        self.new()

    def tell(self, what):
        self.story.append(what)
        counts[what.split()[0]] += 1

    def name(self):
        self.names += 1
        return f"box{self.names}"

    def new(self):
        box = Box(self.name(), self.marks, reality())
        cloche("new", "--name", box.name)
        self.tell(f"new {box.name}")
        self.boxes.append(box)
        if len(self.boxes) > MOST_BOXES:
            self.remove(self.boxes[0])

    def remove(self, box):
        self.boxes.remove(box)
        self.tell(f"rm {box.name}")
        cloche("rm", box.name, "--force")

    def inside(self, box, count=0, how="ours"):
        result = cloche("exec", "-q", box.name, "--", "python3", f"{WORK}/sequence_inside.py", TOP,
                        f"{self.seed}.{self.step}", str(count), how)
        return comparable(pickle.loads(base64.b64decode(result.stdout)))

    def foreign(self, box):
        """Paths last changed by somebody else: visibly, and at all."""
        foreign = [{path for path, mark in marks.items() if not box.knows(path, mark, kind)}
                   for kind, marks in enumerate(self.marks)]
        return foreign[VISIBLY], set().union(*foreign)

    def deleted(self, box, visibly, real):
        """Paths that the sandbox last saw and somebody else deleted."""
        def saw(path):
            own = [self.left[each][path] for each in box.own if path in self.left.get(each, ())]
            return own[-1] if own else path in box.had
        return {path for path in visibly if path not in real and saw(path)}

    def mark(self, before, after, who):
        """Record who changed reality."""
        changed = differing(before[0], after[0], timeless)
        touched = changed | differing(before[1], after[1])
        put = differing(before[1], after[1], lambda number: number and number[0])
        was = {path: [marks.get(path, "start") for marks in self.marks] for path in touched}
        self.left[who] = {path: path in after[0] for path in changed}
        for marks, paths in zip(self.marks, (changed, touched, put)):
            marks.update(dict.fromkeys(paths, who))
        self.moves += 1
        return was

    def unmark(self, who, was_marked):
        """It was undone: paths that nobody else has changed since get their previous owner back."""
        for path, was in was_marked.items():
            for kind, marks in enumerate(self.marks):
                if marks.get(path) == who:
                    marks[path] = was[kind]
            for _, _, _, later in self.promotions:
                if path in later:
                    later[path] = [old if mark == who else mark for mark, old in zip(later[path], was)]

    def work(self, box):
        how = self.dice.choices(["ours", "many"], [40, 1])[0]
        count = self.dice.choice([1, 2, 4, 8])
        self.tell(f"work {box.name} {count} {how}")
        self.inside(box, count, how)

    def person(self, box):
        """Stops the sandboxes first: a mounted overlay keeps showing cached names, which is not tested here."""
        for each in self.boxes:
            cloche("stop", each.name)
        count = self.dice.choice([1, 1, 2, 4])
        before = reality(), numbers()
        self.tell(f"person {count}")
        subprocess.run([sys.executable, f"{WORK}/sequence_inside.py", TOP, f"person{self.seed}.{self.step}", str(count),
                        "ours"], check=True, capture_output=True)
        self.mark(before, (reality(), numbers()), f"person{self.step}")
        for each in list(self.boxes):
            try:
                self.inside(each)
            except Wrong as error:
                # If the person replaces the origin of a directory renamed inside by a file, the kernel gives up.
                if "Stale file handle" not in str(error):
                    raise
                self.remove(each)
        if not self.boxes:
            self.new()

    def theirs(self, box):
        before = reality(), numbers()
        path = f"{TOP}/theirs/{self.dice.choice('abc')}"
        self.tell(f"theirs {os.path.basename(path)}")
        with open(path, "w") as file:
            file.write(str(self.dice.random()))
        self.mark(before, (reality(), numbers()), f"person{self.step}")

    def part(self, view):
        paths = sorted(path for path in view.keys() | reality().keys() if path.startswith(b"ours/") or path in (b"many", b"more"))
        return sorted({self.dice.choice(paths) for _ in range(self.dice.choice([1, 2]))}) if paths else []

    def promote(self, box, *how, parts=()):
        view = self.inside(box)
        before = reality(), numbers()
        visibly, at_all = self.foreign(box)
        words = [os.fsdecode(os.path.join(os.fsencode(TOP), each)) for each in parts] or [TOP]
        result = cloche("promote", box.name, *words, "--yes", "--allow-triggers", "--json", *how, may_fail=True)
        answer = json.loads(result.stdout or "{}")
        self.tell(f"promote {box.name} {result.returncode} {' '.join(how)} {parts or ''}")
        after = reality(), numbers()
        now = self.inside(box)
        asked = lambda path: not parts or any((path + b"/").startswith(each + b"/") for each in parts)
        if now != view:
            raise Wrong(["the sandbox sees something else after its promotion", difference(view, now)])
        changed = differing(before[0], after[0], timeless)
        if result.returncode != 0:
            if differing(before[0], after[0]):
                raise Wrong(["refused, and yet reality changed", difference(before[0], after[0])])
            counts["refused"] += 1
            return self.explain(box, at_all, answer, parts, result)
        counts["applied"] += 1
        if parts and any(not asked(path) for path in changed):
            raise Wrong(["not asked for, and yet changed", sorted(changed), difference(before[0], after[0])])
        # A change to a directory's own mode or attributes does not prevent its deletion.
        is_directory = lambda path: int(before[0][path][MODE_BITS], 8) & 0o170000 == 0o040000
        going = {path for path in before[0] if path not in after[0] and is_directory(path)}
        if lost := sorted((changed & visibly & before[0].keys()) - going) if not how else []:
            raise Wrong(["what somebody else left is changed", lost, answer.get("notes"),
                         [told(os.path.join(os.fsencode(TOP), path)) for path in lost], difference(before[0], after[0])])
        if back := sorted(changed & self.deleted(box, visibly, before[0])) if not how else []:
            raise Wrong(["what somebody else deleted is back", back, difference(before[0], after[0]), answer.get("notes")])
        wrong = {path for path in differing(now, after[0], timeless) if asked(path)}
        if "--ours" not in how:
            wrong -= at_all if not how else {path for path in at_all if path not in now}
        else:
            wrong = {path for path in wrong if not related(path, at_all)}
        if wrong:
            raise Wrong(["reality is not what the sandbox sees", sorted(wrong), difference(now, after[0]), answer.get("notes")])
        if answer.get("id"):
            was = self.mark(before, after, answer["id"])
            self.promotions.append((answer["id"], before[0], changed, was))
            box.own.append(answer["id"])
        if not parts:
            box.apart = False
        return True

    def explain(self, box, at_all, answer, parts, result):
        conflicts = answer.get("conflicts", [])
        if not conflicts:
            raise Wrong(["refused without a conflict", result.stdout[:1500], result.stderr[:500]])
        for each in conflicts:
            path = os.path.relpath(os.fsencode(each["path"]), os.fsencode(TOP))
            gone = "it was renamed from" in each["reason"] and (at_all or box.apart)
            part = parts and each["case"].endswith(PARTIAL)
            if not gone and not part and not box.apart and not related(path, at_all):
                raise Wrong(["refused without a reason", each, sorted(at_all), result.stderr[:500],
                             [marks.get(path) for marks in self.marks], numbers().get(path),
                             told(os.fsencode(each["path"]))])
        return False

    def promote_all(self, box):
        if self.promote(box):
            return
        # The person decides, or gives up.
        choice = self.dice.choice(["--theirs", "--ours", "anew", "anew", ""])
        if choice.startswith("--"):
            if self.promote(box, choice, TOP):
                return
            choice = "anew"
        if choice == "anew":
            self.remove(box)
            if not self.boxes:
                self.new()

    def promote_part(self, box):
        parts = self.part(self.inside(box))
        if parts:
            self.promote(box, parts=parts)

    def undo(self, box):
        if not self.promotions:
            return
        index = self.dice.choice([-1, -1, -1, self.dice.randrange(len(self.promotions))])
        name, was_real, its, was_marked = self.promotions.pop(index)
        views = [(each, self.inside(each)) for each in self.boxes]
        before = reality()
        result = cloche("undo", name, "--json", may_fail=True)
        self.tell(f"undo {result.returncode} {index}")
        now = reality()
        if result.returncode != 0:
            since = [path for path in was_marked if self.marks[AT_ALL].get(path) != name]
            strange = [path for path, mark in self.marks[AT_ALL].items() if mark != name and path not in was_marked]
            if differing(before, now):
                raise Wrong(["undo was refused, and yet reality changed", difference(before, now)])
            if not since and not any(related(path, strange) for path in its):
                raise Wrong(["undo was refused", result.stdout[:900], result.stderr[:500]])
            counts["not undone"] += 1
            return
        wrong = {path for path in differing(now, was_real) if path in its}
        if wrong:
            raise Wrong(["undo does not bring back what was", sorted(wrong), difference(was_real, now)])
        changed = differing(before, now)
        if changed - set(was_marked):
            raise Wrong(["undo changed something else", sorted(changed - set(was_marked)), difference(before, now)])
        self.unmark(name, was_marked)
        del self.left[name]
        self.moves += 1
        for each, view in views:
            after = self.inside(each)
            if strange := differing(view, after) - changed:
                origin = self.origins(each)
                strange = {path for path in strange if origin(path) not in changed}
            if strange:
                raise Wrong(["a sandbox sees something else after an undo", each.name, difference(view, after)])

    def origins(self, box):
        """Where reality has what the sandbox shows at a path: a renamed directory goes on to show what reality has."""
        below = lambda path: os.path.relpath(path, os.fsencode(TOP))
        plain = lambda change, key: (base64.b64decode(change[f"{key}_base64"]) if f"{key}_base64" in change
                                     else os.fsencode(change[key]))
        changes = json.loads(cloche("diff", box.name, "--json").stdout)["changes"]
        renamed = {below(plain(each, "path")): below(plain(each, "old_path")) for each in changes
                   if each["kind"] == "renamed" and each["new"]["type"] == "directory"}

        def origin(path):
            tops = [top for top in renamed if path.startswith(top + b"/")]
            return renamed[max(tops, key=len)] + path[len(max(tops, key=len)):] if tops else path
        return origin

    def snapshot(self, box):
        answer = json.loads(cloche("snapshot", box.name, "--json").stdout)
        box.saved.append((answer["id"], self.inside(box), reality(), self.moves))
        self.tell(f"snapshot {box.name} {len(box.saved)}")

    def rollback(self, box):
        if not box.saved:
            return
        name, was, was_real, moves = self.dice.choice(box.saved)
        cloche("rollback", box.name, name)
        self.tell(f"rollback {box.name} {name}")
        now = self.inside(box)
        # Reality's later changes show through where the saved state never changed it.
        apart = moves != self.moves
        if now != was and not apart:
            raise Wrong(["a rollback is not what was saved", difference(was, now)])
        box.apart = box.apart or apart

    def fork(self, box):
        before = self.inside(box)
        child = Box(self.name(), box.marks, box.had)
        child.own, child.apart = list(box.own), box.apart
        cloche("fork", box.name, "--name", child.name)
        self.tell(f"fork {box.name} {child.name}")
        for each in (child, box):
            if (now := self.inside(each)) != before:
                raise Wrong(["a fork is not its parent, or its parent not what it was", each.name, difference(before, now)])
        self.boxes.append(child)
        if len(self.boxes) > MOST_BOXES:
            self.remove(self.boxes[0])

    def stop(self, box):
        before = self.inside(box)
        cloche("stop", box.name)
        self.tell(f"stop {box.name}")
        if (now := self.inside(box)) != before:
            raise Wrong(["after a stop it sees something else", difference(before, now)])

    def restart(self, box):
        if MODE == "shared":
            return
        before = self.inside(box)
        pid = json.loads(cloche("status", "--json").stdout)["pid"]
        how = self.dice.choice([signal.SIGTERM, signal.SIGKILL])
        os.kill(pid, how)
        while os.path.exists(f"/proc/{pid}") and state_of(pid) != "Z":
            time.sleep(0.01)
        self.tell(f"restart {how.name}")
        if (now := self.inside(box)) != before:
            raise Wrong(["after a restart it sees something else", difference(before, now)])

    def once(self):
        self.step += 1
        actions = {self.work: 40, self.promote_all: 20, self.promote_part: 8, self.undo: 8, self.snapshot: 7,
                   self.rollback: 6, self.fork: 4, self.stop: 4, self.restart: 3, self.theirs: 3, self.person: 6}
        self.dice.choices(list(actions), list(actions.values()))[0](self.dice.choice(self.boxes))


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
    subprocess.run([sys.executable, f"{WORK}/sequence_inside.py", TOP, f"base{seed}", "30", "ours"], check=True,
                   capture_output=True)


def seeds():
    wanted = os.environ.get("CLOCHE_SEED") or f"1-{ROUNDS}"
    first, _, last = wanted.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    for name in ("rearrange.py", "sequence_inside.py", "tree.py"):
        shutil.copy(f"{BIN}/{name}", WORK)
    for seed in seeds():
        prepare(seed)
        world = World(seed)
        try:
            for _ in range(STEPS):
                world.once()
            for box in list(world.boxes):
                world.promote(box)
        except (Wrong, subprocess.SubprocessError) as error:
            check(f"seed {seed}: {world.story}", False, error.args)
        cloche("rm", "--all", "--force", may_fail=True)
    check(f"seeds {seeds()[0]} to {seeds()[-1]}: {dict(counts)}", True)
    check("something was promoted", counts["applied"] >= len(seeds()), dict(counts))


main()
done()
