"""moving_reality.py make|edit|read|final: files that the host changes while a sandbox reads them.

A file holds one generation: the same eight digits again and again. So each read shows whether it is whole.
"""
import collections
import errno
import itertools
import os
import shutil
import sys

# Times eight bytes. In place only little is written at once: of a large write any reader, outside too, may see
# a part.
LARGE, SMALL = 32768, 4
FOLDERS = ["plain", "merged"]  # nothing, and something, is changed inside


def text(generation, times):
    return b"%08d" % generation * times


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def put(path, data):
    write(path + "~", data)
    os.rename(path + "~", path)


def put_folder(path, generation):
    """Another directory of the same name."""
    os.mkdir(path + "~")
    write(path + "~/file", text(generation, LARGE))
    if os.path.exists(path):
        os.rename(path, path + ".old")
    os.rename(path + "~", path)
    shutil.rmtree(path + ".old", ignore_errors=True)


def make():
    for folder in FOLDERS:
        os.makedirs(folder)
        for name in "replaced", "deleted", "held":
            write(f"{folder}/{name}", text(0, LARGE))
        for name in "edited", "cut":
            write(f"{folder}/{name}", text(0, SMALL))
        put_folder(f"{folder}/folder", 0)
    write("both", b"0")
    write("same", b"same\n")


def overwrite(path, data, flags=0):
    handle = os.open(path, os.O_WRONLY | flags)
    os.write(handle, data)
    os.close(handle)


def edit_once(folder, generation):
    put(f"{folder}/replaced", text(generation, LARGE))
    overwrite(f"{folder}/edited", text(generation, SMALL))
    overwrite(f"{folder}/cut", text(generation, SMALL), os.O_TRUNC)
    os.unlink(f"{folder}/deleted")
    put(f"{folder}/deleted", text(generation, LARGE))
    put(f"{folder}/held", text(generation, LARGE))
    put_folder(f"{folder}/folder", generation)


def forget_names():
    """The kernel looks everything up again."""
    try:
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("2")
    except OSError:
        pass


def edit(end):
    """Until there is a file of this name. Prints how often."""
    for generation in itertools.count(1):
        for folder in FOLDERS:
            edit_once(folder, generation)
        if generation % 100 == 0:
            forget_names()
        if os.path.exists(end):
            break
    overwrite("both", b"1")
    os.unlink("same")
    print(generation)


def look(data, times):
    """Classifies the bytes of a read."""
    if data == b"":
        return "empty"
    if len(data) == 8 * times and data == data[:8] * times:
        return "whole"
    return f"torn({len(data)}:{data[:8].decode()}..{data[-8:].decode()})"


def read(rounds):
    """Prints what was seen of each file."""
    seen = collections.defaultdict(set)

    def note(path, reader, times):
        try:
            seen[path].add(look(reader(), times))
        except OSError as error:
            seen[path].add(errno.errorcode[error.errno])

    def whole(path):
        with open(path, "rb", buffering=0) as file:
            return file.read()

    held = {folder: os.open(f"{folder}/held", os.O_RDONLY) for folder in FOLDERS}
    for _ in range(rounds):
        for folder in FOLDERS:
            for name in "replaced", "deleted", "folder/file":
                note(f"{folder}/{name}", lambda: whole(f"{folder}/{name}"), LARGE)
            for name in "edited", "cut":
                note(f"{folder}/{name}", lambda: whole(f"{folder}/{name}"), SMALL)
            note(f"{folder}/held", lambda: os.pread(held[folder], 1 << 20, 0), LARGE)
            note(f"{folder}/", lambda: b"" if os.listdir(folder) else b"torn", SMALL)
    for path, what in seen.items():
        print(path, *sorted(what))


def final():
    """Prints the generation of each file."""
    for folder in FOLDERS:
        for name in "replaced", "deleted", "held", "edited", "cut", "folder/file":
            with open(f"{folder}/{name}", "rb") as file:
                print(folder, name, int(file.read(8)))
    with open("both") as file:
        print("both", file.read().strip())


{"make": make, "edit": edit, "read": lambda rounds: read(int(rounds)), "final": final}[sys.argv[1]](*sys.argv[2:])
