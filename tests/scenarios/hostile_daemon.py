"""cloche-spawn limits what a cloched that was taken over can do: usage SPAWN STATE DIRECTORY (a private one)."""
import array
import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys

from report import case, check, done

SPAWN, STATE, HERE = sys.argv[1:4]
LAUNCH, KILL, DISCARD, EXITED = 1, 2, 3, 8
SNAPSHOT, ROLLBACK, FORK, DROP, RETAIN, DIFF, END_JOB, FLUSH = 10, 11, 12, 13, 14, 15, 16, 22
FLATTEN, STALENESS, PROMOTE, BIRTH_NOTE, THAW_JOB = 24, 26, 27, 28, 29
NETWORK, CONNECT, EGRESS = 17, 18, 19
OVERLAY, BIND, TMPFS, PROC, DEV, SYS = range(6)
HIDE, BLANK, GLOB = range(3)
SEALS = 0x1 | 0x2 | 0x4 | 0x8  # F_SEAL_SEAL, SHRINK, GROW, WRITE

os.makedirs(STATE, mode=0o700, exist_ok=True)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.settimeout(60)


keeping = None  # a list: descriptors stay open, and with them a sandbox's init


def reply():
    """(operation that failed, errno, descriptors) of the next answer; ends of sandboxes are passed over."""
    data = struct.pack("=I", EXITED)
    while struct.unpack_from("=I", data)[0] == EXITED:
        data, control, _, _ = ours.recvmsg(4096, socket.CMSG_SPACE(64))
    fds = array.array("i")
    for _, _, passed in control:
        fds.frombytes(passed[:len(passed) - len(passed) % 4])
    if keeping is not None:
        keeping.extend(fds)
    else:
        for fd in fds:
            os.close(fd)
    value, _, operation = struct.unpack_from("=iI40s", data, 48)
    return operation.split(b"\0")[0].decode(), value, len(fds)


def ask(op, sandbox=b"sb_hostile", fds=(), raw=None, body=b""):
    """`body` as src/base/spawn_protocol.h has it for this op."""
    message = raw if raw is not None else struct.pack("=IIQ32s72s", op, 0, 7, sandbox, body)
    socket.send_fds(ours, [message], list(fds))
    return reply()


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("=I", len(value)) + value


def mount(kind, source, target, read_only=0, mode=0o755):
    return struct.pack("=I", kind) + text(source) + text(target) + struct.pack("=BBBBQI", read_only, 0, 0, 0, 0, mode)


ROOT = mount(OVERLAY, "/", "/")
OWN = [mount(SYS, "", "/sys"), mount(PROC, "", "/proc"), mount(DEV, "", "/dev")]


def plan(mounts=(), files=(), uid=0, groups=None, root_inside=1, sandbox="sb_hostile", whole=None, keep=0, in_memory=0):
    groups = groups if groups is not None else sorted(os.getgroups())
    mounts = whole if whole is not None else [ROOT, *mounts, *OWN]
    data = struct.pack("=I", 0x434C5035) + text(sandbox) + bytes([keep, in_memory])
    data += struct.pack("=IIII", 0, uid, uid, len(groups)) + b"".join(struct.pack("=I", group) for group in groups)
    data += bytes([1, root_inside, 0]) + text("here") + struct.pack("=I", 0)
    data += struct.pack("=I", len(mounts)) + b"".join(mounts)
    data += struct.pack("=I", len(files)) + b"".join(struct.pack("=I", kind) + text(path) + text("") for kind, path in files)
    return data + struct.pack("=5Q", 0, 0, 0, 0, 0)


