#!/usr/bin/env python3
"""HTTP/1.1 is read strictly, decided on request by request, and passed on as it streams."""
import os
import sys
import threading
import time

import world
from world import check, equal

LOOPBACK = {"kind": "tcp", "cidr": "127.0.0.0/8", "ports": [1, 65535]}
WEB = {"kind": "http", "host": "web.example.test", "ports": [80, 80]}

RAW = """
import socket, sys
s = socket.create_connection(('web.example.test', 80)); s.settimeout(8)
data = sys.stdin.buffer.read()
step = int(sys.argv[1]) if len(sys.argv) > 1 else len(data)
s.setsockopt(6, 1, 1)
for i in range(0, len(data), step): s.sendall(data[i:i + step])
got = b''
try:
    while piece := s.recv(65536): got += piece
except OSError as e: got += repr(e).encode()
print(got.decode('latin-1'))
"""


def web(w, *rules, **more):
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, w.http)
    return w.open([*(rules or (WEB,)), LOOPBACK], **more)


def raw(w, text, *arguments):
    return w.python(RAW, *arguments, input=text.encode("latin-1") if isinstance(text, str) else text)


def test_requests_pass(w):
    web(w)
    equal(w.curl("http://web.example.test/a?b=c"), (200, "GET /a?b=c 0"), "GET")
    equal(w.curl("-d", "hello", "http://web.example.test/p"), (200, "POST /p 5"), "POST")
    equal(w.curl("-I", "http://web.example.test/h")[0], 200, "HEAD")
    equal(w.curl("-T", "-", "http://web.example.test/up", input=b"z" * 3000000),
          (200, "PUT /up 3000000"), "a chunked upload")
    equal(w.curl("-H", "Expect: 100-continue", "-d", "x" * 5000, "http://web.example.test/e"),
          (200, "POST /e 5000"), "100-continue")
    status, body = w.curl("-o", "/dev/null", "-w", "%{size_download}\n%{http_code}",
                          "http://web.example.test/big30000000")
    equal((status, body), (200, "30000000"), "a large download")
    equal(w.curl("http://web.example.test/events")[1], "data: 0\n\ndata: 1\n\ndata: 2\n\n", "events")
    equal(w.curl("http://web.example.test/until-close")[1], "the end", "a body until close")
    equal(w.curl("--http2", "http://web.example.test/h2c")[0], 200, "h2c is not taken up")
    check("upgrade" not in w.seen[-1][2], w.seen[-1])
    record = w.record(kind="http", decision="allow")
    equal((record["name"], record["requests"]), ("web.example.test", 1), "the record")


def test_keep_alive_and_pipelining(w):
    web(w)
    one = "GET /{} HTTP/1.1\r\nHost: web.example.test\r\n\r\n"
    last = "GET /last HTTP/1.1\r\nHost: web.example.test\r\nConnection: close\r\n\r\n"
    post = "POST /post HTTP/1.1\r\nHost: web.example.test\r\nTransfer-Encoding: chunked\r\n\r\n" \
           "3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n"
    text = one.format(1) + post + one.format(2) + "POST /l HTTP/1.1\r\nHost: web.example.test\r\n" \
        "Content-Length: 4\r\n\r\nbody" + last
    for step in (len(text), 1, 7):
        w.seen.clear()
        out = raw(w, text, step)
        equal(out.count("HTTP/1.1 200"), 5, f"answers in steps of {step}: {out}")
        equal([(s[0], s[1], s[3]) for s in w.seen],
              [("GET", "/1", b""), ("POST", "/post", b"abc"), ("GET", "/2", b""),
               ("POST", "/l", b"body"), ("GET", "/last", b"")], "requests")
        check("trailer:x-sum" in w.seen[1][2], "the trailer came")
    equal(w.record(requests=5)["kind"], "http", "one record for the connection")


def test_a_second_request_is_decided_on_too(w):
    web(w, {**WEB, "path_prefix": "/public"})
    text = ("GET /public/1 HTTP/1.1\r\nHost: web.example.test\r\n\r\n"
            "GET /secret HTTP/1.1\r\nHost: web.example.test\r\n\r\n"
            "GET /public/2 HTTP/1.1\r\nHost: web.example.test\r\n\r\n")
    out = raw(w, text)
    check("200 OK" in out and "403 Forbidden" in out and "GET /secret at web.example.test:80" in out, out)
    equal([s[1] for s in w.seen], ["/public/1"], "what the server saw")
    w.record(decision="deny", kind="http")


