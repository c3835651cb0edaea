#!/usr/bin/env python3
"""readers.py SEED COUNT OUT: changes to files that run something, judged by the tools themselves.

Writes COUNT pairs of texts per tool to OUT. Each pair says whether the tool (git, make, Python, node, bash, cmake, the
parsers of YAML, JSON, TOML and INI) runs or obeys something after the change that it did not before. If it does, the
readers of src/change/rules must raise an alarm (readers_tools_test.cc).

The texts combine what trips readers: comments that end in a backslash, quotes, lone carriage returns, Unicode line
ends, encodings, continued lines. All of them are harmless: they print a word. Conditions of make and CMake are not among
them: a line within one raises its alarm when it comes, not when the condition goes.
"""
import ast
import base64
import configparser
import json
import os
import random
import site
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

try:
    import tomllib
    import yaml
except ImportError:
    # Another python3 is first in PATH; Debian's has both.
    if sys.executable == '/usr/bin/python3':
        sys.exit('readers.py needs Python 3.11 and yaml: apt-get install python3 python3-yaml')
    os.execv('/usr/bin/python3', ['/usr/bin/python3', *sys.argv])

CLEAN = {'PATH': os.environ['PATH'], 'HOME': '/nonexistent', 'GIT_CONFIG_NOSYSTEM': '1', 'LC_ALL': 'C.UTF-8'}
ODD = ['\r', '\0', '\ufeff', '\u2028', '\u2029', '\x85', '\x0c', '\x0b', '\x1c', '\\', '"', "'", '#', ' ', '\t', '\n']
folder = tempfile.mkdtemp(prefix='cloche-readers-')


def run(arguments, **more):
    return subprocess.run(arguments, env=CLEAN, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                          check=False, **more)


def stored(text, name='file'):
    handle, path = tempfile.mkstemp(prefix=name, dir=folder)
    with os.fdopen(handle, 'wb') as file:
        file.write(text)
    return path


def commands(output):
    return [line for line in output.decode('utf-8', 'replace').splitlines() if line.startswith('R')]


# --- how a tool reads a text; None: it refuses the text

def by_git(text):
    listed = run(['git', 'config', '-f', stored(text), '--list', '-z'])
    if listed.returncode != 0:
        return None
    values = {}
    for entry in listed.stdout.split(b'\0')[:-1]:
        key, _, value = entry.partition(b'\n')
        values[key] = value
    plain = (b'core.sshcommand', b'core.pager', b'core.hookspath', b'include.path')
    return {(key, value) for key, value in values.items()
            if key in plain or (key.startswith(b'alias.') and value.startswith(b'!'))}


def by_make(text):
    made = run(['make', '-s', '-k', '-f', stored(text), 'a'])
    refused = any(word in made.stderr for word in (b'missing separator', b'commences before', b'missing \'endef\'',
                                                   b'missing \'endif\'', b'extraneous', b'empty variable name'))
    return None if refused else set(commands(made.stdout + b'\n' + made.stderr))


def by_bash(text):
    ran = run(['bash', '--norc', '--noprofile', '-c', 'ran() { printf "R%s\\n" "$*"; }; . "$1"', 'bash', stored(text)])
    return tuple(commands(ran.stdout))


def by_python(text):
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, LookupError, UnicodeError, MemoryError, RecursionError):
        return None


def by_site(text):
    executed = []
    site.exec = executed.append
    place = tempfile.mkdtemp(dir=folder)
    with open(os.path.join(place, 'x.pth'), 'wb') as file:
        file.write(text)
    path, stderr = list(sys.path), sys.stderr
    with open(os.devnull, 'w', encoding='utf-8') as sys.stderr:
        try:
            site.addpackage(place, 'x.pth', set())
        except (UnicodeError, ValueError):
            pass
    sys.path, sys.stderr = path, stderr
    return {line.rstrip('\n') for line in executed}


class Loader(yaml.SafeLoader):
    pass


