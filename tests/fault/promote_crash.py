"""A promotion and its undoing, cut short at every system call that can change anything.

promote_fault.cc stands in for cloche-promote. After each fault the next `cloche promotions` puts
right what there is to put right, and the tree must be the old or the new one to the byte, with
modes, times, attributes, symlinks and hard links; and what was answered must be true.
"""
import collections
import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import api
from report import check, done
import tree
from tree import difference

BIN, WORK, HOME, OTHER = sys.argv[1:5]
CLOCHE = f"{BIN}/cloche"
STORE = f"{HOME}/.local/state/cloche/promotions"
MOST = 2000
DIGEST = ""
# In turn; with CLOCHE_EVERY_ERROR every call sees each of them.
ERRORS = [(errno.ENOSPC, errno.EIO, errno.EACCES), (errno.EIO, errno.EACCES, errno.ENOSPC),
          (errno.EACCES, errno.ENOSPC, errno.EIO)]
EVERY_ERROR = "CLOCHE_EVERY_ERROR" in os.environ

REALITY = r"""
mkdir -p edit.d gone.d/below empty sub/deep full moved.d tight
echo old > edit.d/edit; chmod 640 edit.d/edit
echo bye > gone; echo a > gone.d/a; echo b > gone.d/below/b
echo file > becomes-dir; mkdir becomes-file; echo x > becomes-file/x
echo same > mode; ln -s edit.d/edit link; echo kept > kept
echo one > hard1; ln hard1 hard2; echo m > move-me; echo x > moved.d/x; echo y > moved.d/y
echo f > sub/deep/file; echo t > tight/t
setfattr -n user.note -v before kept edit.d/edit sub/deep || true
find . -mindepth 1 -exec touch -h -d '2001-02-03 04:05:06.789' {} +
"""
SANDBOX = r"""
echo new text > edit.d/edit; rm gone; rm -r gone.d; rmdir empty
rm becomes-dir; mkdir -p becomes-dir/inner; echo deep > becomes-dir/inner/file
rm -r becomes-file; echo now a file > becomes-file
chmod 755 mode; ln -sf kept link; echo two > shared1; ln shared1 shared2
rm hard1; echo alone > hard1; mv move-me sub/moved; mv moved.d sub/moved.d
echo g > sub/deep/added; chmod 750 sub/deep; chmod 500 tight; touch -d '2011-11-11 11:11:11' sub/deep
head -c 70000 /dev/zero | tr '\0' x > full/large; truncate -s 5M full/sparse
setfattr -n user.note -v after full/large sub/deep || true
"""

# On the other file system.
REALITY_THERE = "mkdir -p d/e; echo old > edit; echo bye > d/gone; echo e > d/e/e; touch -d '2002-02-02' edit d/e d"
SANDBOX_THERE = "echo new > edit; rm d/gone; mkdir -p n/m; echo n > n/m/n; rm -r d/e"
ANNEX = ".cloche-promotions"


def seen(top):
    """Without where the other file system keeps what was replaced, and the time at which that came."""
    found = {name: said for name, said in tree.seen(top).items()
             if os.fsencode(ANNEX) not in name.split(b"/")}
    there = os.fsencode(os.path.relpath(OTHER, top)) if OTHER else b"."
    if there in found:
        found[there][4] = None
    return found


def left_behind():
    return OTHER and os.path.exists(f"{OTHER}/{ANNEX}") and [
        name for name in os.listdir(f"{OTHER}/{ANNEX}") if not os.path.isdir(f"{STORE}/{name}")]


