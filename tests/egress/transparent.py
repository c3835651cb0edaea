#!/usr/bin/env python3
"""Programs that know of no proxy reach what was granted, and nothing else."""
import hashlib
import random
import time

import world
from world import check, equal

LOOPBACK = {"kind": "tcp", "cidr": "127.0.0.0/8", "ports": [1, 65535]}
API = {"kind": "https", "host": "api.example.test", "ports": [443, 443]}
HTTP = {"kind": "http", "host": "web.example.test", "ports": [80, 80]}


def with_api(w):
    context, ca = w.certificate("api.example.test", "evil.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    w.zones["evil.test"] = ["127.0.0.1"]
    w.serve(443, w.http, context=context)
    return ca


def test_granted_https_works(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/x"), (200, "GET /x 0"), "curl")
    record = w.record(name="api.example.test", decision="allow")
    equal((record["kind"], record["port"], record["rule"], record["address"]),
          ("https", 443, "r1", "127.0.0.1"), "the record")
    check(record["bytes_up"] > 100 and record["bytes_down"] > 100, f"bytes: {record}")


def test_nothing_granted_nothing_resolved(w):
    ca = with_api(w)
    w.open([])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -6, "curl cannot resolve")
    equal(w.seen, [], "requests at the server")
    equal(w.queries, [], "questions to the name server")
    record = w.record(kind="dns", name="api.example.test", decision="deny")
    check("cloche net sb_x allow api.example.test" in record["reason"], record)


def test_names_are_answered_from_a_range_of_our_own(w):
    w.open([API, {"kind": "https", "host": "*.wild.test", "ports": [443, 443]}])
    code = """
import socket, sys
for name in sys.argv[1:]:
    try: print(sorted({a[4][0] for a in socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM)}))
    except socket.gaierror: print('none')
"""
    names = ["api.example.test", "API.Example.TEST", "a.wild.test", "wild.test", "b.a.wild.test",
             "evil.test", "api.example.test.evil.test", "_dns.api.example.test"]
    lines = w.python(code, *names).splitlines()
    check(lines[0].startswith("['198.1") and "'fdc1:c4e::" in lines[0], "an address of each family: " + lines[0])
    equal(lines[1], lines[0], "the same name, the same address")
    equal([line == "none" for line in lines[2:]], [False, True, False, True, True, True], lines)
    w.events.clear()
    w.tell({"op": "close", "sandbox": "sb_x"})
    w.open([{"kind": "https", "host": "*.wild.test", "ports": [443, 443]}, API])
    equal(w.python(code, "b.a.wild.test", names[0]).splitlines(), [lines[4], lines[0]], "the same when it comes again")
    equal(w.queries, [], "questions to the name server")


def test_ipv6_inside_is_served(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    equal(w.curl("-6", "--cacert", ca, "https://api.example.test/6"), (200, "GET /6 0"), "curl -6")


def test_dns_over_tcp_is_answered(w):
    w.open([API])
    code = """
import socket, struct
q = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3api\\7example\\4test\\0\\0\\1\\0\\1'
s = socket.create_connection(('192.0.2.1', 53)); s.sendall(struct.pack('!H', len(q)) + q)
print(s.recv(4096)[-4:].hex())
"""
    check(w.python(code).startswith(("c612", "c613")), "the answer")


def test_another_port_is_refused_fast(w):
    w.zones["api.example.test"] = ["127.0.0.1"]
    port = w.serve(8080, w.http)
    w.open([API, LOOPBACK])
    status, body = w.curl("http://api.example.test:8080/")
    equal(status, 403, "plain HTTP gets a page")
    check("api.example.test:8080 is not granted to sb_x; grant it with: "
          "cloche net sb_x allow api.example.test:8080" in body, body)
    equal(w.curl("-k", "https://api.example.test:8443/")[0], -35, "TLS gets an alert")
    check("access denied" in w.error, w.error)
    equal(w.seen, [], f"requests at port {port}")
    w.record(name="api.example.test", port=8080, decision="deny")
    w.record(name="api.example.test", port=8443, decision="deny")


def test_addresses_are_refused_without_a_range(w):
    w.serve(80, w.http)
    w.serve(80, w.http, address="::1")
    w.open([HTTP, API])
    for address in ("1.1.1.1", "10.0.0.1", "169.254.169.254", "[2606:4700::1]", "198.18.0.9",
                    "[::ffff:10.0.0.1]"):
        equal(w.curl(f"http://{address}/")[0], 403, address)
    equal(w.seen, [], "requests at the server")
    equal(w.queries, [], "questions to the name server")


def test_a_range_grants_addresses(w):
    w.serve(80, w.http, address="127.9.9.9")
    code = """
import socket
s = socket.create_connection(('127.9.9.9', 80)); s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); print(s.recv(99))
"""
    w.open([LOOPBACK])
    check("Refused" in w.python(code), "the sandbox's own loopback is its own")
    equal(w.curl("-x", f"http://127.0.0.1:{w.proxy_port}", "-p", "http://127.9.9.9/"),
          (200, "GET / 0"), "by name of the proxy the machine's")


def test_private_addresses_need_a_rule_of_their_own(w):
    ca = with_api(w)
    for address in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.1.1", "198.18.0.1",
                    "0.0.0.0", "::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"):
        w.zones["api.example.test"] = [address]
        w.open([API])
        equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -35, address)
        w.record(decision="deny", name="api.example.test")
        w.events.clear()
    equal(w.seen, [], "requests at the server")


