"""A battery of file system calls: prints, for each case, what the file system answered.

posix.py DIRECTORY: in it `lower` must have been made by `posix.py --lower DIRECTORY`, before a copy of it was taken.
Run outside and inside, the answers must be the same, but for the table of docs/file-system.md.
"""
import ctypes
import errno
import fcntl
import os
import socket
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CASES = {}
LONG = "n" * 255


def case(function):
    CASES[function.__name__.replace("_", ".", 1).replace("_", "-")] = function
    return function


def answer(call, *arguments, **words):
    """The result of a call: ok, a small number, or the name of its errno."""
    try:
        result = call(*arguments, **words)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "ok" if result is None else str(result)


def c(function, *arguments):
    result = function(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), function.__name__)


def make(name, mode=0o644, content=b""):
    descriptor = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
    os.write(descriptor, content)
    os.close(descriptor)
    return name


def opened(name, flags, mode=0o644):
    os.close(os.open(name, flags, mode))


def mode_of(name):
    return oct(os.lstat(name).st_mode & 0o7777)


def rename2(old, new, flags):
    c(LIBC.renameat2, -100, old.encode(), -100, new.encode(), flags)


def each(names, call):
    """The answers for several arguments, in one word."""
    return ",".join(answer(call, name) for name in names)


# --- open


@case
def open_errors():
    make("file"), os.mkdir("dir"), os.symlink("file", "link"), os.symlink("none", "dangling")
    return ",".join(
        answer(opened, name, flags)
        for name, flags in (
            ("none", os.O_RDONLY), ("file/x", os.O_RDONLY), ("file/", os.O_RDONLY), ("dir", os.O_WRONLY),
            ("file", os.O_DIRECTORY), ("link", os.O_NOFOLLOW), ("file", os.O_CREAT | os.O_EXCL),
            ("dangling", os.O_CREAT | os.O_EXCL), ("dir/", os.O_CREAT), (LONG + "x", os.O_CREAT), (LONG, os.O_CREAT),
            ("d/" * 2100, os.O_RDONLY), ("", os.O_RDONLY), ("new/", os.O_CREAT)))


@case
def open_loop():
    os.symlink("b", "a"), os.symlink("a", "b")
    return answer(opened, "a", os.O_RDONLY)


@case
def open_unnamed():
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(descriptor, b"data")
    result = answer(c, LIBC.linkat, -100, f"/proc/self/fd/{descriptor}".encode(), -100, b"named", 0x400)
    return result + str(os.stat("named").st_size)


@case
def open_mode():
    os.umask(0o027)
    make("file", 0o7777), os.mkdir("dir", 0o7777)
    os.umask(0o022)
    return mode_of("file") + mode_of("dir")


@case
def open_unlinked():
    descriptor = os.open(make("file", content=b"still"), os.O_RDWR)
    os.unlink("file")
    return os.read(descriptor, 9).decode() + str(os.fstat(descriptor).st_nlink)


@case
def open_append():
    descriptor = os.open(make("file", content=b"one"), os.O_WRONLY | os.O_APPEND)
    os.lseek(descriptor, 0, os.SEEK_SET), os.write(descriptor, b"two")
    return open("file").read()


# --- directories


@case
def directory_errors():
    make("file"), os.mkdir("dir"), os.mkdir("full"), make("full/x"), os.symlink("none", "dangling")
    return each(["dir", "file", "none/x", "file/x", LONG + "x", "dangling", "slash/"], os.mkdir) + ";" + each(
        ["full", "file", "none", ".", "dir/.", "dir/..", "slash"], os.rmdir)


@case
def directory_links():
    os.mkdir("dir"), os.mkdir("dir/one"), os.mkdir("dir/two")
    return str(os.stat("dir").st_nlink)


