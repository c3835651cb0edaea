"""walk.py ROOT: runs inside a sandbox; prints everything about a tree that a program can distinguish."""
import hashlib
import os
import stat
import sys

root = sys.argv[1].encode()


def digest(path, info):
    try:
        if stat.S_ISLNK(info.st_mode):
            return os.readlink(path)
        if stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(
                    hashlib, "file_digest") else hashlib.sha256(file.read()).hexdigest()
    except PermissionError:
        return "unreadable"
    return ""


def attributes(path):
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False)
                for name in sorted(os.listxattr(path, follow_symlinks=False))}
    except OSError as error:
        return error.errno


groups = {}
paths = [root]
for here, directories, files in os.walk(root, onerror=lambda error: print("cannot list", error)):
    paths += [os.path.join(here, name) for name in directories + files]
for path in sorted(paths):
    info = os.lstat(path)
    linked = stat.S_ISREG(info.st_mode)
    print(path, oct(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns,
          info.st_size if not stat.S_ISDIR(info.st_mode) else "-",
          info.st_nlink if linked else "-", info.st_rdev, digest(path, info), attributes(path))
    if linked and info.st_nlink > 1:
        groups.setdefault((info.st_dev, info.st_ino), []).append(path)
print("links:")
for group in sorted(groups.values()):
    print("one file:", group)
