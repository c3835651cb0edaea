"""rearrange.py ROOT SEED COUNT: runs inside a sandbox and makes COUNT random changes below ROOT, mostly moves. Prints
the tree before and after, each as a dictionary by path.

Changes that the kernel refuses do not happen, which is as good a test as any.
"""
import base64
import ctypes
import hashlib
import json
import os
import random
import shutil
import socket
import stat
import sys

NAMES = ["a", "b", "c", "d", "e f", "ü", "z.txt"]
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "char", stat.S_IFBLK: "block"}
RENAME_EXCHANGE, AT_FDCWD = 2, -100
libc = ctypes.CDLL(None, use_errno=True)


def describe(path):
    info = os.lstat(path)
    kind = KINDS[stat.S_IFMT(info.st_mode)]
    side = {"type": kind, "mode": f"{stat.S_IMODE(info.st_mode):04o}", "uid": info.st_uid, "gid": info.st_gid}
    if kind == "file":
        with open(path, "rb") as file:
            content = file.read()
        side |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        if info.st_nlink > 1:
            side["hard_link"] = f"{info.st_dev}:{info.st_ino}"
    elif kind == "symlink":
        side |= {"mode": "0777", "target": os.readlink(path)}
    elif kind in ("char", "block"):
        side["rdev"] = f"{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}"
    attributes = {name: base64.b64encode(os.getxattr(path, name, follow_symlinks=False)).decode()
                  for name in os.listxattr(path, follow_symlinks=False)}
    if attributes:
        side["xattrs"] = attributes
    return side


def entries(root):
    found = []
    for here, directories, files in os.walk(root):
        found += [os.path.join(here, name) for name in directories + files]
    return sorted(found)


def listing(root):
    return {path: describe(path) for path in [root] + entries(root)}


class Rearranger:
    """Changes a tree. Each method is one kind of change."""

    def __init__(self, root, seed):
        self.root, self.dice = root, random.Random(seed)

    def any(self, wanted=lambda path: True):
        return self.dice.choice([path for path in entries(self.root) if wanted(path)])

    def directory(self):
        return self.dice.choice([self.root] + [p for p in entries(self.root) if is_directory(p)])

    def place(self):
        return os.path.join(self.directory(), self.dice.choice(NAMES))

    def text(self):
        lines = [f"line {self.dice.randrange(9)}\n" for _ in range(self.dice.choice([0, 1, 2, 12]))]
        return "".join(lines) + self.dice.choice(["", "", "no newline"])

    def write(self):
        path = self.place()
        if not os.path.lexists(path) or is_file(path):
            put(path, self.text())

    def edit(self):
        path = self.any(is_file)
        with open(path) as file:
            lines = file.readlines()
        lines.insert(self.dice.randrange(len(lines) + 1), f"edited {self.dice.randrange(9)}\n")
        put(path, "".join(lines))

    def only_open(self):
        with open(self.any(is_file), "r+"):
            pass

    def only_touch(self):
        os.utime(self.any())

    def make_directory(self):
        os.makedirs(os.path.join(self.place(), *self.dice.sample(NAMES, self.dice.randrange(3))), exist_ok=True)

    def remove(self):
        remove(self.any())

    def rename(self):
        os.rename(self.any(), self.place())

    def rename_directory(self):
        os.rename(self.any(is_directory), self.place())

    def rename_over_deleted(self):
        source, target = self.any(is_directory), self.any()
        if not target.startswith(source + "/") and not (source + "/").startswith(target + "/"):
            remove(target)
            os.rename(source, target)

    def there_and_back(self):
        source, target = self.any(), self.place()
        if not os.path.lexists(target):
            os.rename(source, target)
            os.rename(target, source)

    def swap(self):
        one, other = self.any(), self.any()
        nested = (one + "/").startswith(other + "/") or (other + "/").startswith(one + "/")
        if nested or libc.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE) == 0:
            return
        os.rename(one, self.root + "/swapping")
        os.rename(other, one)
        os.rename(self.root + "/swapping", other)

    def swap_directories(self):
        directories = [path for path in entries(self.root) if is_directory(path)]
        one, other = self.dice.sample(directories, 2)
        if (one + "/").startswith(other + "/") or (other + "/").startswith(one + "/"):
            return
        os.rename(one, self.root + "/swapping")
        os.rename(other, one)
        os.rename(self.root + "/swapping", other)

    def copy(self):
        source, target = self.any(is_directory), self.place()
        if not os.path.lexists(target) and not (target + "/").startswith(source + "/"):
            shutil.copytree(source, target, symlinks=True)

    def make_anew(self):
        path = self.any(is_directory)
        kept = [name for name in sorted(os.listdir(path)) if self.dice.random() < 0.5]
        remove(path)
        os.mkdir(path)
        for name in kept:
            put(os.path.join(path, name), self.text())

    def other_kind(self):
        path = self.any()
        was_directory = is_directory(path)
        remove(path)
        if was_directory or self.dice.random() < 0.5:
            self.dice.choice([lambda: put(path, self.text()), lambda: os.symlink("a", path), lambda: os.mkfifo(path)])()
        else:
            os.mkdir(path)
            put(os.path.join(path, self.dice.choice(NAMES)), self.text())

    def link(self):
        os.link(self.any(is_file), self.place())

    def symlink(self):
        os.symlink(self.dice.choice(["a", "../b", "/nowhere", "long" * 20]), self.place())

    def pipe(self):
        os.mkfifo(self.place())

    def listen(self):
        os.chdir(self.directory())
        socket.socket(socket.AF_UNIX).bind(self.dice.choice(NAMES))

    def device(self):
        os.mknod(self.place(), self.dice.choice([stat.S_IFCHR, stat.S_IFBLK]) | 0o600, os.makedev(1, 3))

    def change_mode(self):
        path = self.any(lambda path: not os.path.islink(path))
        os.chmod(path, self.dice.choice([0o700, 0o755, 0o1777, 0o2750] if is_directory(path)
                                        else [0o600, 0o644, 0o755, 0o4755, 0o640]))

    def change_owner(self):
        os.chown(self.any(), self.dice.choice([0, 1, 1000]), self.dice.choice([0, 7]), follow_symlinks=False)

    def set_attribute(self):
        path = self.any(lambda path: is_file(path) or is_directory(path))
        os.setxattr(path, self.dice.choice(["user.one", "user.two"]), self.dice.randbytes(self.dice.choice([0, 3, 200])))

    def remove_attribute(self):
        path = self.any(lambda path: (is_file(path) or is_directory(path)) and os.listxattr(path))
        os.removexattr(path, os.listxattr(path)[0])

    def once(self):
        changes = [each for name, each in sorted(vars(Rearranger).items())
                   if name not in ("__init__", "any", "directory", "place", "text", "once") and callable(each)]
        try:
            self.dice.choice(changes)(self)
        except (OSError, IndexError, ValueError, shutil.Error):
            pass
        if os.path.lexists(self.root + "/swapping"):  # refused halfway
            remove(self.root + "/swapping")


def is_directory(path):
    return os.path.isdir(path) and not os.path.islink(path)


def is_file(path):
    return os.path.isfile(path) and not os.path.islink(path)


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def remove(path):
    if is_directory(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def main():
    root, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.umask(0o022)
    before = listing(root)
    rearranger = Rearranger(root, seed)
    for _ in range(count):
        rearranger.once()
    json.dump({"before": before, "after": listing(root)}, sys.stdout)


if __name__ == "__main__":
    main()
