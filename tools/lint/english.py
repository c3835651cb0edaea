#!/usr/bin/env -S python3 -B
"""Comments, documents, test names and checks say who does what, in plain English."""
import re

import repo

# Data that tests compare with, and this file.
DATA = ("tests/corpus/", "tests/golden/", "tools/lint/english.py")

SLASHES = (".h", ".cc", ".inc", ".js")
HASHES = (".sh", ".py", ".cmake", ".txt", ".conf", ".toml", ".yaml", ".yml")

HE = re.compile(r"\b(?:he|his|him|himself)\b", re.IGNORECASE)
# "There is no X" is fine, and so are comparisons.
IS_NO = re.compile(r"(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|such\b)[a-z]+",
                   re.IGNORECASE)
# A question is fine.
RIDDLE = re.compile(r"(?:^|[.:;)] |^--- )((?:Who|What|Whom)(?:ever)?) (?![^.]*\?)")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\w+, *((?:Who|What|Whom)(?:ever)?)[A-Z]")
SENTENCE = re.compile(r"\bcheck(?:_\w+)?(?:\(f?| )(?:\"([^\"]*)|'([^']*))")
CHECK = re.compile(r"(?:^|: )((?:who|what|whom)(?:ever)?) ")

PEOPLE = "write they or their, or name the actor: callers, the owner"
NEGATION = "write 'not a'"
DIRECT = "say who does what, in that order, or begin with the noun"


def kind_of(path, lines):
    if path.endswith(".md"):
        return "prose"
    if path.endswith(SLASHES):
        return "//"
    script = lines and lines[0][1].startswith("#!")
    return "#" if script or path.endswith(HASHES) else None


def paragraphs(lines):
    """Blocks of prose in Markdown, each a list of (line number, text)."""
    block, fenced = [], False
    for number, line in lines:
        text = line.strip()
        item = re.match(r"(?:[*-]|\d+\.) ", text)
        skipped = fenced or not text or text.startswith(("#", "|", "```"))
        fenced ^= text.startswith("```")
        if skipped or item:
            yield block
            block = []
        if not skipped:
            block.append((number, text[item.end():] if item else text))
    yield block


def comments(mark, lines):
    """Comments and docstrings, each a list of (line number, text)."""
    comment = re.compile(rf"(|.*\s){mark}+(?:\s+(.*))?$")
    block, docstring = [], False
    for number, line in lines:
        text = line.strip()
        if docstring or text.startswith('"""'):
            block.append((number, text.replace('"""', "")))
            docstring ^= text.count('"""') == 1
            if docstring:
                continue
        found = comment.match(line)
        whole = found and not found[1].strip() and found[2]
        if not whole:
            yield block
            block = []
        if found and found[2]:
            block.append((number, found[2].strip()))
    yield block


def search(pattern, block):
    """Where `pattern` is in a block, whose lines are read as one: (line number, match)."""
    text = " ".join(each for _, each in block)
    for found in pattern.finditer(text):
        end = found.end()
        for number, each in block:
            end -= len(each) + 1
            if end <= 0:
                yield number, found
                break


findings = []
for path in repo.files():
    lines = repo.lines(path)
    kind = kind_of(path, lines)
    if kind is None or path.startswith(DATA):
        continue

    def find(number, what, cure):
        findings.append((path, number, f"{path}:{number}: {what}; {cure}"))

    for block in paragraphs(lines) if kind == "prose" else comments(kind, lines):
        for number, found in search(IS_NO, block):
            find(number, f"'{found[0]}'", NEGATION)
        for number, found in search(RIDDLE, block):
            find(number, f"a sentence that starts with '{found[1]}'", DIRECT)
        for number, found in search(HE, block) if kind == "//" else ():
            find(number, f"'{found[0]}'", PEOPLE)
    for number, line in lines:
        for found in HE.finditer(line) if kind != "//" else ():
            find(number, f"'{found[0]}'", PEOPLE)
        for found in TEST.finditer(line):
            find(number, f"the name of a test starts with '{found[1]}'", DIRECT)
        for check in SENTENCE.finditer(line):
            sentence = check[1] or check[2] or ""
            for found in IS_NO.finditer(sentence):
                find(number, f"'{found[0]}'", NEGATION)
            for found in CHECK.finditer(sentence):
                find(number, f"a check starts with '{found[1]}'", DIRECT)
repo.report([text for _, _, text in sorted(findings)], "rewrite the whole sentence, not the word")