def test_hosts_must_agree(w):
    web(w)
    for head in ("GET / HTTP/1.1\r\nHost: evil.test\r\n",
                 "GET / HTTP/1.1\r\nHost: web.example.test:81\r\n",
                 "GET / HTTP/1.1\r\nHost: web.example.test@evil.test\r\n",
                 "GET / HTTP/1.1\r\nHost: web.example.test\r\nHost: evil.test\r\n",
                 "GET / HTTP/1.1\r\n",
                 "GET http://evil.test/ HTTP/1.1\r\nHost: web.example.test\r\n",
                 "GET http://web.example.test/ HTTP/1.1\r\nHost: evil.test\r\n",
                 "GET / HTTP/1.1\r\nHost: web.example.test evil.test\r\n",
                 "GET / HTTP/1.1\r\nHost: \r\n",
                 "CONNECT evil.test:80 HTTP/1.1\r\nHost: evil.test:80\r\n",
                 "CONNECT web.example.test:80 HTTP/1.1\r\nHost: web.example.test:80\r\n"):
        out = raw(w, head + "\r\n")
        check("HTTP/1.1 400" in out or "HTTP/1.1 403" in out, (head, out))
    equal(w.seen, [], "what the server saw")
    check("200 OK" in raw(w, "GET http://WEB.example.test./x HTTP/1.1\r\nHost: Web.Example.Test:80\r\n"
                          "Connection: close\r\n\r\n"), "the same name, otherwise written")
    equal((w.seen[0][1], w.seen[0][2]["host"]), ("/x", "web.example.test"), "as the server sees it")


def test_smuggling_shapes_are_refused(w):
    web(w)
    base = "POST / HTTP/1.1\r\nHost: web.example.test\r\n"
    for rest in ("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
                 "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
                 "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "X: a\r\n b\r\n\r\n",
                 "X: a\nY: b\r\n\r\n", "X: a\0b\r\n\r\n", "X: a\rb\r\n\r\n",
                 "Content-Length: +3\r\n\r\nabc"):
        check("HTTP/1.1 400" in raw(w, base + rest), rest)
    for text in ("\r\nGET / HTTP/1.1\r\nHost: web.example.test\r\n\r\n",
                 "GET / HTTP/1.1\r\nX: " + "x" * 70000,
                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"):
        check("HTTP/1.1 400" in raw(w, text), text[:40])
    equal(w.seen, [], "what the server saw")
    raw(w, base + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n"
        "GET /smuggled HTTP/1.1\r\nHost: web.example.test\r\n\r\n")
    equal(w.seen, [], "a body with chunk extensions")


def test_methods_and_paths(w):
    web(w, {**WEB, "methods": ["GET"], "path_prefix": "/v1"},
        {**WEB, "action": "deny", "path_prefix": "/v1/admin"})
    url = "http://web.example.test"
    equal(w.curl(url + "/v1/x")[0], 200, "granted")
    for words in (["-d", "x", url + "/v1/x"], [url + "/v10"], [url + "/"], [url + "/v1/admin"],
                  ["--path-as-is", url + "/v1/../x"], [url + "/v1/%2e%2e/x"], [url + "/v1//admin"],
                  [url + "/v1/%61dmin/..%2f"], ["-H", "X-HTTP-Method-Override: DELETE", url + "/v1/x"],
                  ["-X", "DELETE", url + "/v1/x"], [url + "/v1/%61dmin"], [url + "/v1/Admin"],
                  ["-H", "X_HTTP_Method_Override: DELETE", url + "/v1/x"],
                  ["-H", "X-Original-URL: /v1/admin", url + "/v1/x"],
                  ["-H", "X_Rewrite_Url: /v1/admin", url + "/v1/x"],
                  ["-H", "X-HTTP-Verb: DELETE", url + "/v1/x"], ["-H", "X-Method: DELETE", url + "/v1/x"],
                  ["-H", "X-Original-URI: /v1/admin", url + "/v1/x"],
                  ["-H", "X-Forwarded-Uri: /v1/admin", url + "/v1/x"],
                  ["-H", "X-Envoy-Original-Path: /v1/admin", url + "/v1/x"],
                  ["-H", "X-Forwarded-Host: admin.example.test", url + "/v1/x"],
                  ["-H", "X_Host: admin.example.test", url + "/v1/x"],
                  ["-H", "Forwarded: for=10.0.0.1;HOST=admin.example.test", url + "/v1/x"]):
        equal(w.curl(*words)[0], 403, words)
    equal(len(w.seen), 1, "what the server saw")
    equal(w.curl("-H", "Forwarded: for=10.0.0.1", "-H", "X-Forwarded-For: 10.0.0.1", url + "/v1/x")[0], 200,
          "which name no other host")


def careless(w, links):
    """A server that reads no bodies: what follows a head is the next request to it."""
    def serve(link):
        links.append(link)
        stream = link.makefile("rwb")
        while line := stream.readline():
            head = line
            while (header := stream.readline()) not in (b"\r\n", b""):
                head += header.lower()
            parts = line.split()
            path = parts[1].decode() if len(parts) == 3 else "no request"
            w.seen.append(path)
            stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path.encode()))
            stream.flush()
            if b"connection: close" in head:
                return
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, serve)