def test_rebinding_leads_to_the_checked_address(w):
    ca = with_api(w)
    w.zones["api.example.test"] = lambda n: ["192.0.2.1", "127.0.0.1"] if n == 1 else ["127.0.0.1"]
    w.open([API])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -35, "first")
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -35, "second")
    equal(w.seen, [], "requests at the server")


def test_fronting_is_refused(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "--connect-to", "evil.test:443:api.example.test:443",
                 "https://evil.test/")[0], -35, "another name in the hello")
    record = w.record(decision="deny", name="api.example.test")
    check("the ClientHello is for evil.test" in record["reason"], record)
    w.events.clear()
    openssl = w.run("openssl", "s_client", "-noservername", "-connect", "api.example.test:443",
                    input=b"")
    check(b"access denied" in openssl.stderr, openssl.stderr)
    check("no name" in w.record(decision="deny")["reason"], "no name in the hello")
    equal(w.seen, [], "requests at the server")


def test_plain_http_is_not_https(w):
    with_api(w)
    w.open([API, LOOPBACK])
    status, body = w.curl("http://api.example.test:443/")
    equal(status, 403, "a page")
    check("granted for https only" in body, body)


def test_a_hello_may_come_byte_by_byte(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    code = """
import socket, ssl, sys
inside, outside = socket.socketpair()
import threading
real = socket.create_connection(('api.example.test', 443)); real.setsockopt(6, 1, 1)
def up():
    first = True
    while data := outside.recv(65536):
        if first:
            head, content = data[:3], data[5:]
            for byte in content: real.sendall(head + b'\\0\\1' + bytes([byte]))
            first = False
        else: real.sendall(data)
def down():
    while data := real.recv(65536): outside.sendall(data)
for f in (up, down): threading.Thread(target=f, daemon=True).start()
c = ssl.create_default_context(cafile=sys.argv[1])
try:
    t = c.wrap_socket(inside, server_hostname='api.example.test')
    t.sendall(b'GET /split HTTP/1.1\\r\\n\\r\\n'); print(t.recv(999).decode())
except ssl.SSLError as e: print(e)
"""
    # OpenSSL as the server takes a hello in 1-byte records; what matters is that we read its name.
    w.python(code, ca)
    record = w.record(name="api.example.test")
    equal(record["decision"], "allow", record)


def with_openssl(w, *options):
    """A real openssl s_server, and the SHA-256 of its certificate."""
    _, ca = w.certificate("api.example.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    server = world.subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:443", "-www", "-key", w.dir + "/api.example.test.key", "-cert",
         w.dir + "/api.example.test.pem", "-cert_chain", ca, *options],
        stdin=world.subprocess.DEVNULL, stdout=world.subprocess.PIPE, stderr=world.subprocess.DEVNULL)
    w.at_end.append(lambda: (server.kill(), server.wait(), server.stdout.close()))
    while b"ACCEPT" not in server.stdout.readline():
        check(server.poll() is None, "openssl s_server lives")
    der = world.ssl.PEM_cert_to_DER_cert(open(w.dir + "/api.example.test.pem").read())
    return ca, hashlib.sha256(der).hexdigest()


