#!/usr/bin/env -S python3 -B
"""Every promised number of SPEC.md has a row with its last measurement, with the bound of the bench."""
import os
import re
import sys

import repo

sys.path.insert(0, os.path.join(repo.ROOT, "tools"))
import spec_numbers  # noqa: E402

RESULTS = {"ok", "MISSED", "reported"}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def number(bound):
    found = NUMBER.search(bound)
    return float(found.group()) if found else None


with open(spec_numbers.SPEC, encoding="utf-8") as file:
    text = file.read()
findings = []


def tell(what):
    findings.append(f"SPEC.md: {what}")


if spec_numbers.BEGIN not in text or spec_numbers.END not in text:
    tell("the two markers of the table are gone")
    repo.report(findings, "write them again; tools/spec_numbers.py has them")
head, rows = spec_numbers.table(text)
promised = spec_numbers.promises(text)
if head != [spec_numbers.COLUMNS]:
    tell(f"the columns must be {', '.join(spec_numbers.COLUMNS)}")
if not promised:
    tell("no promise names a row of the bench")
sources = "".join(line for path in repo.files(".cc") if path.startswith("bench/")
                  for _, line in repo.lines(path))
for row, bound, promise in promised:
    part = row.split(".")[0]
    if f'"{part}"' not in sources:
        tell(f"`{row}`: the bench has no part {part}")
    cells = rows.get(row)
    if not cells:
        tell(f"`{row}` ({promise}) was never measured")
        continue
    if len(cells) != len(spec_numbers.COLUMNS) or not cells[1] or not cells[6]:
        tell(f"`{row}`: {len(cells)} cells, or nothing was measured")
        continue
    if cells[5] not in RESULTS:
        tell(f"`{row}`: the result is '{cells[5]}'")
    if bound == "reported":
        if cells[5] != "reported":
            tell(f"`{row}`: promised as reported, and the bench has the bound {cells[4]}")
    elif cells[4] and number(bound) != number(cells[4]):
        tell(f"`{row}`: promised {bound}, and the bench has {cells[4]}")
for row in rows:
    if row not in [each for each, _, _ in promised]:
        tell(f"`{row}` was measured, and nothing promises it")
repo.report(findings, "run cloche-bench --json > run.json && tools/spec_numbers.py run.json")
