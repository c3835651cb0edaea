"""field.py PATH: prints one value of the JSON on standard input; a.b.0, # is the length."""
import json
import sys

text = sys.stdin.read()
try:
    value = json.loads(text)
except ValueError:
    print("not JSON")
    sys.exit(0)
for part in sys.argv[1].split("."):
    if part == "#":
        value = len(value)
    elif isinstance(value, list):
        value = value[int(part)] if -len(value) <= int(part) < len(value) else None
    elif isinstance(value, dict):
        value = value.get(part)
    else:
        value = None
print(value if isinstance(value, str) else json.dumps(value))