@case
def directory_entries():
    os.mkdir("dir")
    for name in ("a", "b", LONG):
        make(f"dir/{name}")
    os.unlink("dir/b")
    known = {entry.name: entry.inode() for entry in os.scandir("dir")}
    return ",".join(sorted(known)).replace(LONG, "LONG") + str(all(os.stat(f"dir/{n}").st_ino == i for n, i in known.items()))


@case
def directory_removed():
    os.mkdir("dir")
    descriptor = os.open("dir", os.O_RDONLY)
    os.rmdir("dir")
    return answer(os.mkdir, "x", dir_fd=descriptor) + answer(os.listdir, descriptor)


@case
def directory_inherits_group():
    os.mkdir("dir"), os.chmod("dir", 0o2755), os.mkdir("dir/below")
    return mode_of("dir") + mode_of("dir/below")


# --- rename


@case
def rename_errors():
    make("file"), make("other"), os.mkdir("dir"), os.mkdir("empty"), os.mkdir("full"), make("full/x")
    pairs = (("file", "dir"), ("dir", "file"), ("dir", "full"), ("dir", "dir/below"), ("none", "x"), ("file", "none/x"),
             ("file", "other/x"), ("file", LONG + "x"), (".", "x"), ("dir", "."), ("dir", "empty"), ("file", "other"), ("other", "slash/"))
    return ",".join(answer(os.rename, old, new) for old, new in pairs) + ";" + ",".join(sorted(os.listdir(".")))


@case
def rename_flags():
    make("a", content=b"a"), make("b", content=b"b"), os.mkdir("dir"), make("dir/x")
    first = answer(rename2, "a", "b", 1), answer(rename2, "a", "b", 2), open("a").read(), answer(rename2, "a", "dir", 2)
    return ",".join(first) + str(os.path.isdir("a")) + answer(rename2, "a", "none", 2) + answer(rename2, "b", "c", 3)


@case
def rename_same_file():
    make("a"), os.link("a", "b")
    return answer(os.rename, "a", "b") + ",".join(sorted(os.listdir(".")))


@case
def rename_keeps():
    make("a", content=b"kept"), os.utime("a", ns=(10**18 + 1, 10**18 + 2))
    inode = os.stat("a").st_ino
    os.rename("a", "b")
    return f"{os.stat('b').st_ino == inode} {os.stat('b').st_mtime_ns}"


# --- links


@case
def link_counts():
    make("a"), os.link("a", "b"), os.link("a", "c"), os.unlink("a")
    return f"{os.stat('b').st_nlink} {os.stat('b').st_ino == os.stat('c').st_ino}"


@case
def link_errors():
    make("a"), os.mkdir("dir"), os.symlink("a", "link")
    pairs = (("dir", "x"), ("a", "a"), ("none", "x"), ("a", "none/x"), ("a/x", "y"), ("a", LONG + "x"))
    result = ",".join(answer(os.link, old, new) for old, new in pairs)
    os.link("link", "second", follow_symlinks=False)
    return result + str(os.path.islink("second"))


def symlink_of(length):
    os.symlink("t" * length, "link")
    return str(os.lstat("link").st_size) + str(os.readlink("link") == "t" * length)


for length in (1, 255, 3949, 3950, 4095, 4096):
    CASES[f"symlink.{length}"] = lambda length=length: answer(symlink_of, length)


@case
def symlink_errors():
    make("file"), os.mkdir("dir")
    return answer(os.symlink, "x", "file") + answer(os.symlink, "x", "none/x") + answer(os.symlink, "", "empty") + each(
        ["file", "dir", "none"], os.readlink)


# --- attributes


@case
def chmod_bits():
    make("file"), os.mkdir("dir")
    seen = []
    for bits in (0o7777, 0o4755, 0o2755, 0o1777, 0o000, 0o644):
        for name in ("file", "dir"):
            seen.append(answer(os.chmod, name, bits) + mode_of(name))
    return ",".join(seen)


