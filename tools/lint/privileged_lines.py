#!/usr/bin/env -S python3 -B
"""privileged_lines.py MAP: the code that runs with privileges grows only on purpose.

Counts lines of code (no blank lines, no comments) of src/spawn, of what cloche-spawn links of
src/sys and src/base, by the linker's map, and of the headers that these include.
"""
import os
import re
import sys

import repo

MOST = 10503


def lines_of_code(path):
    return sum(1 for _, line in repo.lines(path) if line.strip() and not line.strip().startswith("//"))


with open(sys.argv[1], encoding="utf-8") as file:
    linked = set(re.findall(r"lib(cloche_(?:spawn|sys|base))\.a\((\w+)\.cc\.o\)", file.read()))
left = {"src/spawn/main.cc"}
for library, name in linked:
    folder = "src/" + library.removeprefix("cloche_")
    left |= {f"{folder}/{name}.cc", f"{folder}/{name}.h"}
counted = set()
while left:
    path = left.pop()
    if path in counted or not os.path.isfile(os.path.join(repo.ROOT, path)):
        continue
    counted.add(path)
    left |= {"src/" + match.group(1) for _, line in repo.lines(path)
             if (match := re.match(r'#include "([^"]+)"', line))}
total = sum(map(lines_of_code, counted))
print(f"{total} lines in {len(counted)} files; {MOST} are allowed")
repo.report([] if total <= MOST else [f"src/spawn:1: {total - MOST} lines too many"],
            "move work to a confined helper; raise MOST only with a reason in the commit")