def run(*words):
    return subprocess.run([CLOCHE, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, cwd=WORK)


def arm(verb="", number=0, action=""):
    if verb:
        open(f"{BIN}/fault.steps", "w").close()
    with open(f"{BIN}/fault", "w") as file:
        file.write(f"{verb} {number} {action}\n")


def steps():
    with open(f"{BIN}/fault.steps") as file:
        return file.read().splitlines()[1:]  # the first is who


def promote(dry_run=False):
    answer = api.call("POST", "/v1/sandboxes/box/promote",
                      {"dry_run": dry_run, "allow_triggers": True, "paths": [WORK],
                       "exclude": [], "digest": DIGEST})[1]
    answer.pop("changes", None)
    answer.pop("triggers", None)
    return answer


def undo(name):
    result = run("undo", name, "--json")
    try:
        return json.loads(result.stdout)
    except ValueError:
        return {"error": {"message": result.stdout + result.stderr}}


def recover():
    """Recovers as the next command does by itself; returns the promotions."""
    arm()
    result = run("promotions", "--json")
    return json.loads(result.stdout) if result.returncode == 0 else []


def forget():
    """Keeps the store from growing with the test. The newest says who changed reality."""
    for name in sorted(os.listdir(STORE))[:-1]:
        for top in {f"{STORE}/{name}", f"{OTHER or STORE}/{ANNEX}/{name}"}:
            if not os.path.isdir(top):
                continue
            os.chmod(top, 0o700)
            for above, directories, _ in os.walk(top):  # looked into after we were here
                for each in directories:
                    if not os.path.islink(f"{above}/{each}"):
                        os.chmod(f"{above}/{each}", 0o700)
            shutil.rmtree(top)


def without_times(tree):
    """A directory into which something was put has the time of that moment."""
    return {name: said[:4] + said[5:] if said[0].startswith("0o4") else said
            for name, said in tree.items()}


def outcome(old, new):
    now = seen(WORK)
    return "old" if now == old else "new" if without_times(now) == new else "OTHER"


class Judge:
    """Counts, and says the first few of what is wrong."""

    def __init__(self):
        self.counts = collections.Counter()

    def wrong(self, what, detail):
        self.counts["wrong"] += 1
        if self.counts["wrong"] <= 5:
            check(what, False, detail)

    def close(self, sentence, least):
        points = sum(self.counts[name] for name in ("old", "new", "OTHER"))
        check(f"{sentence}: {points} points: old {self.counts['old']}, new {self.counts['new']}, "
              f"other {self.counts['OTHER']}",
              self.counts["wrong"] == 0 and self.counts["OTHER"] == 0 and points >= least,
              dict(self.counts))


def back_to_old(what, old, judge, listed=None):
    """After a promotion that went through; its undoing is judged, too. `listed`: by recover()."""
    for each in recover() if listed is None else listed:
        if each["state"] == "done":
            answer = undo(each["id"])
            if answer.get("state") != "undone":
                judge.wrong(f"{what}: undone", answer)
    if seen(WORK) != old:
        judge.wrong(f"{what}: undo brings back the old", difference(old, seen(WORK)))
        sys.exit(1)
    forget()


def cut_short(verb, actions, old, new, judge, begin, finish):
    """One fault at call 1, 2, 3, ... until none is left to be hit."""
    for number in range(1, MOST):
        action = actions[number % len(actions)]
        before = begin()
        arm(verb, number, action)
        answer = promote() if verb == "promote" else undo(before)
        hit = [name[1:] for name in steps() if name.startswith("!")]
        if not hit:
            finish(f"{verb} without a fault", old, judge)
            break
        what = f"{verb} {action} at {number} ({hit[0]})"
        at_once = outcome(old, new)
        listed = recover()
        result = outcome(old, new)
        judge.counts[result] += 1
        if result == "OTHER":
            judge.wrong(f"{what}: old or new",
                        [difference(old, seen(WORK)), difference(new, without_times(seen(WORK))), answer])
        states = [each["state"] for each in listed]
        if ("done" in states) != (result == "new"):
            judge.wrong(f"{what}: what is listed is what is there", [result, listed])
        told = answer.get("state")
        if told == "done" and result != "new" or told == "undone" and result != "old":
            judge.wrong(f"{what}: what was said is true", [result, answer])
        if action != "kill":
            if told not in ("done", "undone") and "error" not in answer:
                judge.wrong(f"{what}: it is told", answer)
            if at_once != result and "not yet" not in str(answer) and "next" not in str(answer):
                judge.wrong(f"{what}: at once, or said", [at_once, result, answer])
        finish(what, old, judge, listed)
    return number - 1


def before_the_end(names):
    """The call that writes that everything was applied: the one before the last syncs."""
    at = max(i for i, name in enumerate(names) if name in ("syncfs", "fsync"))
    while names[at] in ("syncfs", "fsync"):
        at -= 1
    return at + 1


def kill_recoveries(old, judge):
    """Killed in the middle, then the recovery is killed at every call; the next one ends it."""
    arm("promote", 0, "")
    promote()
    almost = before_the_end(steps())
    back_to_old("count", old, judge)
    for number in range(1, MOST):
        arm("promote", almost, "kill")
        promote()
        arm("list", number, "kill")
        run("promotions")
        if not any(name.startswith("!") for name in steps()):
            break
        recover()
        judge.counts["old" if seen(WORK) == old else "OTHER"] += 1
        forget()


def stand_still(old, new, judge):
    """Stopped in the middle, then killed; a second one waits for the first, and looks again."""
    arm("promote", 0, "")
    promote()
    total, almost = len(steps()), before_the_end(steps())
    back_to_old("count", old, judge)
    for number in (total // 4, total // 2, almost * 3 // 4, almost, total - 2):
        arm("promote", number, "stop")
        first = threading.Thread(target=promote)
        first.start()
        while not any(name.startswith("!") for name in steps()):
            time.sleep(0.01)
        arm()
        answers = []
        second = threading.Thread(target=lambda: answers.append(promote()))
        second.start()
        with open(f"{BIN}/fault.steps") as file:
            os.kill(int(file.readline()), 9)  # the one it traces dies with it
        first.join()
        second.join()
        result = outcome(old, new)
        judge.counts[result] += 1
        # Near its end the first was through.
        fine = ("done", "nothing") if number <= almost else ("done", "nothing", None)
        if result != "new" or answers[0].get("state") not in fine:
            judge.wrong(f"stopped at {number}: the second one does it", [result, answers])
        back_to_old(f"stopped at {number}", old, judge)


def at_once(old, new, judge):
    """Two on one target: one after the other, and the second sees what the first did."""
    for number in range(10):
        answers = []
        both = [threading.Thread(target=lambda: answers.append(promote())) for _ in range(2)]
        for each in both:
            each.start()
        for each in both:
            each.join()
        result = outcome(old, new)
        judge.counts[result] += 1
        said = sorted(each.get("state") or each["error"]["code"] for each in answers)
        if result != "new" or said not in (["conflict", "done"], ["done", "nothing"]):
            judge.wrong(f"two at once {number}: one of them did it", [result, answers])
        back_to_old(f"two at once {number}", old, judge)


def main():
    subprocess.run(["sh", "-c", REALITY], cwd=WORK, check=True)
    if OTHER:
        subprocess.run(["sh", "-ec", REALITY_THERE], cwd=OTHER, check=True)
    time.sleep(0.1)  # a sandbox is made after what it is a copy of
    old = seen(WORK)
    made = run("new", "--name", "box")
    inside = run("exec", "box", "--", "sh", "-ec",
                 SANDBOX + (f"cd other; {SANDBOX_THERE}" if OTHER else ""))
    check("a sandbox changes all sorts of things", made.returncode == 0 and inside.returncode == 0,
          made.stderr + inside.stderr)
    global DIGEST
    DIGEST = promote(dry_run=True).get("digest", "")
    arm("promote", 0, "")
    answer = promote()
    check("without a fault it is applied", answer.get("state") == "done", answer)
    new = without_times(seen(WORK))
    check("and something else than before", new != without_times(old))
    check("replaced files are kept there", not OTHER or os.listdir(f"{OTHER}/{ANNEX}") != [])
    answer = undo(answer.get("id", ""))
    check("without a fault it is undone", answer.get("state") == "undone", answer)
    now = seen(WORK)
    check("to the byte, with the times of directories", now == old, difference(old, now))
    if now != old:
        return
    forget()

    judge = Judge()
    cut_short("promote", ["kill"], old, new, judge, lambda: None, back_to_old)
    judge.close("a promotion killed at every call", 100)
    judge = Judge()
    cut_short("undo", ["kill"], old, new, judge, lambda: promote().get("id", ""), back_to_old)
    judge.close("an undo killed at every call", 30)
    judge = Judge()
    kill_recoveries(old, judge)
    judge.close("a recovery killed at every call", 30)
    for errors in ERRORS if EVERY_ERROR else ERRORS[:1]:
        names = "/".join(errno.errorcode[error] for error in errors)
        judge = Judge()
        cut_short("promote", errors, old, new, judge, lambda: None, back_to_old)
        judge.close(f"a promotion with {names} at every call", 100)
        judge = Judge()
        cut_short("undo", errors, old, new, judge, lambda: promote().get("id", ""), back_to_old)
        judge.close(f"an undo with {names} at every call", 30)
    judge = Judge()
    stand_still(old, new, judge)
    judge.close("stopped, then killed, with a second one waiting", 5)
    judge = Judge()
    at_once(old, new, judge)
    judge.close("two at once", 10)
    check("on the other file system nothing is left that the store does not know", not left_behind(),
          left_behind())


main()
done()
