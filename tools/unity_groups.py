#!/usr/bin/env python3
"""unity_groups.py FILE...: sorts the sources of a library into groups that compile as one file each.

Two files share a group when neither uses a word that the other declares in an anonymous namespace.
Prints a CMake list of numbers, one for each file. Relies on clang-format: what is declared in a
namespace begins its line.
"""
import re
import sys

MOST = 16  # of a group: one compiler should not need gigabytes

DECLARED = [
    re.compile(r"^(?:struct|class|union|enum(?: class)?)(?: \[\[\w+\]\])? (\w+)"),
    re.compile(r"^(?:using|namespace) (\w+) ="),
    re.compile(r"^using (enum)\b"),  # its values could be words of anybody
    re.compile(r"^(?!using|return|namespace|extern|#|//)[\w:].*?\b(\w+)(?:\[[^]]*\])*\s*(?:\(|=|\{|;)"),
]
MORE = re.compile(r", (k[A-Z]\w*) = ")  # constexpr int kOne = 1, kTwo = 2;
NOT_CODE = re.compile(r'//.*|"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"(?<![.>\w])[A-Za-z_]\w*")  # no member of anything


def declared(lines):
    found = set()
    inside = False
    for line in lines:
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        if not inside and not line.startswith(("static ", "using ")):
            continue
        match = next(filter(None, (pattern.match(line) for pattern in DECLARED)), None)
        if match:
            found.add("using enum" if match[1] == "enum" else match[1])
        found.update(MORE.findall(line))
    return found


def main():
    groups = []  # (declared, words, how many)
    numbers = []
    for path in sys.argv[1:]:
        text = open(path, encoding="utf-8").read()
        own = declared(text.splitlines())
        words = set(WORD.findall(NOT_CODE.sub("", text))) | own
        for number, (taken, spoken, count) in enumerate(groups):
            if count < MOST and not own & spoken and not words & taken:
                groups[number] = (taken | own, spoken | words, count + 1)
                break
        else:
            number = len(groups)
            groups.append((own, words, 1))
        numbers.append(str(number))
    print(";".join(numbers), end="")


main()
