#!/usr/bin/env -S python3 -B
"""Every case of a promotion is asserted by a test, and every tag that is named is a case."""
import re

import repo

TABLE = "src/change/rules/cases.cc"
ROW = re.compile(r'\bCase\{(k\w+), (k\w+), "([^"]*)", (k\w+), (k\w+)\}')
TAG = re.compile(r"\bP-[A-Z]+(?:-[A-Z]+)+\b")
WELL_FORMED = re.compile(r"P-[A-Z]+(-[A-Z]+)+")


def is_test(path):
    return re.fullmatch(r"src/change/rules/\w+_test\.cc|tests/scenarios/.*\.(cc|sh|py)", path)


findings, rows = [], {}
for number, line in repo.lines(TABLE):
    for match in ROW.finditer(line):
        tag = match.group(3)
        if not WELL_FORMED.fullmatch(tag):
            findings.append(f"{TABLE}:{number}: `{tag}` is not like P-EDIT-ABSENT")
        elif tag in rows:
            findings.append(f"{TABLE}:{number}: {tag} is also line {rows[tag]}")
        rows[tag] = number
if not rows:
    findings.append(f"{TABLE}:1: no row of the table was found")

tested = set()
for path in repo.files(".cc", ".h", ".sh", ".py", ".md"):
    if path in (TABLE, "tools/lint/promote_cases.py"):
        continue
    for number, line in repo.lines(path):
        # In a test a tag is a string of its own; a mention in a comment asserts nothing.
        if is_test(path):
            tested.update(re.findall(r"""["'](P-[A-Z-]+)["']""", re.sub(r"^\s*(//|#).*", "", line)))
        if path.startswith(("src/", "tests/", "docs/")):
            findings += [f"{path}:{number}: {tag} is not a case" for tag in TAG.findall(line)
                         if tag not in rows]
findings += [f"{TABLE}:{number}: {tag} is in no test" for tag, number in rows.items()
             if tag not in tested]
repo.report(findings, "assert the case in src/change/rules/cases_test.cc")