Loader.yaml_implicit_resolvers = {'<': [('tag:yaml.org,2002:merge', __import__('re').compile('^(?:<<)$'))]}
Loader.add_multi_constructor('', lambda loader, _, node: loader.construct_scalar(node) if isinstance(
    node, yaml.ScalarNode) else loader.construct_sequence(node) if isinstance(
        node, yaml.SequenceNode) else loader.construct_mapping(node))


def without_comments(script):
    return '\n'.join(line for line in str(script).split('\n') if line and not line.lstrip().startswith('#'))


def runs_of(node, found, top=True):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == 'run' and not top and not isinstance(value, (dict, list)):
                found.add(without_comments(value))
            runs_of(value, found, False)
    elif isinstance(node, list):
        for value in node:
            runs_of(value, found, False)


def by_yaml(text):
    found = set()
    try:
        for document in yaml.load_all(text, Loader):
            runs_of(document, found)
    except (yaml.YAMLError, UnicodeError, ValueError, TypeError, RecursionError):
        return None
    return found - {'', 'None'}


def by_json(text):
    try:
        scripts = json.loads(text.decode('utf-8-sig')).get('scripts')
    except (ValueError, AttributeError, RecursionError):
        return None
    return {item for item in scripts.items() if isinstance(item[1], str)} if isinstance(scripts, dict) else set()


def by_toml(text):
    try:
        scripts = tomllib.loads(text.decode()).get('project', {}).get('scripts')
    except (ValueError, AttributeError, RecursionError):
        return None
    return {(key, str(value)) for key, value in scripts.items()} if isinstance(scripts, dict) else set()


def by_configparser(text):
    parser = configparser.RawConfigParser(strict=False)
    path = stored(text)
    try:
        with open(path, encoding='utf-8') as file:
            parser.read_file(file)
    except (configparser.Error, UnicodeError, AttributeError):
        return None
    return {(key, line) for section in parser.sections() if section.startswith('options.entry_points')
            for key, value in parser.items(section) for line in str(value).split('\n') if line}


def by_cmake(text):
    return set(commands(run(['cmake', '-P', stored(text)]).stdout))


NODE = r"""
const vm = require('vm');
const texts = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'));
const ranOf = (text) => {
  const ran = [];
  let source = Buffer.from(text, 'base64').toString('utf8');
  if (source.charCodeAt(0) === 0xfeff) source = source.slice(1);
  try {
    new vm.Script(source).runInNewContext({ran: (x) => { ran.push(String(x)); return ''; }}, {timeout: 200});
  } catch (error) {
    if (error instanceof SyntaxError) return null;
  }
  return ran;
};
console.log(JSON.stringify(texts.map(ranOf)));
"""


def all_by_node(texts):
    encoded = json.dumps([base64.b64encode(text).decode() for text in texts])
    ran = run(['node', '-e', NODE, stored(encoded.encode())])
    ran.check_returncode()
    return [None if each is None else tuple(each) for each in json.loads(ran.stdout)]


def one_by_one(judge):
    def judged(texts):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(judge, texts))
    return judged


# --- the texts

GIT = ['[core]', '[alias]', '[Alias]', '[alias "st"]', '[core "x"]', '[include]', '[alias] st = !R1', '[core]pager=R2 # c',
       'sshCommand = R3', 'pager = "R4" ; c', 'hooksPath = R5 \\', '  and more', 'path = R6', 'st = "!R7" ; c', 'st = !R8',
       'st = "!"R9', 'st = log', 'st = \\"!R10', 'co = " !R11"', 'ci = "a;b" # !R12', 'bare = true', 'bare', 'PAGER = R13',
       '# c', '; c', '# c \\', '; c \\\\', '\t# c\\', 'bare = a # c \\', 'bare = "a \\', 'bare = \\\\', 'bare = x\\t',
       '# c\rst = !R14', '[a]', '[', ']', '[alias "a\\"b"]', '[alias "]"] st = !R15', '']
