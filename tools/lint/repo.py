"""Shared by the lints: the repository's files, and the report of findings."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files(*suffixes):
    """Paths relative to the root of everything that is or could be committed."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        capture_output=True, text=True)
    if listed.returncode == 0:
        found = [name for name in listed.stdout.split("\0") if name]
    else:  # an unpacked archive: no git
        found = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f != ".git" and not f.startswith("build")]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    if suffixes:
        found = [name for name in found if name.endswith(suffixes)]
    return sorted(name for name in set(found) if os.path.isfile(os.path.join(ROOT, name)))


def lines(path):
    """Numbered lines; nothing for a file that is not text."""
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return list(enumerate(file.read().splitlines(), 1))
    except UnicodeDecodeError:
        return []


def report(findings, cure):
    """Prints `path:line: what` for each and ends the lint."""
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} found; {cure}")
    sys.exit(1 if findings else 0)
