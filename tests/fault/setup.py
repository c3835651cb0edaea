"""Every step of a launch fails once, then every kind of step as a whole, as on a kernel without it.

The host judges: the launch is refused and nothing ran, or the sandbox that did run is the same as
one without a fault, to the byte (audit.sh). Afterwards processes, cgroups, uppers, masks, mounts
and descriptors are those of the sandboxes that exist, and no others.
"""
import collections
import errno
import os
import re
import subprocess
import sys
import time

from report import check, done

env = os.environ
BIN, STATE, MODE, T = env["BIN"], env["STATE"], env["MODE"], env["T"]
HANG_SECONDS = 60  # no assertion: what takes this long hangs
# Steps that repeat for every hidden path are sampled: about so many of one name.
SAMPLE = int(env.get("CLOCHE_FAULT_SAMPLE", "2"))
COMMON = "all"  # the one cpuset of all sandboxes (v1), as old as spawn
MOST_MASKS = 12  # of the few plans that spawn keeps in stock, in a few versions each
AUDIT = open(os.path.join(os.path.dirname(__file__), "audit.sh")).read()


def caller(*words):
    who = []
    if os.getuid() != int(env["CALLER_UID"]):
        uid = env["CALLER_UID"]
        who = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
    return who + ["env", "-i", f"PATH={env['SAFE_PATH']}", f"HOME={env['CALLER_HOME']}",
                  f"CLOCHE_STATE_DIR={STATE}", f"CLOCHE_RUNTIME_DIR={env['RUN']}",
                  f"{BIN}/cloche", *words]


def run(argv):
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd=env["WORK"], timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(argv, "hangs", str(late.stdout), str(late.stderr))


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def entries(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def children(pid):
    return read(f"/proc/{pid}/task/{pid}/children").split()


def find_spawn():
    """The daemon and its cloche-spawn; they are new after a crash."""
    for _ in range(2):
        match = re.search(r'"pid":(\d+)', run(caller("status", "--json")).stdout)
        for child in children(match[1]) if match else []:
            if "cloche-spawn" in read(f"/proc/{child}/cmdline"):
                return match[1], child
        run(caller("ls"))
    raise RuntimeError("no cloche-spawn runs")


class Host:
    """The parts of sandboxes, seen from the host."""

    def __init__(self):
        self.daemon, self.spawn = find_spawn()
        self.keepers = {pid for pid in children(self.spawn)
                        if os.readlink(f"/proc/{pid}/ns/user")
                        == os.readlink(f"/proc/{self.spawn}/ns/user")}

    def pool(self, name):
        return entries(f"/proc/{self.spawn}/root{STATE}/pool/{name}")

    def masks(self):
        return entries(f"/proc/{self.spawn}/root{STATE}/"
                       + ("pool/masks" if MODE == "system" else "mnt/masks"))

    def groups(self):
        tag = os.stat(STATE)
        found = {}
        for line in read("/proc/self/mounts").splitlines():
            target, kind = line.split()[1:3]
            if kind.startswith("cgroup"):
                path = f"{target}/cloche-{tag.st_dev:x}-{tag.st_ino:x}"
                if os.path.isdir(path):
                    found[target] = sorted(n for n in os.listdir(path)
                                           if os.path.isdir(f"{path}/{n}"))
        return found

    def problems(self):
        inits = [pid for pid in children(self.spawn) if pid not in self.keepers]
        found = []
        if len(self.pool("once")) + RUNNING_KEPT != len(inits):
            found.append(f"{len(inits)} inits, uppers {self.pool('once')}")
        for hierarchy, names in self.groups().items():
            if names != [COMMON] and len(set(names) - {COMMON}) != len(inits):
                found.append(f"{len(inits)} inits, {hierarchy} has {names}")
        if self.pool("trash"):
            found.append(f"trash holds {self.pool('trash')}")
        if len(self.masks()) > min(MOST_MASKS, len(inits)):
            found.append(f"masks {self.masks()}")
        scratch = [line for line in read(f"/proc/{self.spawn}/mountinfo").splitlines()
                   if f"{STATE}/mnt/" in line]
        if scratch:
            found.append(f"mounted in the workshop: {scratch}")
        return found

    def alive(self, pid):
        return read(f"/proc/{pid}/cmdline") != ""

    def settled(self):
        """Ending is asynchronous; what is still there after this long stays."""
        for _ in range(300):
            if not self.alive(self.spawn):
                return []  # it takes everything with it, and the next one looks after the pool
            found = self.problems()
            if not found:
                return []
            time.sleep(0.01)
        return found

    def descriptors(self):
        return {name: len(entries(f"/proc/{pid}/fd"))
                for name, pid in (("cloched", self.daemon), ("cloche-spawn", self.spawn))}


def launch(host, which, error, *words):
    result = run([f"{BIN}/cloche-inject", f"{T}/steps", host.spawn, str(which), str(error),
                  *caller(*words)])
    if result.returncode == 77:
        print(result.stderr, file=sys.stderr)
        sys.exit(77)
    result.stdout = "\n".join(filter(not_others, result.stdout.splitlines()))
    return result, read(f"{T}/steps").splitlines()


HIDE = ["--hide", f"{env['WORK']}/secret"]
serial = 0


def first_of_its_kind(host, which, error):
    """A plan that nobody asked for before: its mask is made, nothing is in stock."""
    global serial
    serial += 1
    return launch(host, which, error, "run", "-q", *HIDE, "--hide", f"/nowhere/{serial}", "--",
                  "sh", "-c", AUDIT)


def start_again(host, which, error):
    """A stopped sandbox; its mask is there, because another one of the same plan runs."""
    result = launch(host, which, error, "exec", "-q", "again", "--", "sh", "-c", AUDIT)
    run(caller("stop", "again"))
    return result


def not_others(line):
    """Mounts of tests that run beside this one come and go."""
    own = re.sub("[0-9]+", "#", os.path.basename(T))
    return "/cloche-t." not in line or own in line


def every(numbers, most):
    return numbers[::-(-len(numbers) // most)]


def ends_of(numbers):
    return sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]})


