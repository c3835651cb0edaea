#!/usr/bin/env -S python3 -B
"""JSON for standard output goes through one writer.

It holds text that a sandbox chose (names, output, messages), and dump() leaves DEL, C1 controls and
bidirectional characters raw. src/cli/print.cc escapes them, so nothing else in the client's
programs calls dump(), except where the text is not output.
"""
import re

import repo

ALLOWED = {
    "src/cli/print.cc": "the writer",
    "src/cli/client.cc": "the body of a request",
    "src/cli/net.cc": "a number",
    "src/cli/sandbox_view.cc": "cells of a table, which escapes them",
    "src/cli/with_service.cc": "numbers, as arguments of a program",
    "src/pipeline/journal.cc": "a file",
}

findings = []
for path in repo.files(".cc"):
    if not path.startswith(("src/cli/", "src/pipeline/")) or path.endswith("_test.cc") or path in ALLOWED:
        continue
    for number, line in repo.lines(path):
        if re.search(r"[.>]dump\(", line):
            findings.append(f"{path}:{number}: dump()")
repo.report(findings, "use PrintJson, JsonText or WriteJson (src/cli/json_output.h)")
