#!/usr/bin/env -S python3 -B
"""Nothing of the machine it was written on: no work directory, no package registry's host name."""
import re

import repo

# Put together here so that this file does not find itself.
FOLDERS = "|".join(["wo" + "rk", "fa" + "rm"])
HOSTS = [r"(?:deb|snapshot)\.deb" + r"ian\.org", r"registry\.npm" + r"js\.org",
         r"pyp" + r"i\.org", r"pythonhosted\.o" + "rg",
         r"(?:static\.|index\.)cra" + r"tes\.io", r"proxy\.gol" + r"ang\.org",
         r"registry-1\.doc" + r"ker\.io", r"gh" + r"cr\.io", r"qu" + r"ay\.io"]
PATTERNS = [
    (re.compile(rf"(^|[^A-Za-z0-9_./$}}-])/(?:{FOLDERS})/"), "a path of a work machine"),
    (re.compile(r"/ro" + r"ot/\.(?:pyenv)|/tmp/b" + "h-"), "a path of a work machine"),
    (re.compile("|".join(HOSTS)), "the host of a package registry"),
]

# The product's own list of registries.
PRESETS = "src/policy/network_presets.cc"

findings = []
for path in repo.files():
    for number, line in repo.lines(path):
        findings += [f"{path}:{number}: {what}" for pattern, what in PATTERNS
                     if pattern.search(line) and not (str(path) == PRESETS and "registry" in what)]
repo.report(findings, "make it relative, or let the tool's own configuration say where")