def test_a_body_is_not_the_next_request(w):
    links = []
    careless(w, links)
    hidden = "GET /secret HTTP/1.1\r\nHost: web.example.test\r\n\r\n"
    chunked = f"{len(hidden):x}\r\n{hidden}\r\n0\r\n\r\n"
    after = "GET /public/2 HTTP/1.1\r\nHost: web.example.test\r\nConnection: close\r\n\r\n"
    w.open([{**WEB, "path_prefix": "/public"}, {**WEB, "ports": [83, 83]}, LOOPBACK])
    for method in ("GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "SEARCH"):
        for more in ("", "Expect: 100-continue\r\n", "Connection: keep-alive\r\n"):
            head = f"{method} /public/1 HTTP/1.1\r\nHost: web.example.test\r\n{more}"
            for body in (f"Content-Length: {len(hidden)}\r\n\r\n{hidden}", f"Transfer-Encoding: chunked\r\n\r\n{chunked}"):
                w.seen.clear()
                out = raw(w, head + body + after)
                equal(w.seen, ["/public/1", "/public/2"], (method, more, out))
                check(out.endswith("/public/2\n") and out.count("200 OK") == 2, (method, more, out))
                if method != "HEAD":
                    break
    w.rules([WEB, LOOPBACK])  # without rules about requests: where nobody expects a body
    w.seen.clear()
    raw(w, f"GET /1 HTTP/1.1\r\nHost: web.example.test\r\nContent-Length: {len(hidden)}\r\n\r\n{hidden}" + after)
    equal(w.seen, ["/1", "/public/2"], "what the server took for requests")


def test_a_server_connection_is_kept_where_nothing_can_hide(w):
    w.zones["web.example.test"] = ["127.0.0.1"]
    links = []
    w.serve(80, lambda link: (links.append(link), w.http(link)))
    w.open([WEB, LOOPBACK])
    get = "GET /{} HTTP/1.1\r\nHost: web.example.test\r\n{}\r\n"
    post = "POST /p HTTP/1.1\r\nHost: web.example.test\r\nContent-Length: 4\r\n\r\nbody"
    out = raw(w, post + get.format(1, "") + get.format("search", "Content-Length: 5\r\n") + "query" + get.format(2, "") +
              get.format(3, "Connection: close\r\n"))
    equal([(s[0], s[1], s[3]) for s in w.seen], [("POST", "/p", b"body"), ("GET", "/1", b""), ("GET", "/search", b"query"),
                                                 ("GET", "/2", b""), ("GET", "/3", b"")], "requests")
    equal(out.count("200 OK"), 5, out)
    check("onnection: close" not in out, out)
    equal(len(links), 2, "connections: none is used after a search with a body")
    w.record(requests=5)
    equal(len([e for e in w.events if e.get("state") == "open"]), 1, "one connection of the program is one in the log")


def test_an_answer_nobody_asked_for_is_nobodys(w):
    w.zones["web.example.test"] = ["127.0.0.1"]
    more = [b""]

    def two(link):
        stream = link.makefile("rwb")
        while line := stream.readline():
            while stream.readline() not in (b"\r\n", b""):
                pass
            path = line.split()[1]
            w.seen.append(path)
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(path), path)
            stream.write(answer + (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale" if path == b"/two" else more[0]))
            stream.flush()
    w.serve(80, two)
    w.open([WEB, LOOPBACK])
    one = "{} /{} HTTP/1.1\r\nHost: web.example.test\r\n{}\r\n"
    out = raw(w, one.format("GET", "two", "") + one.format("GET", "next", "Connection: close\r\n"))
    check("stale" not in out and out.endswith("/next\n"), out)
    out = raw(w, one.format("HEAD", "head", "") + one.format("GET", "next", "Connection: close\r\n"))
    check("/head" not in out and out.endswith("/next\n"), out)  # a body that no answer to HEAD has


def test_websocket_passes(w):
    web(w)
    out = w.python("""
import socket
s = socket.create_connection(('web.example.test', 80)); s.settimeout(8)
s.sendall(b'GET /websocket HTTP/1.1\\r\\nHost: web.example.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
got = b''
while b'\\r\\n\\r\\n' not in got: got += s.recv(999)
s.sendall(b'hello frames'); print(got, s.recv(99))
""")
    check("101 Switching" in out and "HELLO FRAMES" in out, out)


def test_a_websocket_ends_with_its_path(w):
    web(w)
    code = """
import socket, sys
s = socket.create_connection(('web.example.test', 80)); s.settimeout(20)
s.sendall(b'GET /websocket HTTP/1.1\\r\\nHost: web.example.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
got = b''
while b'\\r\\n\\r\\n' not in got: got += s.recv(999)
print('open', flush=True); sys.stdin.readline()
try: print('read', s.recv(1))
except ConnectionResetError: print('reset')
"""
    client = w.start(sys.executable, "-c", code)
    equal(client.stdout.readline(), b"open\n", "it lives")
    w.rules([{**WEB, "path_prefix": "/public"}, LOOPBACK])
    equal(client.communicate(b"\n")[0], b"reset\n", "and is cut")


def test_nothing_but_websocket_takes_a_connection_over(w):
    web(w, {**WEB, "path_prefix": "/public"}, {**WEB, "ports": [83, 83]})
    ask = ("GET /public/x HTTP/1.1\r\nHost: web.example.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
           "{}HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
           "GET /public/2 HTTP/1.1\r\nHost: web.example.test\r\nConnection: close\r\n\r\n")
    for offers in ("Upgrade: websocket\r\nUpgrade: h2c\r\n", "Upgrade: websocket, h2c\r\n",
                   "Upgrade: h2c\r\nUpgrade: websocket\r\n", ""):
        w.seen.clear()
        equal(raw(w, ask.format(offers)).count("200 OK"), 2, offers)
        for seen in w.seen:
            check("upgrade" not in seen[2] and "http2-settings" not in seen[2], seen)
    w.serve(83, lambda link: link.recv(999) and link.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"))
    status, body = w.curl("-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "http://web.example.test:83/")
    equal(status, 502, "another protocol than was asked for")


def test_servers_that_fail(w):
    web(w, WEB, {**WEB, "ports": [81, 82]})
    w.serve(82, lambda link: link.recv(999) and link.sendall(b"nonsense\r\n\r\n"))
    status, body = w.curl("http://web.example.test:81/")
    equal(status, 502, "nobody listens")
    check("127.0.0.1:81" in body and "refused" in body, body)
    equal(w.curl("http://web.example.test:82/")[0], 502, "no HTTP")
    check(w.curl("http://web.example.test/die")[0] in (200, -18, -56), "broken off")
    check("transfer closed" in w.error or "reset" in w.error, w.error)


def test_redirects_are_new_requests(w):
    web(w)
    w.curl("-L", "http://web.example.test/redirect")
    check("Could not resolve host: evil.test" in w.error, w.error)
    equal([q for q in w.queries if "evil" in q[0]], [], "nobody was asked for it")


def test_trailers_are_judged_while_decoys_are_looked_for(w):
    trailers_are_judged(w, canaries=[{"name": "aws-secret-key", "value": "decoy" * 8}])


def test_trailers_do_not_say_what_belongs_in_a_head(w):
    trailers_are_judged(w)


def trailers_are_judged(w, **more):
    web(w, **more)
    base = "POST /up HTTP/1.1\r\nHost: web.example.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" \
           "3\r\nabc\r\n0\r\n{}\r\n\r\n"
    for line in ("X-HTTP-Method-Override: DELETE", "x_http_method_override: DELETE", "X-Original-URL: /admin",
                 "Authorization: Basic eDp5", "Cookie: a=b", "Host: evil.test", "Content-Length: 3",
                 "Transfer-Encoding: chunked", "X-Forwarded-Host: evil.test", "If-Match: x", "Proxy-Authorization: x"):
        for step in (len(base) + 99, 1):
            out = raw(w, base.format(line), step)
            check("200 OK" not in out, (line, out))
    equal(w.seen, [], "what the server took for a request")
    check("belongs in a head" in w.wait_event(lambda e: "trailer" in e.get("reason", "") and
                                              "head" in e.get("reason", ""))["reason"], "told")
    check("200 OK" in raw(w, base.format("X-Checksum: 1\r\nx-amz-checksum-sha256: y")), "others pass")
    check("trailer:x-checksum" in w.seen[0][2], w.seen)


def leaves(w, how):
    """A program asks, has the beginning of its answer, and leaves; the server waits until it is told."""
    over = threading.Event()

    def begin(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        link.settimeout(None)
        try:
            link.recv(1)
        except ConnectionResetError:
            pass
        over.set()
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, begin)
    w.open([WEB, LOOPBACK])
    w.python("""
import socket, sys
s = socket.create_connection(('web.example.test', 80))
s.sendall(b'GET / HTTP/1.1\\r\\nHost: web.example.test\\r\\n\\r\\n')
got = b''
while not got.endswith(b'half'): got = s.recv(999, int(sys.argv[1]))
""", int(how))
    check(over.wait(3 * world.HANG), "the server learns that nobody reads on")
    equal(w.record(name="web.example.test")["reason"], "the program went away", "the log says why")


def test_a_program_that_resets_takes_its_request_along(w):
    leaves(w, world.socket.MSG_PEEK)  # with something unread its end is a reset


def test_a_program_that_closes_takes_its_request_along(w):
    equal(w.run("sysctl", "-qw", "net.ipv4.tcp_fin_timeout=1").returncode, 0, "its kernel forgets it after a second")
    leaves(w, 0)


def test_a_program_that_only_ended_its_sending_has_its_answer(w):
    silent = threading.Event()

    def think(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        silent.wait(world.HANG)
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, think)
    w.open([WEB, LOOPBACK])
    program = w.start(sys.executable, "-c", """
import socket
s = socket.create_connection(('web.example.test', 80))
s.sendall(b'GET / HTTP/1.1\\r\\nHost: web.example.test\\r\\nConnection: close\\r\\n\\r\\n')
s.shutdown(socket.SHUT_WR)
print('asked', flush=True)
got = b''
while piece := s.recv(999): got += piece
print(got[-5:].decode())
""")
    program.stdout.readline()
    until = time.monotonic() + world.HANG
    while not w.run("ss", "-Htn", "state", "close-wait").stdout:
        check(time.monotonic() < until, "its end came")
        time.sleep(0.02)
    w.curl("http://nobody.test/")  # cloche-egress has seen it
    silent.set()
    equal(program.communicate(timeout=world.HANG)[0], b"there\n", "the answer")


def test_an_upload_arrives_whole_though_its_program_has_gone(w):
    equal(w.run("sysctl", "-qw", "net.ipv4.tcp_fin_timeout=1").returncode, 0, "its kernel forgets it after a second")
    size = 12 << 20
    go_on, over = threading.Event(), threading.Event()
    body = bytearray()

    def take(link):
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(999)
        body.extend(data.partition(b"\r\n\r\n")[2])
        while len(body) < size and (piece := link.recv(1 << 18)):
            body.extend(piece)
            if len(body) > size - (1 << 20):
                go_on.wait(3 * world.HANG)
        over.set()
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, take)
    w.open([WEB, LOOPBACK])
    w.python("""
import socket, sys
s = socket.create_connection(('web.example.test', 80))
size = int(sys.argv[1])
s.sendall(b'POST / HTTP/1.1\\r\\nHost: web.example.test\\r\\nContent-Length: %d\\r\\n\\r\\n' % size + b'x' * size)
""", size)

    until = time.monotonic() + 3 * world.HANG  # its kernel is asked only after some seconds
    while not any(e.get("state") == "end" for e in w.events) and time.monotonic() < until:
        w.read_events(0.5)
    equal(w.record(name="web.example.test")["reason"], "the program went away", "the log says why")
    check(len(body) < size, "some of it is on its way")
    go_on.set()
    check(over.wait(world.HANG), ("what arrived", len(body)))
    equal(len(body), size, "what arrived")


def test_nobody_waits_for_ever_to_be_named(w):
    web(w, owners=True)
    equal(w.curl("http://web.example.test/")[0], 200, "though the daemon never says whose it is")
    equal(w.curl("http://web.example.test:81/")[0], 403, "a refusal")
    equal(w.curl("http://nobody.test/")[0], -6, "a name")


def test_nothing_stays_of_a_sandbox_that_is_closed_meanwhile(w):
    def held():
        return len(os.listdir(f"/proc/{w.egress.pid}/fd"))
    before = held()
    web(w, {"kind": "https", "host": "web.example.test", "ports": [80, 80]}, owners=True)
    program = w.start("curl", "-sS", "-m", "20", "https://web.example.test:80/")
    w.record(name="web.example.test", state="open")
    w.tell({"op": "close", "sandbox": "sb_x"})
    program.communicate(timeout=world.HANG)
    until = time.monotonic() + world.HANG
    while held() > before:
        check(time.monotonic() < until, ("descriptors stay", held() - before))
        time.sleep(0.05)


def test_who_was_named_goes_on(w):
    web(w, owners=True)
    first = w.start("curl", "-sS", "-m", "20", "http://web.example.test/first")
    w.record(name="web.example.test", state="open")
    w.events.clear()
    second = w.start("curl", "-sS", "-m", "20", "http://web.example.test/second")
    opened = w.record(name="web.example.test", state="open")
    w.tell({"op": "owner", "sandbox": "sb_x", "connection": opened["connection"]})
    for program in (second, first):
        program.communicate(timeout=world.HANG)
    equal([each[1] for each in w.seen], ["/second", "/first"], "the order at the server")


def test_limits(w):
    w.zones["web.example.test"] = ["127.0.0.1"]
    w.serve(80, w.http)
    w.open([WEB, LOOPBACK], limits={"requests_per_second": 3})
    url = "http://web.example.test/"
    done = w.run("curl", "-s", *[f"{url}{i}" for i in range(8)])
    check(b"over its limit: more than 3 requests a second" in done.stdout, done.stdout)
    check(w.seen and len(w.seen) < 8, f"{len(w.seen)} requests came")
    w.tell({"op": "limits", "sandbox": "sb_x", "limits": {"bytes_down": 100000}})
    check(w.curl(url + "big1000000")[0] in (200, -18, -56), "broken off")
    check("over its limit: the 100000 bytes it may receive" in
          w.wait_event(lambda e: "may receive" in e.get("reason", ""))["reason"], "the reason")
    equal(w.curl(url)[0], 429, "and nothing goes afterwards")
    w.tell({"op": "limits", "sandbox": "sb_x", "limits": {"connections": 1}})
    holder = w.start(sys.executable, "-c", """
import socket
s = socket.create_connection(('web.example.test', 80))
s.sendall(b'GET /hold HTTP/1.1\\r\\nHost: web.example.test\\r\\n\\r\\n'); s.recv(99)
print('held', flush=True); input()
""")
    holder.stdout.readline()
    status, body = w.curl(url)
    equal(status, 429, "one too many")
    check("more than 1 connections at once" in body, body)
    holder.communicate(b"\n")


if __name__ == "__main__":
    world.main(globals())