def test_the_certificate_of_tls_1_2_is_recorded(w):
    ca, sha256 = with_openssl(w, "-tls1_2")
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "curl")
    equal(w.record(name="api.example.test")["certificate_sha256"], sha256, "in the record")
    # A program has checked the certificate before it resumes a session: the server does not send it
    # again.
    code = """
import socket, ssl, sys
c = ssl.create_default_context(cafile=sys.argv[1]); session = None
for _ in range(2):
    t = c.wrap_socket(socket.create_connection(('api.example.test', 443)), server_hostname='api.example.test', session=session)
    t.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    while t.recv(65536): pass
    session = t.session; print(t.session_reused); t.close()
"""
    w.events.clear()
    equal(w.python(code, ca).split(), ["False", "True"], "resumed")
    w.wait_event(lambda e: e.get("state") == "end" and e["name"] == "api.example.test" and
                 "certificate_sha256" not in e)


def test_the_certificate_of_tls_1_3_is_hidden(w):
    ca, _ = with_openssl(w, "-tls1_3")
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "curl")
    check("certificate_sha256" not in w.record(name="api.example.test"), "nobody but the program has seen it")


def test_certificates_of_nginx(w):
    nginx = world.shutil.which("nginx", path=world.os.environ["PATH"] + ":/usr/sbin")
    if nginx is None:
        print("     skipped: there is no nginx")
        return
    _, ca = w.certificate("api.example.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    server = """server {{ listen 127.0.0.1:{}; listen 127.0.0.1:{} ssl; ssl_protocols {}; ssl_certificate api.example.test.pem;
                          ssl_certificate_key api.example.test.key; return 200 "of nginx"; }}"""
    with open(w.dir + "/nginx.conf", "w") as conf:
        conf.write("daemon off; master_process off; pid nginx.pid; error_log nginx.log; events { }\nhttp { access_log off;\n")
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
            conf.write(f"{kind}_temp_path {w.dir}/{kind};\n")
        conf.write(server.format(8001, 443, "TLSv1.2") + server.format(8002, 444, "TLSv1.3") + "}\n")
    process = world.subprocess.Popen([nginx, "-p", w.dir, "-c", "nginx.conf", "-e", w.dir + "/nginx.log"],
                                     stderr=world.subprocess.DEVNULL)
    w.at_end.append(lambda: (process.kill(), process.wait()))
    until = world.time.monotonic() + world.HANG
    while world.subprocess.run(["curl", "-s", "-o", "/dev/null", "http://127.0.0.1:8002/"]).returncode != 0:
        if process.poll() is not None or world.time.monotonic() > until:
            raise world.Failure("nginx does not serve: " + open(w.dir + "/nginx.log").read())
    w.open([API, {**API, "ports": [444, 444]}, LOOPBACK])
    for port in (443, 444):
        equal(w.curl("--cacert", ca, f"https://api.example.test:{port}/"), (200, "of nginx"), port)
    der = world.ssl.PEM_cert_to_DER_cert(open(w.dir + "/api.example.test.pem").read())
    equal(w.record(port=443)["certificate_sha256"], hashlib.sha256(der).hexdigest(), "TLS 1.2")
    check("certificate_sha256" not in w.record(port=444), "TLS 1.3")


def test_a_certificate_may_come_byte_by_byte(w):
    """A server's records of one byte each; the program gets what was sent, we read it."""
    _, ca = w.certificate("api.example.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    context = world.ssl.SSLContext(world.ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(w.dir + "/api.example.test.pem", w.dir + "/api.example.test.key")
    context.maximum_version = world.ssl.TLSVersion.TLSv1_2

    def split(link):
        incoming, outgoing = world.ssl.MemoryBIO(), world.ssl.MemoryBIO()
        server = context.wrap_bio(incoming, outgoing, server_side=True)
        link.setsockopt(6, 1, 1)
        first = True
        while True:
            try:
                server.do_handshake()
                done = True
            except world.ssl.SSLWantReadError:
                done = False
            flight = outgoing.read()
            while first and flight:
                size = int.from_bytes(flight[3:5], "big")
                for byte in flight[5:5 + size]:
                    link.sendall(flight[:3] + b"\0\1" + bytes([byte]))
                flight = flight[5 + size:]
            first = False
            link.sendall(flight)
            if done:
                break
            incoming.write(link.recv(65536))
        link.recv(65536)
        server.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        link.sendall(outgoing.read())

    w.serve(443, split)
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/"), (200, "ok"), "curl")
    der = world.ssl.PEM_cert_to_DER_cert(open(w.dir + "/api.example.test.pem").read())
    equal(w.record(name="api.example.test")["certificate_sha256"], hashlib.sha256(der).hexdigest(), "in the record")


def test_tcp_and_half_close(w):
    def echo(link):
        data = b""
        while piece := link.recv(65536):
            data += piece
        link.sendall(str(len(data)).encode() + b" bytes, and more after your end")
    w.zones["db.example.test"] = ["127.0.0.1"]
    w.serve(5432, echo)
    w.open([{"kind": "tcp", "host": "db.example.test", "ports": [5400, 5500]}, LOOPBACK])
    code = """
import socket
s = socket.create_connection(('db.example.test', 5432))
s.sendall(b'x' * 3000000); s.shutdown(1)
print(s.makefile().read())
"""
    equal(w.python(code).strip(), "3000000 bytes, and more after your end", "half-closed")
    record = w.record(name="db.example.test")
    equal((record["kind"], record["bytes_up"]), ("tcp", 3000000), "the record")


def test_floods_do_not_mix(w):
    """More at a time than are copied; while one is read, what is under way of the others waits."""
    w.zones["db.example.test"] = ["127.0.0.1"]

    def flood(link):
        block = random.Random(int(link.makefile().readline())).randbytes(1 << 16)
        for _ in range(128):
            link.sendall(block)
    w.serve(5432, flood)
    w.open([{"kind": "tcp", "host": "db.example.test", "ports": [5432, 5432]}, LOOPBACK])
    code = """
import random, socket
links = [socket.create_connection(('db.example.test', 5432)) for _ in range(24)]
got = [bytearray() for _ in links]
def read(i, size):
    more = b'x'
    while more and size > 0: more = links[i].recv(min(size, 1 << 20)); got[i] += more; size -= len(more)
for i, s in enumerate(links): s.sendall(b'%d\\n' % i)
for size in [3 << 20] + [1 << 20] * 6:
    for i in range(24): read(i, size)
print(*[i for i in range(24) if got[i] != random.Random(i).randbytes(1 << 16) * 128])
"""
    equal(w.python(code), "\n", "those that got something else")


def test_bytes_beyond_a_limit_do_not_leave(w):
    """However many connections they are on."""
    w.zones["db.example.test"] = ["127.0.0.1"]
    sums = []

    def sink(link):
        got = 0
        link.sendall(b"x")
        try:
            while piece := link.recv(1 << 16):
                got += len(piece)
        finally:
            sums.append(got)
    w.serve(5432, sink)
    w.open([{"kind": "tcp", "host": "db.example.test", "ports": [5432, 5432]}, LOOPBACK], limits={"bytes_up": 1000000})
    w.python("""
import socket
links = [socket.create_connection(('db.example.test', 5432)) for _ in range(50)]
for s in links: s.recv(1)  # all are there
for s in links:
    s.setblocking(False)
    try: s.send(bytes(4 << 20))
    except OSError: pass
for s in links:
    s.setblocking(True)
    try: s.shutdown(socket.SHUT_WR); s.recv(1)
    except OSError: pass
""")
    until = time.monotonic() + world.HANG
    while len(sums) < 50:
        check(time.monotonic() < until, f"all have ended, not only {len(sums)}")
        time.sleep(0.02)
    check(0 < sum(sums) <= 1000000, f"{sum(sums)} bytes came")


def test_little_after_much_is_not_held_back(w):
    """While much comes one is not woken for each packet; what comes behind it passes all the same."""
    w.zones["db.example.test"] = ["127.0.0.1"]

    def flood(link):
        for _ in range(3):
            link.recv(1)
            for _ in range(125):
                link.sendall(b"x" * 64_000)
                time.sleep(0.0002)  # so that the relay is ahead, and waits
            link.sendall(b"tail")
        link.recv(1)  # the end comes together with the last bytes
        link.sendall(b"y" * 3_000_000 + b"end")
        link.close()

    w.serve(5432, flood)
    w.open([{"kind": "tcp", "host": "db.example.test", "ports": [5432, 5432]}, LOOPBACK])
    out = w.python("""
import socket
s = socket.create_connection(('db.example.test', 5432), 20)
def take(size):
    data = b''
    while len(data) < size:
        got = s.recv(1 << 20)
        if not got: break
        data += got
    return len(data), data[-4:]
for _ in range(3):
    s.sendall(b'?')
    print(*take(8_000_004))
s.sendall(b'?')
print(*take(1 << 30))
""")
    equal(out.splitlines(), ["8000004 b'tail'"] * 3 + ["3000003 b'yend'"], "what came")


def test_ssh_is_ssh(w):
    def server(link):
        link.sendall(b"SSH-2.0-judge\r\n")
        w.seen.append(link.recv(99))
        link.sendall(b"welcome")
    w.zones["git.example.test"] = ["127.0.0.1"]
    w.serve(22, server)
    w.open([{"kind": "ssh", "host": "git.example.test", "ports": [22, 22]}, {**LOOPBACK, "ports": [22, 22]}])
    code = """
import socket, sys
s = socket.create_connection(('git.example.test', 22)); s.settimeout(10)
s.sendall(sys.argv[1].encode() + b'\\r\\n')
try:
    data = b''
    while piece := s.recv(99): data += piece
    print(data)
except ConnectionResetError: print('reset')
"""
    check("welcome" in w.python(code, "SSH-2.0-client"), "ssh passes")
    w.seen.clear()
    check("reset" in w.python(code, "GET / HTTP/1.1"), "others do not")
    equal([seen for seen in w.seen if seen], [], "what the server got")


def test_rules_change_at_once(w):
    ca = with_api(w)
    w.serve(7, lambda link: [link.sendall(data) for data in iter(lambda: link.recv(99), b"")])
    w.zones["echo.example.test"] = ["127.0.0.1"]
    echo = {"kind": "tcp", "host": "echo.example.test", "ports": [7, 7]}
    w.open([echo, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -6, "not yet")
    code = """
import socket, sys
s = socket.create_connection(('echo.example.test', 7)); s.sendall(b'a'); s.recv(1)
print('open', flush=True); sys.stdin.readline()
try: print('read', s.recv(1))
except ConnectionResetError: print('reset')
"""
    client = w.start(world.sys.executable, "-c", code)
    equal(client.stdout.readline(), b"open\n", "the connection lives")
    w.rules([API, LOOPBACK])
    record = w.record(name="echo.example.test")
    equal(record["reason"], "it is not granted any more", record)
    equal(client.communicate(b"\n")[0], b"reset\n", "and is cut")
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "granted now")
    # The host stays granted, but not for bytes that nobody reads.
    for rest in ([{**echo, "kind": "ssh"}], [echo, {**echo, "kind": "http", "action": "deny", "path_prefix": "/x"}]):
        w.rules([echo, LOOPBACK])
        client = w.start(world.sys.executable, "-c", code)
        equal(client.stdout.readline(), b"open\n", "the connection lives")
        w.rules([*rest, LOOPBACK])
        equal(client.communicate(b"\n")[0], b"reset\n", rest)


def test_rules_expire(w):
    w.serve(7, lambda link: [link.sendall(data) for data in iter(lambda: link.recv(99), b"")])
    w.zones["echo.example.test"] = ["127.0.0.1"]
    soon = int(world.time.time()) + 2
    w.open([{"kind": "tcp", "host": "echo.example.test", "ports": [7, 7], "expires": soon}, LOOPBACK])
    code = """
import socket
s = socket.create_connection(('echo.example.test', 7)); s.sendall(b'a'); s.recv(1)
try: print('read', s.recv(1))
except ConnectionResetError: print('reset')
"""
    equal(w.python(code).strip(), "reset", "cut when it expired")


def test_rules_that_cannot_be_read_grant_nothing(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "granted")
    w.tell({"op": "rules", "sandbox": "sb_x", "rules": [{"action": "alow"}]})
    w.wait_event(lambda e: e["event"] == "error" and e["sandbox"] == "sb_x")
    check(w.curl("--cacert", ca, "https://api.example.test/")[0] < 0, "nothing is granted")


def test_answers_over_tcp_when_they_are_long(w):
    ca = with_api(w)
    w.zones["api.example.test"] = "truncated"
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "curl")
    check(("api.example.test", 1, "tcp") in w.queries, w.queries)


def test_requests_cannot_be_judged_without_looking(w):
    ca = with_api(w)
    w.open([{**API, "methods": ["GET"]}, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], -35, "refused")
    equal(w.seen, [], "requests at the server")


def test_it_has_given_up_what_it_does_not_need(w):
    w.open([])
    status = open(f"/proc/{w.egress.pid}/status").read()
    check("Seccomp:\t2" in status and "NoNewPrivs:\t1" in status, status)


def test_the_sandbox_ends(w):
    ca = with_api(w)
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "granted")
    w.tell({"op": "close", "sandbox": "sb_x"})
    w.wait_event(lambda e: e["event"] == "closed")
    w.open([API, LOOPBACK])
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "and comes again")


if __name__ == "__main__":
    world.main(globals())