def by(steps, name_of):
    """Their numbers, from 1, by name; those without one are left out."""
    found = collections.defaultdict(list)
    for number, step in enumerate(steps, 1):
        if name_of(step):
            found[name_of(step)].append(number)
    return found


def inject(host, start, faults, baseline):
    outcomes = collections.Counter()
    for which, error in faults:
        result, seen = start(host, which, error)
        failed = [name[1:] for name in seen if name.startswith("!")]
        what = f"{which} ({failed[0] if failed else 'not reached'}): {errno.errorcode[error]}"
        if result.returncode == 0 and result.stdout == baseline:
            outcomes["changed nothing"] += 1
        elif result.returncode != 0 and result.stdout == "" and "cloche: " in result.stderr:
            outcomes["refused"] += 1
        else:
            outcomes["WRONG"] += 1
            new = [line for line in result.stdout.splitlines() if line not in baseline]
            check(f"{what}: refused, or the same sandbox", False,
                  f"status {result.returncode} {result.stderr} new {new}")
        left = host.settled()
        if not host.alive(host.spawn) or not host.alive(host.daemon):
            outcomes["ended spawn"] += 1
            host = Host()
            if RUNNING_KEPT:
                run(caller("exec", "-q", "holder", "--", "true"))
            left = host.settled()
        if left:
            outcomes["LEFT"] += 1
            check(f"{what}: nothing is left behind", False, left)
    return host, outcomes


def main():
    global RUNNING_KEPT
    host = Host()
    fresh, steps = first_of_its_kind(host, 0, 0)
    baseline = fresh.stdout
    check("without a fault the audit runs to its end", "end of audit" in baseline,
          baseline + fresh.stderr)
    check("hidden files stay hidden", "hidden" not in baseline, baseline)
    different = [line for line in first_of_its_kind(host, 0, 0)[0].stdout.splitlines()
                 if line not in baseline]
    check("two sandboxes are the same", not different, different)

    by_name = by(steps, lambda step: step.split("@")[0] if step.startswith("spawn ") else None)
    sample = [n for numbers in by_name.values() for n in every(numbers, SAMPLE)]
    host, outcomes = inject(host, first_of_its_kind,
                            [(n, errno.ENOMEM) for n in sorted(sample)], baseline)

    for name in ("holder", "again"):
        run(caller("new", "--name", name, *HIDE))
    RUNNING_KEPT = 1
    run(caller("exec", "-q", "again", "--", "sh", "-c", "echo still here > kept-file"))
    run(caller("stop", "again"))
    again, steps = start_again(host, 0, 0)
    check("a stopped sandbox has its files", "still here" in again.stdout, again.stdout)
    # Of a loop (over layers, mounts, capabilities) some rounds, the first and the last among them.
    faults = [(n, errno.ENOMEM) for numbers in by(steps, lambda step: step).values()
              for n in ends_of(numbers)]
    # A kernel or a container without the call.
    faults += [(name, errno.ENOSYS) for name in by(steps, lambda step: step.split("@")[0])
               if not name.startswith("spawn ")]
    host, more = inject(host, start_again, faults, again.stdout)
    outcomes += more
    print("     " + ", ".join(f"{count} {name}" for name, count in outcomes.items()), flush=True)
    check("every fault is refused or changes nothing", outcomes["WRONG"] == 0)
    check("most are refused", outcomes["refused"] > 200, dict(outcomes))
    check("nothing is left behind", outcomes["LEFT"] == 0)
    works = run(caller("exec", "-q", "holder", "--", "echo", "fine"))
    check("the sandbox beside it lives, or its files do", works.stdout == "fine\n", works.stderr)
    works = run(caller("run", "-q", "--", "echo", "fine"))
    check("new ones start", works.stdout == "fine\n", works.stderr)
    done()


RUNNING_KEPT = 0
main()
