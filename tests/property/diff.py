"""diff.py WORK BIN: `cloche diff` reports random changes exactly as listings before and after show them.

The listings are taken inside, through the mount; cloche-diff reads the layers below it. git apply
and patch apply a patch to the old tree, and the result is compared with the new one. CLOCHE_SEED repeats a run or
one round of it, CLOCHE_ROUNDS makes it longer.
"""
import errno
import json
import os
import random
import shutil
import subprocess
import sys

import rearrange

WORK, BIN = sys.argv[1:3]
SEED = os.environ.get("CLOCHE_SEED") or str(random.randrange(1 << 32))
ROUNDS = int(os.environ.get("CLOCHE_ROUNDS") or 6)
STAGES = 3
TOOLS = {"git apply": ["git", "apply", "-p1"], "patch": ["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch"]}
faults = []
skipped = dict.fromkeys(TOOLS, 0)


def cloche(*arguments, cwd=None):
    done = subprocess.run([BIN + "/cloche", *arguments], cwd=cwd, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"cloche {' '.join(arguments)}: {done.returncode} {done.stderr.decode()[:500]}")
    return done.stdout


def without_links(side):
    return {key: value for key, value in side.items() if key != "hard_link"} if side else None


def below(path, directory):
    return path.startswith(directory + "/")


def moves(changes):
    return {change["old_path"]: change["path"] for change in changes
            if change["kind"] == "renamed" and change["old"]["type"] == "directory"}


def predict(before, changes):
    """Apply the changes to the old tree."""
    named = {change["path"]: change.get("new") for change in changes}
    moved_to = moves(changes)
    after = {path: side for path, side in named.items() if side}
    for path, side in before.items():
        moved = [old for old in moved_to if path == old or below(path, old)]
        new = path
        if moved:
            nearest = max(moved, key=len)
            new = moved_to[nearest] + path[len(nearest):]
        if new not in named:
            after[new] = side
    return after


def compare(label, before, after, changes):
    """Nothing is missing, and nothing reported is false."""
    paths = [change["path"] for change in changes]
    problems = []
    if len(set(paths)) != len(paths) or paths != sorted(paths, key=os.fsencode):
        problems.append("paths are not sorted, or some are there twice")
    predicted = predict(before, changes)
    for path in sorted(set(predicted) | set(after)):
        if without_links(predicted.get(path)) != without_links(after.get(path)):
            problems.append(f"{path}: follows {predicted.get(path)}, is {after.get(path)}")
    for change in changes:
        path, kind = change["path"], change["kind"]
        if without_links(change.get("new")) != without_links(after.get(path)):
            problems.append(f"{path}: {kind}, said to be {change.get('new')}, is {after.get(path)}")
        was = before.get(change.get("old_path", path))
        if kind == "added" and any(path == old or below(path, old) for old in moves(changes)):
            was = None
        old = change.get("old")
        told = without_links(old) or {}
        told_was = {key: value for key, value in (without_links(was) or {}).items() if kind != "deleted" or key != "sha256"}
        if told != told_was:
            problems.append(f"{path}: {kind}, said to have been {old}, was {was}")
        if kind in ("modified", "type_changed") and told == without_links(change["new"]):
            problems.append(f"{path}: {kind}, but nothing is different")
    # Names of one file inside must be one file here. The reverse need not hold: overlayfs gives a name that was copied
    # up its old inode number, and a new name of the same file another.
    told, inside = {}, {}
    for change in changes:
        new = change.get("new") or {}
        if "hard_link" in new:
            told.setdefault(new["hard_link"], set()).add(json.dumps(without_links(new)))
            inside.setdefault(after[change["path"]].get("hard_link"), set()).add(new["hard_link"])
    if any(len(files) != 1 for files in told.values()) or any(len(numbers) != 1 for numbers in inside.values()):
        problems.append(f"hard links: {told}, inside {inside}")
    for problem in problems:
        faults.append(f"{label}: {problem}")


def readable(tree):
    """The part of a tree that a patch can express: files and symlinks."""
    return {path: (side.get("sha256"), side.get("target"), side["type"] == "file" and int(side["mode"], 8) & 0o100)
            for path, side in tree.items() if side["type"] in ("file", "symlink")}