MAKE = ['\t@true; echo R1', '\t@true; echo R2', '# c', '# c \\', '# c \\\\', '# c \\\\\\', '\t# c \\', '\t# c', '  # c \\',
        'X = 1', 'X = 1 \\', 'X = $(shell echo R3 >&2)', 'X := $(shell echo R4 >&2)', 'X != echo R5 >&2',
        'override export X := $(shell echo R6 >&2)', 'define d', 'endef', '\tendef', 'define e', 'true; echo R7', '\t$(d)',
        '\t$(e)', '\t@true; echo R8 \\', '\t\tR9', ' R10', '.RECIPEPREFIX = >', '>@true; echo R11', '\t# $(shell echo R12 >&2)',
        '\t@true; \\', '\ttrue; echo R13', '# c\r\t@true; echo R14', '\t@true; echo R15 # c', '', '\t',
        '\t@true; echo "R16', 'R17"', '.ONESHELL:', '\t@true; echo R18 \\\\']
BASH = ['# c', '# c \\', 'ran 1', 'ran 2 \\', '', 'ran 3 \\ ', "'", '"', 'cat <<E', 'E', ' E', 'ran 4; #c', 'ran "5', "ran '6",
        '#c', ' # c', 'if false; then', 'fi', 'ran 7 # c \\', 'ran "$(ran 8', ')"', 'ran $(( 1 << 2 ))', 'x=${y#z} ran 9',
        'ran "a`echo \'"\'`"', '# don\'t', 'eval "', '#ran 10', 'ran 11', 'ran 12\\', '#13', "ran $'14\\''", 'f() {', '}']
PYTHON = ['# c', '# c \\', 'ran(1)', 'x = 1 \\', '', '"""', "'''", 'x = """', 'if 0:', '    ran(2)', '\tran(3)', 'ran(4)  # c',
          '# coding: utf-7', '# -*- coding: latin-1 -*-', '# coding=utf_16', '#+AAo-ran(5)', 's = "# no"', "s = '\\",
          "#'", '# """', "r'\\'", 'f"{1}"', "f'{x!r:#}'", 'x = (', ')', '# c\rran(6)', '# c\x0cran(7)', '# \u2028ran(8)',
          '\\', 'ran(9) # """', 'b"""', '"""; ran(10)', '# vim: fileencoding=cp037', 'else:', 'ран(11)', '#']
PTH = ['lib', 'import sys', ' import sys', 'import\tos', 'importx', '# import os', '#', '#\rimport io', 'lib\rimport ast',
       'lib\x0cimport abc', 'lib\u2028import re', '\ufeffimport this', 'import a; b', '', '\x0c', 'x # import y']
JS = ['// c', '/*', '*/', 'ran(1)', 'ran(2);', '// */ ran(3)', '`', '${ran(4)}', "'//'", '"//"', '// c \\', "x = '\\", "'",
      '// c\rran(5)', '// c\u2028ran(6)', '// c\u2029ran(7)', '// c\x85ran(8)', '<!-- c', '--> c', '/`/', '/"/', '"`"',
      '#!x', 'var x = 1', '', 'if (0)', '{', '}', '//', '/**/ ran(9)', "'`'", 'ran(10) // `', '\\u0072an(11)']
YAML = ['jobs:', '  a:', '    steps:', '    - run: R1', '      run: R2', '      name: x', '    - run: |', '        R3', '        # c',
        '          R4', '    - {run: R5}', '    - {name: x, run: "R6"}', '    - *x', '    - &x {run: R7}', '    - &y',
        '      run: R8', '    - <<: *y', '      <<: *x', 'x: "', '  run: R9', '"', "y: 'it''s", "'", '---', '...', '# c',
        '# c\rrun: R10', '    - "r\\u0075n": R11', '    ? run', '    : R12', '\trun: R13', '    - run: >-', '        R14',
        '    - name: a # b', 'run: !!str R15', '%YAML 1.1', '    - [run: R16]', 'a: b\u2028run: R17', 'x-c: &c R18', 'run: *c',
        '    - run: R19 # c', '    - run: a #b', "    - 'run': R20", '    - run : R21', '    - name: |2', '    - run:', '        R22',
        '       - R23', '    - - run: R24', '    - name: "a', '        b"', '[run: R25]', '{run: R26,', '  a: b}', 'run: &z R27',
        'c: *z', '']