@case
def chmod_is_cleared():
    os.chmod(make("file", content=b"x"), 0o6755)
    with open("file", "ab") as file:
        file.write(b"y")
    written = mode_of("file")
    os.chmod("file", 0o6755), os.truncate("file", 0)
    cut = mode_of("file")
    os.chmod("file", 0o6755), os.chown("file", os.getuid(), os.getgid())
    return written + cut + mode_of("file")


@case
def chown_owner():
    make("file"), os.symlink("file", "link")
    return answer(os.chown, "file", os.getuid(), os.getgid()) + answer(os.lchown, "link", -1, os.getgid()) + answer(os.chown, "none", -1, -1)


@case
def chown_others():
    make("file")
    return answer(os.chown, "file", 12345, 23456) + str(os.stat("file").st_uid == 12345)


@case
def times_exact():
    os.utime(make("file"), ns=(1234567890123456789, 987654321987654321))
    os.mkdir("dir"), os.utime("dir", ns=(1, 2)), os.symlink("x", "link"), os.utime("link", ns=(3, 4), follow_symlinks=False)
    return ",".join(f"{os.lstat(n).st_atime_ns}/{os.lstat(n).st_mtime_ns}" for n in ("file", "dir", "link"))


@case
def times_change():
    os.utime(make("file"), ns=(1, 1)), os.mkdir("dir"), os.utime("dir", ns=(1, 1))
    make("file", content=b"x"), make("dir/x")
    return str(os.stat("file").st_mtime_ns > 10**18) + str(os.stat("dir").st_mtime_ns > 10**18)


@case
def access_denied():
    make("file", 0o000), os.mkdir("dir"), make("dir/x"), os.chmod("dir", 0o000)
    result = answer(opened, "file", os.O_RDONLY) + answer(opened, "dir/x", os.O_RDONLY) + answer(os.listdir, "dir").replace("['x']", "ok")
    os.chmod("dir", 0o755)
    return result


@case
def xattr_user():
    make("file"), os.mkdir("dir"), os.symlink("file", "link")
    seen = [answer(os.setxattr, name, "user.test", b"value") for name in ("file", "dir")]
    seen += [answer(os.getxattr, "file", "user.test"), answer(os.getxattr, "file", "user.none"), answer(os.listxattr, "file")]
    seen += [answer(os.setxattr, "link", "user.test", b"x", follow_symlinks=False), answer(os.setxattr, "file", "user.test", b"x", os.XATTR_CREATE)]
    seen += [answer(os.setxattr, "file", "user.big", b"x" * 3000), answer(os.removexattr, "file", "user.test"), answer(os.removexattr, "file", "user.test")]
    return ",".join(seen)


# --- content


@case
def truncate_errors():
    make("file", content=b"12345"), os.mkdir("dir")
    seen = [answer(os.truncate, name, size) for name, size in (("file", 3), ("file", 9), ("file", -1), ("dir", 0), ("none", 0), ("file/x", 0))]
    return ",".join(seen) + str(open("file", "rb").read())


@case
def content_holes():
    with open("file", "wb") as file:
        file.seek(1 << 20), file.write(b"end")
    with open("file", "rb") as file:
        return f"{os.lseek(file.fileno(), 0, os.SEEK_HOLE)} {os.lseek(file.fileno(), 0, os.SEEK_DATA) > 0} {file.read(4)}"


@case
def content_allocated():
    with open("file", "wb") as file:
        return answer(os.posix_fallocate, file.fileno(), 0, 70000) + str(os.fstat(file.fileno()).st_size)


