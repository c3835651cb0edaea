#!/usr/bin/env -S python3 -B
"""Every path of the repository that a document or a comment names exists."""
import glob
import itertools
import os
import re

import repo

FOLDERS = r"(?:src|tests|tools|docs|bench|web|\.ci)"
ROOT_FILES = {"Makefile", "CMakeLists.txt", "CMakePresets.json", "LICENSE", ".clang-tidy",
              ".clang-format", ".editorconfig"}
IN_TICKS = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = FOLDERS + r"/[\w./-]+\.(?:md|h|cc|sh|py|yaml|txt|json)"
IN_COMMENT = re.compile(r"(?<![\w./$}-])(" + FILE + r")\b")


def looks_like_a_path(text):
    return (text in ROOT_FILES or re.fullmatch(r"[A-Z]+\.md", text)
            or re.fullmatch(FOLDERS + r"/[\w./*{},-]*", text))


def expanded(path):
    """src/{a,b}/c -> src/a/c, src/b/c"""
    parts = [part.split(",") for part in re.split(r"[{}]", path)]
    return ["".join(choice) for choice in itertools.product(*parts)]


def exists(path, folder=""):
    return all(glob.glob(os.path.join(repo.ROOT, folder, one)) for one in expanded(path))


findings = []
for path in repo.files(".md"):
    fenced = False
    for number, line in repo.lines(path):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        for text in IN_TICKS.findall(line):
            text = re.sub(r":\d+$", "", text.rstrip("/,.;:"))
            if looks_like_a_path(text) and not exists(text):
                findings.append(f"{path}:{number}: `{text}` does not exist")
        for target in LINK.findall(line):
            target = target.split("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            if not exists(target, os.path.dirname(path)):
                findings.append(f"{path}:{number}: link to {target}, which does not exist")
for path in repo.files(".h", ".cc", ".sh", ".py", ".yaml", "CMakeLists.txt", "Makefile"):
    for number, line in repo.lines(path):
        for text in IN_COMMENT.findall(line):
            if not exists(text):
                findings.append(f"{path}:{number}: {text} does not exist")
repo.report(findings, "correct the name or write the file")
