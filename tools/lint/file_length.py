#!/usr/bin/env -S python3 -B
"""A source file above 600 lines is two things."""
import repo

LIMIT = 600

findings = []
for path in repo.files(".h", ".cc", ".sh", ".py", ".ts", ".svelte", ".js"):
    length = len(repo.lines(path))
    if length > LIMIT:
        findings.append(f"{path}:{LIMIT}: {length} lines")
repo.report(findings, f"split it; the aim is 300, the limit {LIMIT}")