def memory(data, sealed=True):
    fd = os.memfd_create("plan", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    if sealed:
        fcntl.fcntl(fd, 1033, SEALS)  # F_ADD_SEALS
    return fd


listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(HERE + "/listener")
os.chmod(HERE + "/listener", 0o666)
listener.listen()


def client_of(uid):
    """An accepted socket whose peer is this user."""
    child = os.fork()
    if child == 0:
        os.setgroups([uid])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(HERE + "/listener")
        os._exit(0)
    accepted, _ = listener.accept()
    os.waitpid(child, 0)
    return accepted


connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
connected.connect(HERE + "/listener")
client, _ = listener.accept()  # what cloched has of a real client


def launch(data, peer=client, sealed=True, more=()):
    fd = memory(data, sealed)
    try:
        return ask(LAUNCH, fds=[fd, peer.fileno(), *more])
    finally:
        os.close(fd)


spawn = subprocess.Popen([SPAWN, STATE, str(theirs.fileno())], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
theirs.close()
ready = reply()


@case("a control")
def _():
    check("spawn is ready", ready[1] == 0, ready)
    answer = launch(plan())
    check("an honest plan is launched", answer[1] == 0 and answer[2] >= 3, answer)
    check("and its sandbox is discarded", ask(DISCARD)[1] == 0)


@case("identity")
def _():
    check("a socket connected to root's does not count as a client", launch(plan(), connected)[1] != 0)
    one, other = socket.socketpair()
    check("nor is a pair of one's own", launch(plan(), one)[1] != 0)
    other.close()
    check("the caller is not somebody else", launch(plan(uid=1000, root_inside=0))[1] == errno.EPERM)
    check("with no more groups than the caller's", launch(plan(groups=[0, 4, 4242]))[1] == errno.EPERM)


@case("saved states")
def _():
    other = client_of(31997)
    somebody = {"uid": 31997, "groups": [31997], "root_inside": 0}
    up_to = b"../../../v"
    for op, names in ((SNAPSHOT, (up_to, b"")), (DROP, (up_to, b"")), (FORK, (up_to, b"")), (ROLLBACK, (b"sn_a", up_to)),
                      (ROLLBACK, (up_to, b"sn_b"))):
        answer = ask(op, body=struct.pack("=32s32s", *names))
        check(f"request {op} with a path for a snapshot is refused", answer[1] == errno.EINVAL, answer)
    check("a snapshot that is not there", ask(FORK, body=b"sn_none")[1] == errno.ENOENT)
    answers = launch(plan(keep=1, sandbox="sb_rooted")), ask(SNAPSHOT, b"sb_rooted", body=b"sn_rooted")
    check("root's state is saved", all(answer[1] == 0 for answer in answers), answers)
    check("root's sandbox stops", ask(KILL, b"sb_rooted")[1] == 0)
    answer = launch(plan(keep=1, sandbox="sb_other", **somebody), other)
    check("another user keeps one", answer[1] == 0 and ask(KILL, b"sb_other")[1] == 0, answer)
    answer = ask(ROLLBACK, b"sb_other", body=struct.pack("=32s32s", b"sn_rooted", b"sn_kept"))
    check("it does not become what root saved", answer[1] == errno.EPERM, answer)
    answer = ask(FORK, b"sb_forked", body=b"sn_rooted")
    check("a fork of root's state", answer[1] == 0, answer)
    answer = launch(plan(keep=1, sandbox="sb_forked", **somebody), other)
    check("is root's, too", answer[1] == errno.EPERM, answer)
    for sandbox in (b"sb_forked", b"sb_other", b"sb_rooted"):
        check("they are discarded", ask(DISCARD, sandbox)[1] == 0)
    check("so is the snapshot", ask(DROP, body=b"sn_rooted")[1] == 0)


@case("networks")
def _():
    global keeping
    keeping = []
    other = client_of(31996)
    check("root's sandbox", launch(plan())[1] == 0)
    for op, what in ((NETWORK, "opened"), (CONNECT, "entered")):
        check(f"its network is not {what} for nobody", ask(op, body=struct.pack("=H", 80))[1] == errno.EBADMSG)
        answer = ask(op, fds=[other.fileno()], body=struct.pack("=H", 80))
        check(f"its network is not {what} for somebody else", answer[1] == errno.EPERM, answer)
        answer = ask(op, fds=[connected.fileno()], body=struct.pack("=H", 80))
        check(f"its network is not {what} for a socket that is not a client's", answer[1] != 0, answer)
        answer = ask(op, b"sb_nobodys", fds=[client.fileno()], body=struct.pack("=H", 80))
        check(f"a sandbox that does not run is not {what}", answer[1] == errno.ESRCH, answer)
    answer = ask(NETWORK, fds=[client.fileno()])
    check("its owner gets sockets", answer[1] == 0 and 3 <= answer[2] <= 6, answer)
    answer = ask(CONNECT, fds=[client.fileno()], body=struct.pack("=H", 81))
    check("where nobody listens, there is no connection", answer[1] == errno.ECONNREFUSED and answer[2] == 0, answer)
    check("port 0 is none", ask(CONNECT, fds=[client.fileno()])[1] == errno.EINVAL)
    check("cloche-egress needs a socket", ask(EGRESS)[1] == errno.EBADMSG)
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    answer = ask(EGRESS, fds=[one.fileno(), one.fileno()])
    check("cloche-egress is never root", answer[1] == errno.ENOENT, answer)
    two.close()
    check("the sandbox goes", ask(DISCARD)[1] == 0)
    for fd in keeping:
        os.close(fd)
    keeping = None


@case("kept files")
def _():
    other = client_of(31998)
    theirs_to_ask = plan(uid=31998, groups=[31998], root_inside=0)
    check("a second user is served", launch(theirs_to_ask, other)[1] == 0 and ask(DISCARD)[1] == 0)
    check("root keeps a sandbox", launch(plan(keep=1, sandbox="sb_kept"))[1] == 0 and ask(KILL, b"sb_kept")[1] == 0)
    answer = launch(plan(uid=31998, groups=[31998], root_inside=0, keep=1, sandbox="sb_kept"), other)
    check("its files are not opened for another user", answer[1] == errno.EPERM, answer)
    answer = launch(plan(keep=1, sandbox="sb_kept"))
    check("but for root again", answer[1] == 0 and ask(DISCARD, b"sb_kept")[1] == 0, answer)
    for op in (DIFF, STALENESS, PROMOTE, BIRTH_NOTE, FLATTEN):
        check(f"request {op} for nobody is refused", ask(op)[1] == errno.EBADMSG)
    null = os.open("/dev/null", os.O_RDWR)
    answer = ask(BIRTH_NOTE, fds=[connected.fileno(), null, null, null])
    check("no helper is started for a socket that is not a client's", answer[1] != 0, answer)
    os.close(null)
    for op in (END_JOB, THAW_JOB):
        check(f"a job that nobody began can be ended ({op})", ask(op, body=struct.pack("=Q", 7))[1] == 0)
    check("memory without a limit is not given", launch(plan(in_memory=1))[1] == errno.EINVAL)


@case("mounts")
def _():
    for source in ("/", "//", "/etc", "//etc", "/etc/", "/./etc", "/home/../etc", "/usr/local", "/var/run/x"):
        answer = launch(plan([mount(BIND, source, "/mnt")]))
        check(f"{source} is not bound writable", answer[1] in (errno.EPERM, errno.EINVAL), answer)
    for source in ("/proc", "/proc/1/root", "/sys", "/dev"):
        answer = launch(plan([mount(BIND, source, "/mnt", 1)]))
        check(f"{source} is not shown", answer[1] == errno.EPERM, answer)
    for sentence, mounts in {
        "nothing at all": [],
        "no /proc": [ROOT, OWN[0], OWN[2]],
        "a cover over /proc": [ROOT, *OWN, mount(TMPFS, "", "/proc")],
        "a second /sys": [ROOT, OWN[0], *OWN],
        "a /sys elsewhere": [ROOT, mount(SYS, "", "/x"), *OWN[1:]],
        "a second root": [ROOT, mount(TMPFS, "", "//"), *OWN],
        "a target outside": [ROOT, mount(TMPFS, "", "/../x"), *OWN],
        "a mode with set-user-id": [ROOT, mount(TMPFS, "", "/x", 0, 0o4755), *OWN],
        "an unknown kind": [ROOT, mount(9, "", "/x"), *OWN],
    }.items():
        check(f"{sentence}: refused", launch(plan(whole=mounts))[1] != 0)
    check("a file rule outside: refused", launch(plan(files=[(HIDE, "/../x")]))[1] != 0)
    check("an unknown file rule: refused", launch(plan(files=[(5, "/x")]))[1] != 0)
    check("more decoys than there are: refused", launch(plan(files=[(3, "/x%d" % n) for n in range(33)]))[1] == errno.E2BIG)


@case("names")
def _():
    victim = HERE + "/victim"
    os.close(os.open(victim, os.O_CREAT | os.O_WRONLY))
    up = "../" * (STATE.count("/") + 4)
    for op in (KILL, DISCARD, SNAPSHOT, ROLLBACK, FORK, DROP, RETAIN, DIFF, END_JOB, FLUSH,
               FLATTEN, STALENESS, PROMOTE, BIRTH_NOTE, THAW_JOB):
        answer = ask(op, (up + victim[1:]).encode()[:31])
        check(f"request {op} with a path is refused", answer[1] == errno.EINVAL, answer)
    # Short enough for a name: from kept/ through the pool's mount to the state directory.
    os.close(os.open(STATE + "/v", os.O_CREAT | os.O_WRONLY))
    answer = ask(DISCARD, b"../../v")
    check("a discard leads nowhere else", answer[1] == errno.EINVAL and os.path.exists(STATE + "/v"), answer)
    check("the victim is where it was", os.path.exists(victim))
    check("a plan's id must not be a path", launch(plan(sandbox="sb_../x"))[1] == errno.EINVAL)


@case("form")
def _():
    good = plan()
    refused = sum(launch(good[:size])[1] != 0 for size in range(0, len(good), 7))
    check("every truncated plan is refused", refused == len(range(0, len(good), 7)), refused)
    check("one with more behind it, too", launch(good + b"x")[1] != 0)
    check("one that can still change, too", launch(good, sealed=False)[1] != 0)
    check("no plan at all", ask(LAUNCH)[1] != 0)
    null = os.open("/dev/null", os.O_RDWR)
    check("a plan that is a device", ask(LAUNCH, fds=[null, client.fileno()])[1] != 0)
    check("more descriptors than there are", launch(good, more=[null, null])[1] != 0)
    check("a request nobody knows", ask(99)[1] == errno.EINVAL)
    socket.send_fds(ours, [b"half"], [null])  # no answer is due
    socket.send_fds(ours, [bytes(500)], [null])
    check("half and double requests are passed over", ask(KILL)[1] == 0)
    check("spawn continues", launch(good)[1] == 0 and ask(DISCARD)[1] == 0)
    check("without a descriptor too many", len(os.listdir(f"/proc/{spawn.pid}/fd")) < 100)


ours.close()
spawn.wait(60)
check("spawn leaves when cloched is gone", spawn.returncode == 0, spawn.returncode)
done()
