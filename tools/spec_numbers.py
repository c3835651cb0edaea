#!/usr/bin/env -S python3 -B
"""Writes what `cloche-bench --json` measured into the table of SPEC.md.

  build/bin/cloche-bench --json > run.json && tools/spec_numbers.py run.json

A row that the run does not have (`--only`, `--full`) keeps its last measurement. The order, and which
rows there are, is that of the table of promises above it; tools/lint/spec_table.py checks both.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPEC = os.path.join(ROOT, "SPEC.md")
BEGIN = "<!-- numbers: written by tools/spec_numbers.py -->\n"
END = "<!-- end of numbers -->\n"
COLUMNS = ["row", "ours", "beside", "ratio", "bound", "result", "measured"]
PROMISES = re.compile(r"^\| (?P<promise>[^|]+?) +\| (?P<bound>[^|]+?) +\| (?P<rows>(?:`[a-z]+\.[\w+-]+`,? ?)+) *\|$",
                      re.M)


def promises(text):
    """[(id, bound, promise)] in the order of the table of promises."""
    before = text[:text.index(BEGIN)]
    return [(row, match["bound"], match["promise"]) for match in PROMISES.finditer(before)
            for row in re.findall(r"`([^`]+)`", match["rows"])]


def table(text):
    """{id: cells} of the table of measurements."""
    inside = text[text.index(BEGIN) + len(BEGIN):text.index(END)]
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")]
             for line in inside.splitlines() if line.startswith("|")]
    return lines[:1], {cells[0].strip("`"): cells for cells in lines[2:]}


def duration(ms):
    if ms >= 1000:
        return f"{ms / 1000:.2f} s"
    return f"{ms:.0f} ms" if ms >= 100 else f"{ms:.1f} ms" if ms >= 1 else f"{ms:.2f} ms"


def cells(entry, run):
    numbers = entry.get("numbers") or {}
    ours, beside = entry["measured"], ""
    if "peer" in numbers:
        which = numbers.get("statistic", "median_ms")
        ours = duration(numbers["ours"][which])
        beside = f"{numbers['peer_name']} {duration(numbers['peer'][which])}"
    elif "median_ms" in numbers:
        ours = duration(numbers["median_ms"])
    elif "value" in numbers:
        ours = f"{numbers['value']:.2f} {numbers['unit']}"
    ratio = f"{entry['ratio']:.2f}x" if "ratio" in entry else ""
    return [f"`{entry['id']}`", ours, beside, ratio, entry.get("promised", ""), entry["result"], run]


def formatted(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", help="output of cloche-bench --json")
    parser.add_argument("--run", help="default: today and the commit that is checked out")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip()
    run = arguments.run or f"{datetime.date.today()} {commit}".strip()

    with open(SPEC, encoding="utf-8") as file:
        text = file.read()
    _, rows = table(text)
    with open(arguments.json, encoding="utf-8") as file:
        measured = {entry["id"]: cells(entry, run) for entry in json.load(file)}
    wanted = [row for row, _, _ in promises(text)]
    rows.update((row, found) for row, found in measured.items() if row in wanted)
    missing = [row for row in wanted if row not in rows]
    body = formatted([COLUMNS] + [rows[row] for row in wanted if row in rows])
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(SPEC, "w", encoding="utf-8") as file:
        file.write(text[:begin] + body + text[end:])
    print(f"{len([row for row in measured if row in wanted])} of {len(wanted)} rows written")
    if missing:
        sys.exit("never measured: " + ", ".join(missing))


if __name__ == "__main__":
    main()
