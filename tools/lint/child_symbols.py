#!/usr/bin/env -S python3 -B
"""child_symbols.py BUILD: between clone and exec only what child_symbols.txt lists is called.

The child of a fork may not allocate, lock or throw; what its object files leave undefined is all
that they can call.
"""
import glob
import os
import subprocess
import sys

import repo

OBJECTS = ("child.cc.o", "init.cc.o", "kill_group.cc.o", "owner.cc.o", "pause.cc.o")

build = sys.argv[1]
allowed = {line.split("#")[0].strip() for _, line in repo.lines("tools/lint/child_symbols.txt")}
findings = []
for name in OBJECTS:
    objects = glob.glob(os.path.join(build, "src/spawn/CMakeFiles/**", name), recursive=True)
    if not objects:
        findings.append(f"src/spawn/{name}: not found below {build}")
    for path in objects:
        symbols = subprocess.run(["nm", "-u", "--demangle", "--format=just-symbols", path],
                                 capture_output=True, text=True, check=True).stdout.splitlines()
        findings += [f"src/spawn/{name[:-2]}: calls {symbol}" for symbol in symbols
                     if symbol not in allowed]
repo.report(sorted(set(findings)),
            "use a raw system call; tools/lint/child_symbols.txt says what may be listed")
