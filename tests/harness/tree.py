"""Everything a person can see of a file tree, to compare it with itself later."""
import os
import stat


def attributes(path):
    try:
        return {name: os.getxattr(path, name, follow_symlinks=False)
                for name in os.listxattr(path, follow_symlinks=False)}
    except OSError:
        return {}


def start(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except PermissionError:
        return None


def seen(top, times=True):
    """By path below `top`: type, mode, owner, time of modification, content, attributes, and which
    other names the same file has. Not the top itself."""
    found, groups = {}, {}
    top = os.fsencode(top)

    def walk(directory):
        for entry in sorted(os.scandir(directory), key=lambda each: each.name):
            info = entry.stat(follow_symlinks=False)
            name = os.path.relpath(entry.path, top)
            first = groups.setdefault(info.st_ino, name) if info.st_nlink > 1 else None
            said = [oct(info.st_mode), info.st_uid, info.st_gid, attributes(entry.path),
                    info.st_mtime_ns if times else None]
            if stat.S_ISDIR(info.st_mode):
                walk(entry.path)
            elif stat.S_ISLNK(info.st_mode):
                said.append(os.readlink(entry.path))
            elif stat.S_ISREG(info.st_mode):
                said += [info.st_nlink, first, info.st_size, start(entry.path)]
            found[name] = said
    walk(top)
    return found


def difference(one, other):
    """A few lines for a person."""
    lines = []
    for name in sorted(set(one) | set(other)):
        if one.get(name) != other.get(name):
            lines.append(f"{name}: {one.get(name)} / {other.get(name)}")
    return lines[:6]
