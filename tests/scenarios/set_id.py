"""Tries to leave a file in argv[1] that runs with its owner's rights.

Prints the answer to each attempt."""
import ctypes
import errno
import os
import platform
import stat
import struct
import sys

place = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
MODE = 0o755 | stat.S_ISUID
X86 = {"open": 2, "creat": 85, "chmod": 90, "mknod": 133, "fchmodat2": 452}
COMMON = {"io_uring_setup": 425, "openat2": 437}


def path(name):
    return os.path.join(place, name)


def plain(name):
    with open(path(name), "w") as file:
        os.fchmod(file.fileno(), 0o755)
    return path(name)


def raw(name, *arguments):
    number = {**X86, **COMMON}[name]
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def told(name, call):
    try:
        call()
        answer = "done"
    except OSError as error:
        answer = errno.errorcode[error.errno]
    print(name, answer)


for each in (stat.S_ISUID, stat.S_ISGID):
    told(f"chmod-{each:o}", lambda: os.chmod(plain("chmod"), 0o755 | each))
with open(plain("fchmod")) as file:
    told("fchmod", lambda: os.fchmod(file.fileno(), MODE))
directory = os.open(place, os.O_RDONLY)
plain("fchmodat")
told("fchmodat", lambda: os.chmod("fchmodat", MODE, dir_fd=directory))
told("openat", lambda: os.open(path("openat"), os.O_CREAT | os.O_WRONLY, MODE))
told("tmpfile", lambda: os.open(place, os.O_TMPFILE | os.O_WRONLY, MODE))
told("mknodat", lambda: os.mknod("mknodat", stat.S_IFREG | MODE, dir_fd=directory))
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, MODE, 0))
told("openat2", lambda: raw("openat2", -100, path("openat2").encode(), how, 24))
told("io_uring", lambda: raw("io_uring_setup", 1, ctypes.create_string_buffer(120)))
if platform.machine() == "x86_64":
    told("open", lambda: raw("open", path("open").encode(), os.O_CREAT | os.O_WRONLY, MODE))
    told("creat", lambda: raw("creat", path("creat").encode(), MODE))
    told("mknod", lambda: raw("mknod", path("mknod").encode(), stat.S_IFREG | MODE, 0))
    told("fchmodat2", lambda: raw("fchmodat2", -100, plain("fchmodat2").encode(), MODE, 0))
os.mkdir(path("directory"), 0o755 | stat.S_ISGID)
# cap_setuid, permitted and effective; for every namespace, and for that of the calling root.
for name, value in (("v2", struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0)),
                    ("v3", struct.pack("<IIIIII", 0x03000001, 1 << 7, 0, 0, 0, 0))):
    told(f"capability-{name}", lambda: os.setxattr(plain(name), "security.capability", value))
