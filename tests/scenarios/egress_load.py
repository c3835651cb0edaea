"""Connections of a sandbox, many of them: hold, ask or limit, then the port of granted.test. Runs inside."""
import errno
import os
import selectors
import socket
import sys
import time

PORT = int(sys.argv[2])
REQUEST = b"GET / HTTP/1.1\r\nHost: granted.test:%d\r\nConnection: close\r\n\r\n" % PORT
AT = socket.gethostbyname("granted.test")


def connect(address, port):
    link = socket.socket()
    link.setblocking(False)
    if link.connect_ex((address, port)) not in (0, errno.EINPROGRESS):
        link.close()
        return None
    return link


def hold(count):
    """Silent, half-closed, a byte of a request, a byte of TLS, and those that are refused but do not go."""
    held = []
    for i in range(count):
        link = connect(AT if i % 5 else "203.0.113.9", PORT)
        if link is not None:
            held.append(link)
        if i % 50 == 49:
            time.sleep(0.005)  # the queue of a listener has an end
    time.sleep(0.5)
    for i, link in enumerate(held):
        try:
            if i % 5 == 1:
                link.shutdown(socket.SHUT_WR)
            elif i % 5:
                link.send((b"", b"", b"G", b"\x16", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx")[i % 5])
        except OSError:
            pass
    cut = 0
    for link in held:
        try:
            if link.recv(1, socket.MSG_PEEK) == b"":
                cut += 1
        except BlockingIOError:
            pass
        except OSError:
            cut += 1
    return held, cut


def hold_many():
    """500 in each of ten processes: one of them may not have many more files."""
    ready, tell = os.pipe()
    end, over = os.pipe()
    children = []
    for _ in range(10):
        pid = os.fork()
        if pid == 0:
            os.close(over)
            held, cut = hold(500)
            os.write(tell, b"%d %d\n" % (len(held), cut))
            os.read(end, 1)  # until everybody may go
            os._exit(0)
        children.append(pid)
    os.close(end)
    got = b""
    while got.count(b"\n") < 10:
        got += os.read(ready, 4096)
    made, cut = (sum(int(line.split()[i]) for line in got.splitlines()) for i in (0, 1))
    print(f"held {made}, of which {cut} were turned away by then", flush=True)
    sys.stdin.readline()
    os.close(over)
    for pid in children:
        os.waitpid(pid, 0)


def ask_many(count):
    """At most 100 at once, by turns to what is granted and what is not."""
    poll = selectors.DefaultSelector()
    begun = open_now = 0
    answers = {}
    while begun < count or open_now:
        while begun < count and open_now < 100:
            link = connect(AT if begun % 2 else "203.0.113.9", PORT)
            poll.register(link, selectors.EVENT_WRITE, [b""])
            begun += 1
            open_now += 1
        for key, _ in poll.select(10):
            link, got = key.fileobj, key.data
            try:
                if key.events == selectors.EVENT_WRITE:
                    link.send(REQUEST)
                    poll.modify(link, selectors.EVENT_READ, got)
                    continue
                piece = link.recv(65536)
            except OSError as error:
                piece, got[0] = b"", repr(error).encode()
            got[0] += piece
            if piece:
                continue
            kind = got[0].partition(b"\r\n")[0].decode()
            answers[kind] = answers.get(kind, 0) + 1
            poll.unregister(link)
            link.close()
            open_now -= 1
    good, bad = answers.pop("HTTP/1.1 200 OK", 0), answers.pop("HTTP/1.1 403 Forbidden", 0)
    print(f"{good} answered, {bad} refused" + "".join(f", {kind}: {n}" for kind, n in answers.items()))


def limit():
    for path in ["/slow"] * 4 + ["/"]:
        link = socket.create_connection((AT, PORT))
        link.sendall(REQUEST.replace(b"GET /", b"GET " + path.encode()))
        answer = link.recv(4096)
        while b"\r\n\r\n" not in answer or answer.endswith(b"\r\n\r\n"):
            answer += link.recv(4096)
        globals().setdefault("kept", []).append(link)
    print(answer.decode().replace("\r\n", " "))


{"hold": hold_many, "ask": lambda: ask_many(5000), "limit": limit}[sys.argv[1]]()
