#!/usr/bin/env -S python3 -B
"""Folders of src/ include each other in one direction; some headers are not for every folder."""
import os
import re

import repo

# The folders that each folder may include besides itself.
MAY_INCLUDE = {
    "base": "",
    "sys": "base",
    "policy": "base",
    "race": "base policy",
    "change/model": "base",
    "change/walk": "base sys change/model",
    "change/project": "base policy",
    "change/rules": "base policy change/model",
    "change/apply": "base sys policy change/model change/walk change/project change/rules",
    "change/git": "",
    "egress": "base sys",
    "sign": "base sys change/model",
    "ca": "base sys change/model",
    "service": "base sys policy",
    "spawn": "base sys",
    "daemon": "base sys policy change/model egress",
    "api": "base sys policy change/model egress daemon",
    "cli": "base policy change/model race",
    "pipeline": "base sys policy change/model change/project change/rules cli",
    "probe": "base sys policy",  # attacks the product; it is part of none of it
}
# Single headers of other folders: the client links nothing of src/sys, and fd.h needs nothing of it.
ALSO = {"cli": "sys/fd.h"}

# Headers that a folder must not include: (folders, headers, why).
PURE = {"base", "policy", "race", "change/model", "change/project", "change/rules"}
CONTAINMENT = {"sys", "spawn", "probe"}
DENIED = [
    (PURE, r"(sys|linux|asm)/.*|(unistd|fcntl|poll|signal|sched|dirent|pwd)\.h",
     "its code makes no system calls"),
    (set(MAY_INCLUDE) - CONTAINMENT,
     r"sys/(mount|fsuid|capability)\.h|linux/(mount|seccomp|filter|landlock|netlink|netfilter.*)\.h",
     "only src/sys and src/spawn contain anything"),
    (set(MAY_INCLUDE) - CONTAINMENT - {"service"}, r"sys/ptrace\.h", "only services are paused"),
    ({"cli"}, r"iostream", "src/cli/no_streams.cc says why"),
]


def folder_of(path):
    """Below src; src/change has folders of its own."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "change" else parts[0]


INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')

findings = []
for path in repo.files(".h", ".cc"):
    if not path.startswith("src/"):
        continue
    folder = folder_of(path.removeprefix("src/"))
    if folder not in MAY_INCLUDE:
        findings.append(f"{path}:1: src/{folder} has no place in the order of folders")
        continue
    for number, line in repo.lines(path):
        own, system = (match.groups() if (match := INCLUDE.match(line)) else ("", ""))
        if own:
            other = folder_of(own)
            if not os.path.isfile(os.path.join(repo.ROOT, "src", own)):
                findings.append(f'{path}:{number}: "{own}" is not a file below src/')
            elif (other != folder and other not in MAY_INCLUDE[folder].split()
                  and own not in ALSO.get(folder, "").split()):
                findings.append(f"{path}:{number}: src/{folder} may not include src/{other}")
        for folders, headers, why in DENIED if system else []:
            is_test = path.endswith("_test.cc")
            if folder in folders and not is_test and re.fullmatch(headers, system):
                findings.append(f"{path}:{number}: <{system}> in src/{folder}: {why}")
for folder in MAY_INCLUDE:
    if not os.path.isdir(os.path.join(repo.ROOT, "src", folder)):
        findings.append(f"tools/lint/include_edges.py: there is no src/{folder}")
repo.report(findings, "move the code, or change the table in tools/lint/include_edges.py")