def copy_tree(source, target):
    """As git stores it: no empty directories, no pipes, and every name a separate file."""
    for path in rearrange.entries(source):
        copy = target + path[len(source):]
        if os.path.islink(path) or rearrange.is_file(path):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
        if os.path.islink(path):
            os.symlink(os.readlink(path), copy)
        elif rearrange.is_file(path):
            shutil.copyfile(path, copy)
            os.chmod(copy, 0o755 if os.stat(path).st_mode & 0o100 else 0o644)


def too_hard(name, before, after):
    """Changes that a tool cannot apply, whoever wrote the patch."""
    def directory(side):
        return side["type"] == "directory"

    if name == "patch":  # it deletes only at the end
        return any(path in after and directory(side) != directory(after[path]) for path, side in before.items())
    for path, side in before.items():  # it follows symlinks
        if side["type"] == "symlink":
            try:
                os.stat(path)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    return True
    return False


def check_patch(label, tree, before, after, patch):
    for name, command in TOOLS.items():
        if too_hard(name, before, after):
            skipped[name] += 1
            continue
        copy = WORK + "/copy"
        shutil.rmtree(copy, ignore_errors=True)
        os.mkdir(copy)
        copy_tree(tree, copy)
        if patch:
            done = subprocess.run(command, input=patch, cwd=copy, capture_output=True,
                                  env=os.environ | {"GIT_CEILING_DIRECTORIES": WORK})
            if done.returncode != 0:
                faults.append(f"{label}: {name} refuses: {(done.stdout + done.stderr).decode()[:800]}")
                if os.environ.get("CLOCHE_KEEP"):
                    with open(os.environ["CLOCHE_KEEP"], "wb") as file:
                        file.write(patch)
                continue
        made = {path.replace(tree, copy, 1): side for path, side in readable(after).items()}
        got = readable(rearrange.listing(copy))
        for path in sorted(set(made) | set(got)):
            if made.get(path) != got.get(path):
                faults.append(f"{label}: {name} makes {path} {got.get(path)} instead of {made.get(path)}")
        shutil.rmtree(copy)


def changes_of(box, *arguments):
    return json.loads(cloche("diff", box, "--json", *arguments))["changes"]


def one_round(seed):
    number = seed.split("/")[1]
    dice = random.Random(seed)
    tree, box = f"{WORK}/tree{number}", f"box{number}"
    os.mkdir(tree)
    maker = rearrange.Rearranger(tree, seed + "/base")
    for _ in range(dice.choice([10, 40, 120])):
        maker.once()
    os.chdir(WORK)
    cloche("new", "--name", box, cwd=tree)
    before, saved = None, None
    for stage in range(STAGES):
        label = f"seed {seed} stage {stage}"
        count = str(dice.choice([1, 2, 5, 30]))
        listed = json.loads(cloche("exec", box, "--", sys.executable, BIN + "/rearrange.py", tree, f"{seed}/{stage}",
                                   count, cwd=tree))
        before = before or listed["before"]
        after = listed["after"]
        if dice.random() < 0.5:
            cloche("stop", box)
        compare(label, before, after, [c for c in changes_of(box) if below(c["path"], tree) or c["path"] == tree])
        if saved:
            compare(label + " against a snapshot", saved, after, changes_of(box, "--against", "then", tree))
        check_patch(label, tree, before, after, cloche("diff", box, "--patch", tree))
        if stage == 0:
            cloche("snapshot", box, "--name", "then")
            saved = after
    cloche("rm", box)
    shutil.rmtree(tree)


os.umask(0o022)
seeds = [SEED] if "/" in SEED else [f"{SEED}/{number}" for number in range(ROUNDS)]
for each in seeds:
    try:
        one_round(each)
    except (RuntimeError, ValueError, KeyError) as error:
        faults.append(f"seed {each}: {error!r}")
    if len(faults) > 20:
        break
for fault in faults[:20]:
    print("     " + fault)
print(f"{'FAIL' if faults else 'ok'}  {len(seeds)} rounds, seed {SEED}: what is said to have changed is what has "
      f"(patches left out: {skipped})")
sys.exit(1 if faults else 0)
