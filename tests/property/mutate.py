"""mutate.py ROOT SEED COUNT: runs inside a sandbox and makes COUNT random changes below ROOT.

Changes that the kernel refuses do not happen, which is as good a test as any.
"""
import os
import random
import shutil
import sys

root, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
dice = random.Random(seed)
am_root = os.getuid() == 0
names = ["a", "b", "c", "d.txt", "ü", "with space", "x" * 255, "-", "\x01", ".hidden"]


def entries():
    found = []
    for here, directories, files in os.walk(root):
        found += [os.path.join(here, name) for name in directories + files]
    return sorted(found)


def directories():
    return [root] + [each for each in entries() if os.path.isdir(each) and not os.path.islink(each)]


def files():
    return [each for each in entries() if os.path.isfile(each) and not os.path.islink(each)]


def new_path():
    return os.path.join(dice.choice(directories()), dice.choice(names) + dice.choice(["", "1", "2"]))


def content():
    return dice.randbytes(dice.choice([0, 1, 100, 4096, 70_000]))


# Opening a pipe that nobody reads would block forever.
def opener(path, flags):
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def write(path, mode):
    with open(path, mode, opener=opener) as file:
        file.write(content())


def any_of(choices):
    return dice.choice(choices)  # IndexError if there is none: no change


def sparse():
    with open(new_path(), "wb", opener=opener) as file:
        file.seek(dice.choice([4096, 1 << 20, 1 << 25]))
        file.write(b"end")
        file.truncate(file.tell() + dice.choice([0, 1 << 20]))


def overwrite():
    with open(any_of(files()), "r+b") as file:
        file.seek(dice.randrange(0, 5000))
        file.write(content())


def replace():
    path = any_of(entries())
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        write(path, "wb")
    else:
        os.unlink(path)
        os.mkdir(path)
        write(os.path.join(path, "inside"), "wb")


def change_mode():
    path = any_of(entries())
    if os.path.islink(path):
        return
    mode = dice.choice([0o644, 0o600, 0o755, 0o400, 0o4755, 0o2750, 0o1777, 0o000, 0o444])
    os.chmod(path, mode | (0o700 if os.path.isdir(path) else 0))


def attributes():
    path, name = any_of(entries()), dice.choice(["user.one", "user.two", "user.ü"])
    if dice.random() < 0.3:
        os.removexattr(path, name, follow_symlinks=False)
    else:
        os.setxattr(path, name, dice.randbytes(dice.choice([0, 10, 900])), follow_symlinks=False)


def change_owner():
    if am_root:
        os.chown(any_of(entries()), dice.choice([0, 1, 1000]), dice.choice([0, 5, 1000]),
                 follow_symlinks=False)


def times():
    moment = dice.randrange(10**17, 2 * 10**18)
    os.utime(any_of(entries()), ns=(moment, moment), follow_symlinks=False)


def remove_directory():
    path = any_of(directories()[1:])
    if dice.random() < 0.4:
        shutil.rmtree(path)
    else:
        os.rmdir(path)


operations = [
    lambda: write(new_path(), "wb"), lambda: write(new_path(), "wb"), lambda: write(new_path(), "xb"),
    lambda: write(any_of(files()), "ab"), lambda: write(any_of(files()), "ab"), overwrite, overwrite,
    lambda: os.truncate(any_of(files()), dice.choice([0, 1, 5000, 1 << 20])),
    lambda: os.rename(any_of(files()), new_path()), lambda: os.rename(any_of(entries()), new_path()),
    lambda: os.unlink(any_of(entries())), lambda: os.unlink(any_of(files())), remove_directory,
    lambda: os.mkdir(new_path()), lambda: os.makedirs(os.path.join(new_path(), "deep", "deeper")),
    lambda: os.symlink(dice.choice(["a", "/etc/passwd", "nowhere", "../x", "x" * 4000]), new_path()),
    lambda: os.link(any_of(files()), new_path()), lambda: os.link(any_of(files()), new_path()),
    lambda: os.mkfifo(new_path()), sparse, replace, change_mode, change_mode, attributes, attributes,
    change_owner, times,
]
done = 0
for _ in range(count):
    try:
        dice.choice(operations)()
        done += 1
    except (OSError, IndexError, shutil.Error):
        pass
print(done)
