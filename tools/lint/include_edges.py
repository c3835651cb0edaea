#!/usr/bin/env -S python3 -B
"""Folders of src/ include each other in one direction, and only src/sys speaks to the kernel.

Exceptions are lines of include_edges.txt; one that is no longer needed is an error too.
"""
import os
import re

import repo

LEAVES = {"spawn", "storage", "change", "egress"}
PURE = {"policy", "authority", "ledger", "diff"}
MAY_INCLUDE = {
    "base": set(),
    "sys": {"base"},
    **{folder: {"base", "sys"} for folder in LEAVES},
    **{folder: {"base"} for folder in PURE},
    "daemon": {"base", "sys"} | LEAVES | PURE,
    "api": {"base", "sys", "daemon"} | LEAVES | PURE,
    "differ": {"base", "sys", "diff"},
    # pure; what changes are, and what a secret looks like, it need not know twice
    "promote": {"base", "diff", "policy"},
    "promoter": {"base", "sys", "diff", "differ", "promote", "project"},
    "git": set(),
    "sign": {"base", "sys", "diff"},
    "service": {"base", "sys", "policy"},
    "project": {"base", "policy"},  # pure
    "race": {"base", "policy"},
    "cli": {"base", "policy", "diff", "race"},
    "pipeline": {"base", "sys", "policy", "diff", "project", "promote", "cli"},
    "probe": {"base", "sys", "policy"},  # attacks the product; it is part of none of it
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
STREAMS = {"iostream"}  # src/cli/no_streams.cc says why there are none
SPEAKS_TO_KERNEL = {"sys", "probe"}
KERNEL = re.compile(r"^(sys|linux|asm)/")

exceptions = {}
for number, line in repo.lines("tools/lint/include_edges.txt"):
    entry = line.split("#")[0].split()
    if len(entry) == 2:
        exceptions[tuple(entry)] = [number, False]
    elif entry:
        raise SystemExit(f"tools/lint/include_edges.txt:{number}: want `PATH INCLUDED  # why`")


def excepted(path, included):
    """PATH of an exception is a file or a folder, INCLUDED a folder of src/ or a header."""
    for prefix in (path, os.path.dirname(path)):
        if (prefix, included) in exceptions:
            exceptions[(prefix, included)][1] = True
            return True
    return False


findings = []
for path in repo.files(".h", ".cc"):
    if not path.startswith("src/"):
        continue
    folder = path.split("/")[1]
    if folder not in MAY_INCLUDE:
        findings.append(f"{path}:1: src/{folder} has no place in the order of folders")
        continue
    for number, line in repo.lines(path):
        match = INCLUDE.match(line)
        if not match:
            continue
        own, system = match.groups()
        if own:
            other = own.split("/")[0]
            if not os.path.isfile(os.path.join(repo.ROOT, "src", own)):
                findings.append(f'{path}:{number}: "{own}" is not a file below src/')
            elif other != folder and other not in MAY_INCLUDE[folder] and not excepted(path, other):
                findings.append(f"{path}:{number}: src/{folder} may not include src/{other}")
        elif folder not in SPEAKS_TO_KERNEL and KERNEL.match(system) and not excepted(path, system):
            findings.append(f"{path}:{number}: <{system}> outside src/sys")
        elif folder == "cli" and system in STREAMS:
            findings.append(f"{path}:{number}: <{system}> in src/cli, which has no streams")
for (path, included), (number, used) in exceptions.items():
    if not used:
        findings.append(f"tools/lint/include_edges.txt:{number}: "
                        f"{path} does not include {included} any more")
repo.report(findings, "move the code, or say why not in tools/lint/include_edges.txt")