TOML = ['[project]', '[project.scripts]', '[project."scripts"]', '[ project . scripts ]', 'a = "R1"', "b = 'R2'",
        'scripts.c = "R3"', 'scripts = {d = "R4"}', '"scripts".e = "R5"', '"scr\\u0069pts".f = "R6"', 'g = """', '"""', "h = '''",
        "'''", '# c', '# c \\', '[[x]]', 'i = [', ']', '"a # b" = 1', 'j = "R7" # c', 'k = 1', 'project.scripts.l = "R8"',
        '# c\rm = "R9"', '# \x85', 'n = "a\\', '', '[x]', "o = '''a'''", 'p = {', '}']
INI = ['[options.entry_points]', '[metadata]', '[DEFAULT]', 'console_scripts =', '  a = R1:x', '\tb = R2:x', 'gui = c=R3:x',
       'name = x', 'name: y', '# c', '; c', '# c \\', 'x = y \\', '  # c', '  ; c', '[options.entry_points] # c',
       '  [metadata]', '[options.entry_points.x]', 'k', ' = v', '# c\rz = R4', 'z = R5 # c', '"z" = R6', '', ' ',
       '[metadata]]', '[[metadata]', 'console_scripts: R7', ' deeper = R8', '  R9']
CMAKE = ['execute_process(COMMAND echo R1)', 'EXECUTE_PROCESS (COMMAND echo R2)', '#[[', ']]', '# c', '#[==[', ']==]', 'message("',
         '")', 'set(x [[', ']])', 'execute_process(COMMAND echo "R3', 'a")', 'set(y x[[ )', 'set(z a#b', ')', '# c \\',
         'set(w \\")', 'set(v \\#)', '# c\rexecute_process(COMMAND echo R4)', '#[[ c ]] execute_process(',
         'COMMAND echo R5)', 'set(u "\\"")', '', 'execute_process(COMMAND echo R6) # c', 'set(t [=[ ]] ]=])']


# Beginnings that a tool accepts, so that it does not refuse every text.
BEGINNINGS = {
    'git': ['[alias]', '[core]', '[alias]|st = log', '[core]|bare = true'],
    'yaml': ['jobs:|  a:|    steps:|    - run: R1', 'jobs:|  a:|    steps:', 'jobs:|  a:|    steps:|    - name: x|      run: R0',
             'x:|- &x {run: R7}|- &y|  run: R8|jobs:|  a:|    steps:'],
    'toml': ['[project.scripts]', '[project]', '[project.scripts]|q = "R0"', '[project]|k = 1'],
    'configparser': ['[options.entry_points]', '[metadata]', '[options.entry_points]|console_scripts ='],
    'cmake': ['execute_process(COMMAND echo R1)', 'set(x [[|]])'],
    'make': ['a:', 'a:', 'a:|\t@true; echo R1', 'define d|endef|a:'],
}


def lines_text(chance, pieces, name):
    first = chance.choice([*BEGINNINGS.get(name, []), '']) if name != 'make' else chance.choice(BEGINNINGS[name])
    return [*(first.split('|') if first else []), *(chance.choice(pieces) for _ in range(chance.randint(0, 5)))]


def changed(chance, lines, pieces, fixed):
    lines = list(lines)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        at = chance.randint(fixed, len(lines))
        action = chance.randint(0, 4)
        if action <= 1 or at >= len(lines):
            lines.insert(at, chance.choice(pieces))
        elif action == 2:
            del lines[at]
        elif action == 3:
            lines[at] = chance.choice(pieces)
        else:
            column = chance.randint(0, len(lines[at]))
            lines[at] = lines[at][:column] + chance.choice(ODD) + lines[at][column + chance.randint(0, 1):]
    return lines