@case
def content_locks():
    with open(make("file"), "rb+") as mine:
        fcntl.lockf(mine, fcntl.LOCK_EX)
        child = os.fork()
        if child == 0:
            with open("file", "rb+") as theirs:
                os._exit(0 if answer(fcntl.lockf, theirs, fcntl.LOCK_EX | fcntl.LOCK_NB) == "EAGAIN" else 1)
        status = os.waitpid(child, 0)[1]
        with open("file", "rb+") as other:
            fcntl.flock(mine, fcntl.LOCK_EX)
            return str(status) + answer(fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case
def content_mapped():
    import mmap
    with open(make("file", content=b"x" * 4096), "rb+") as file, mmap.mmap(file.fileno(), 4096) as memory:
        memory[0:3] = b"new"
        return os.pread(file.fileno(), 4, 0).decode()


# --- special files


@case
def special_fifo():
    seen = [answer(os.mkfifo, "fifo", 0o640), answer(os.mkfifo, "fifo"), answer(opened, "fifo", os.O_WRONLY | os.O_NONBLOCK)]
    return ",".join(seen) + str(stat.S_ISFIFO(os.stat("fifo").st_mode)) + answer(os.mknod, "plain", stat.S_IFREG | 0o600)


@case
def special_socket():
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        seen = [answer(first.bind, "socket"), answer(second.bind, "socket"), answer(opened, "socket", os.O_RDWR)]
        first.listen()
        return ",".join(seen) + answer(second.connect, "socket")


DEVICE = os.makedev(1, 3)


def device(name):
    return answer(os.mknod, name, stat.S_IFCHR | 0o600, DEVICE)


CASES["mknod.device"] = lambda: device("node") if os.getuid() == 0 else "as root only"
CASES["mknod.not-a-directory"] = lambda: device(make("file") + "/node")
CASES["mknod.exists"] = lambda: device(make("file"))
CASES["mknod.too-long"] = lambda: device(LONG + "x")
CASES["mknod.no-directory"] = lambda: device("none/node")


# --- what was there before a copy was taken


def lower(name):
    return os.path.join(BASE, "lower", name)


def make_lower():
    os.makedirs(lower("dir/below")), os.mkdir(lower("moved")), make(lower("moved/x"), content=b"inner")
    for name in ("file", "read", "removed", "linked", "mode", "dir/below/x"):
        make(lower(name), content=b"first")
    os.link(lower("linked"), lower("linked2")), os.symlink("file", lower("link")), os.mkfifo(lower("fifo"))


@case
def lower_write():
    with open(lower("file"), "ab") as file:
        file.write(b"+")
    return open(lower("file")).read() + open(lower("link")).read()


@case
def lower_read_before_write():
    with open(lower("read")) as before:
        with open(lower("read"), "w") as file:
            file.write("second")
        return before.read()


@case
def lower_inode():
    before = os.stat(lower("mode")).st_ino
    os.chmod(lower("mode"), 0o600)
    return str(os.stat(lower("mode")).st_ino == before)


@case
def lower_hard_links():
    with open(lower("linked"), "w") as file:
        file.write("second")
    return open(lower("linked2")).read() + str(os.stat(lower("linked")).st_nlink)


@case
def lower_rename_directory():
    return answer(os.rename, lower("moved"), lower("moved-away")) + each([lower("moved-away/x")], lambda n: open(n).read())


@case
def lower_remove():
    os.unlink(lower("removed"))
    return answer(os.rmdir, lower("dir")) + answer(os.stat, lower("removed")) + answer(os.mkdir, lower("removed")) + str(os.listdir(lower("removed")))


@case
def lower_replace_directory():
    os.unlink(lower("dir/below/x")), os.rmdir(lower("dir/below")), os.mkdir(lower("dir/below"))
    return str(os.listdir(lower("dir/below")))


if __name__ == "__main__":
    BASE = os.path.abspath(sys.argv[-1])
    os.umask(0o022)
    if sys.argv[1] == "--lower":
        make_lower()
        sys.exit()
    for name, run in CASES.items():
        place = os.path.join(BASE, name)
        os.mkdir(place)
        os.chdir(place)
        print(name, answer(run).replace(" ", "_"), flush=True)
        os.umask(0o022)
        os.chdir(BASE)
