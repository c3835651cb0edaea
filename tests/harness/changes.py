"""changes.py kinds|links ROOT < `cloche diff --json`: what it says, relative to ROOT."""
import json
import sys

what, root = sys.argv[1], sys.argv[2] + "/"
changes = json.load(sys.stdin)["changes"]
paths = [change["path"] for change in changes]
if len(set(paths)) != len(paths):
    sys.exit("a path is there twice")


def relative(path):
    name = path[len(root):] if path.startswith(root) else path
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


if what == "kinds":
    for change in changes:
        origin = f' from {relative(change["old_path"])}' if "old_path" in change else ""
        print(change["kind"], relative(change["path"]) + origin)
else:
    files = [change["new"] for change in changes
             if change["path"].startswith(root) and change["new"]["type"] == "file"]
    inodes = {file.get("hard_link", id(file)) for file in files}
    print(f"{len(files)} files, {len(inodes)} inode{'s' if len(inodes) != 1 else ''}")