def encoded(chance, lines, end):
    text = end.join(lines) + chance.choice([end, end, ''])
    odd = chance.randint(0, 60)
    if odd == 0:
        return text.encode('utf-16')
    if odd == 1:
        return b'\xef\xbb\xbf' + text.encode()
    if odd == 2:
        return text.encode('utf-8').replace(b'c', b'\xe9', 1)
    return text.encode()


JSON_KEYS = ['"scripts"', '"scr\\u0069pts"', '"bin2"', '"Scripts"', '"x"', '"scripts.a"']


def json_text(chance):
    def value(depth):
        kind = chance.randint(0, 3 if depth < 3 else 1)
        if kind == 0:
            return f'"R{chance.randint(1, 6)}"'
        if kind == 1:
            return chance.choice(['1', 'null', '"a\\"b"', '"// c"', '"/*"', '"\\u002f"'])
        items = ', '.join(f'{chance.choice(JSON_KEYS + [chr(34) + "a" + chr(34)])}: {value(depth + 1)}'
                          for _ in range(chance.randint(0, 3)))
        return '{' + items + chance.choice(['', '', '', ',', ' // c\n', '/* c */']) + '}'
    items = ', '.join(f'{chance.choice(JSON_KEYS)}: {value(1)}' for _ in range(chance.randint(0, 3)))
    return '{' + items + '}'


TOOLS = [
    # name, path the text is judged as, judge of all texts, pieces, weight
    ('git', '.git/config', one_by_one(by_git), GIT, 1),
    ('make', 'Makefile', one_by_one(by_make), MAKE, 1),
    ('bash', '/h/u/.bashrc', one_by_one(by_bash), BASH, 1),
    ('python', 'sitecustomize.py', lambda texts: [by_python(text) for text in texts], PYTHON, 4),
    ('site', 'x.pth', lambda texts: [by_site(text) for text in texts], PTH, 2),
    ('node', '.pnpmfile.cjs', all_by_node, JS, 4),
    ('yaml', '.github/workflows/a.yml', lambda texts: [by_yaml(text) for text in texts], YAML, 6),
    ('json', 'package.json', lambda texts: [by_json(text) for text in texts], None, 4),
    ('toml', 'pyproject.toml', lambda texts: [by_toml(text) for text in texts], TOML, 4),
    ('configparser', 'setup.cfg', lambda texts: [by_configparser(text) for text in texts], INI, 4),
    ('cmake', 'CMakeLists.txt', one_by_one(by_cmake), CMAKE, 1),
]


# These readers are lenient: lines of a file that a tool refused raised their alarm when they were added, not when the
# file is repaired.
LENIENT = ('make', 'configparser')


def must_alarm(name, before, after):
    if after is None or after == before or (before is None and name in LENIENT):
        return False
    if isinstance(after, set):
        return bool(after - (before or set()))
    nothing = () if isinstance(after, tuple) else by_python(b'')
    return after != (nothing if before is None else before)


def pairs(chance, name, pieces, count):
    for _ in range(count):
        if pieces is None:
            before = json_text(chance)
            after = json_text(chance) if chance.randint(0, 1) else before.replace('R1', 'R2').replace('"x"', '"scripts"')
            yield before.encode(), encoded(chance, [after], '')
            continue
        lines = lines_text(chance, pieces, name)
        end = chance.choice(['\n', '\n', '\n', '\n', '\r\n'])
        yield (encoded(chance, lines, end) if chance.randint(0, 5) else end.join(lines).encode(),
               encoded(chance, changed(chance, lines, pieces, 1 if name == 'make' else 0), end))


def main():
    seed, count, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    only = sys.argv[4:]
    with open(out, 'wb') as file:
        for name, path, judge, pieces, often in TOOLS:
            if only and name not in only:
                continue
            cases = list(pairs(random.Random(f'{seed} {name}'), name, pieces, count * often))
            judged = judge([text for case in cases for text in case])
            for i, (before, after) in enumerate(cases):
                must = must_alarm(name, judged[2 * i], judged[2 * i + 1])
                file.write(f'{name} {path} {int(must)} {len(before)} {len(after)}\n'.encode() + before + after)
    subprocess.run(['rm', '-rf', folder], check=True)


main()
