#!/usr/bin/env python3
"""Where rules speak of requests, TLS ends in cloche-egress: methods, paths and secrets are seen to."""
import base64
import os
import subprocess
import sys
import threading
import zlib

import world
from world import check, equal

LOOPBACK = {"kind": "tcp", "cidr": "127.0.0.0/8", "ports": [1, 65535]}
API = {"kind": "https", "host": "api.example.test", "ports": [443, 443]}
PLACEHOLDER = "cloche-secret-0123456789abcdef"
VALUE = "real/value+1234567890&x=y"
SECRET = {**API, "secret": {"name": "TOKEN", "placeholder": PLACEHOLDER,
                            "where": ["header", "basic", "query", "json"]}}


def inside(w, *rules, trust=True, names=("api.example.test",), handler=None, ca=True, **more):
    context, _ = w.certificate(*names)
    w.zones["api.example.test"] = w.zones["other.test"] = ["127.0.0.1"]
    w.serve(443, handler or w.http, context=context)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-subj", "/CN=cloche sandbox sb_x", "-days", "2", "-keyout", "sb.key",
                    "-out", "sb.pem"], check=True, capture_output=True, cwd=w.dir)
    read = lambda name: open(os.path.join(w.dir, name)).read()
    if trust:
        w.tell({"op": "host_ca", "certificates": read("ca.pem")})
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": VALUE})
    authority = {"ca": {"certificate": read("sb.pem"), "key": read("sb.key")}} if ca else {}
    w.open([*rules, LOOPBACK], **authority, **more)
    return ["--cacert", w.dir + "/sb.pem"]


def test_methods_and_paths_of_https(w):
    ca = inside(w, {**API, "methods": ["GET"], "path_prefix": "/v1"})
    url = "https://api.example.test"
    equal(w.curl(*ca, url + "/v1/x"), (200, "GET /v1/x 0"), "granted")
    equal(w.curl(*ca, "-d", "x", url + "/v1/x")[0], 403, "another method")
    equal(w.curl(*ca, url + "/v2")[0], 403, "another path")
    equal(w.curl(*ca, "-H", "Host: evil.test", url + "/v1/x")[0], 403, "another host")
    equal(len(w.seen), 1, "what the server saw")
    record = w.record(kind="https", decision="allow")
    equal(len(record["certificate_sha256"]), 64, record)


def test_large_bodies_and_http2_clients(w):
    ca = inside(w, {**API, "methods": ["GET", "PUT"]})
    url = "https://api.example.test"
    equal(w.curl(*ca, "--http2", "-o", "/dev/null", "-w", "%{size_download} %{http_version}\n%{http_code}",
                 url + "/big20000000"), (200, "20000000 1.1"), "down")
    equal(w.curl(*ca, "-T", "-", url + "/up", input=b"u" * 5000000), (200, "PUT /up 5000000"), "up")
    equal(w.curl(*ca, url + "/events")[1].count("data:"), 3, "events")


def test_an_authority_that_comes_later(w):
    ca = inside(w, API, ca=False)
    url = "https://api.example.test/v1"
    equal(w.curl("--cacert", w.dir + "/ca.pem", url)[0], 200, "without one TLS passes")
    read = lambda name: open(os.path.join(w.dir, name)).read()
    rules = [{**API, "methods": ["GET"]}, LOOPBACK]
    w.tell({"op": "authority", "sandbox": "sb_x", "ca": {"certificate": read("sb.pem"), "key": read("sb.key")}})
    w.rules(rules)
    equal(w.curl(*ca, url), (200, "GET /v1 0"), "now it is ended")
    equal(w.curl(*ca, "-d", "x", url)[0], 403, "and rules about requests hold")


def test_trust_in_parts(w):
    ca = inside(w, {**API, "methods": ["GET"]})
    url = "https://api.example.test/v1"
    part = open(w.dir + "/ca.pem").read()
    w.tell({"op": "host_ca", "certificates": "", "first": True, "more": True})
    equal(w.curl(*ca, url)[0], 200, "nothing changes before the last part")
    w.tell({"op": "host_ca", "certificates": part, "first": False})
    equal(w.curl(*ca, url)[0], 200, "then it is believed")
    w.tell({"op": "host_ca", "certificates": ""})
    equal(w.curl(*ca, url)[0], 502, "and no longer")


def test_plain_grants_stay_untouched(w):
    ca = inside(w, API)
    equal(w.curl("--cacert", w.dir + "/ca.pem", "https://api.example.test/x")[0], 200,
          "the server's own certificate arrives")
    equal(w.curl(*ca, "https://api.example.test/x")[0], -60, "and not ours")


def test_servers_must_prove_who_they_are(w):
    ca = inside(w, {**API, "methods": ["GET"]}, names=("other.test",))
    status, body = w.curl(*ca, "https://api.example.test/")
    equal(status, 502, body)
    check("certificate: " in body, body)
    equal(w.seen, [], "what the server saw")


def test_servers_nobody_vouches_for(w):
    ca = inside(w, {**API, "methods": ["GET"]}, trust=False)
    status, body = w.curl(*ca, "https://api.example.test/")
    equal(status, 502, body)
    check("certificate: " in body, body)
    equal(w.seen, [], "what the server saw")


def test_the_secret_is_put_in_at_the_border(w):
    ca = inside(w, SECRET)
    url = "https://api.example.test/"
    equal(w.curl(*ca, "-H", f"Authorization: Bearer {PLACEHOLDER}", url + "h")[0], 200, "header")
    equal(w.seen[-1][2]["authorization"], f"Bearer {VALUE}", "as the server sees it")
    equal(w.curl(*ca, "-u", f"user:{PLACEHOLDER}", url + "b")[0], 200, "basic")
    kind, encoded = w.seen[-1][2]["authorization"].split()
    equal((kind, base64.b64decode(encoded).decode()), ("Basic", f"user:{VALUE}"), "basic")
    equal(w.curl(*ca, f"{url}q?a=1&key={PLACEHOLDER}&b=2")[0], 200, "query")
    equal(w.seen[-1][1], "/q?a=1&key=real%2Fvalue%2B1234567890%26x%3Dy&b=2", "as the server sees it")
    equal(w.curl(*ca, "-H", "Content-Type: application/json", "-d", f'{{"key": "{PLACEHOLDER}"}}',
                 url + "j")[0], 200, "json")
    equal(w.seen[-1][3].decode(), f'{{"key": "{VALUE}"}}', "as the server sees it")
    equal(w.curl(*ca, f"{url}{PLACEHOLDER}/path")[0], 200, "elsewhere")
    equal(w.seen[-1][1], f"/{PLACEHOLDER}/path", "it is left alone in a path")


def test_the_secret_goes_to_its_host_only(w):
    ca = inside(w, SECRET, {**API, "host": "other.test", "methods": ["GET"]},
                names=("api.example.test", "other.test"))
    for words in (["https://other.test/"], ["-H", "Host: other.test", "https://api.example.test/"]):
        w.curl(*ca, "-H", f"Authorization: {PLACEHOLDER}", *words)
    check(all(VALUE not in str(seen) for seen in w.seen), w.seen)


def test_only_where_it_was_declared(w):
    rule = {**API, "secret": {**SECRET["secret"], "where": ["header"]}}
    ca = inside(w, rule)
    w.curl(*ca, "-u", f"user:{PLACEHOLDER}", f"https://api.example.test/?key={PLACEHOLDER}")
    check(VALUE not in str(w.seen) and PLACEHOLDER in w.seen[-1][1], w.seen)
    check(VALUE not in base64.b64decode(w.seen[-1][2]["authorization"].split()[1]).decode(), w.seen)


def test_echoes_are_redacted(w):
    def echo(link):
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(9999)
        value = VALUE.encode()
        path = data.split()[1]
        if path == b"/chunked":
            link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Echo: " + value + b"\r\n\r\n")
            for byte in b"<" + value + b">":
                link.sendall(b"1\r\n%c\r\n" % byte)
            link.sendall(b"0\r\n\r\n")
        else:
            body = (b"x" * 40000 + value + b"y") * 2
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            link.sendall(body[:40010])
            link.sendall(body[40010:])
    ca = inside(w, SECRET, handler=echo)
    for path in ("chunked", "length"):
        status, body = w.curl(*ca, "-i", "-H", f"X: {PLACEHOLDER}", f"https://api.example.test/{path}")
        equal(status, 200, w.error)
        check(VALUE not in body, "the value came back")
        check("*" * len(VALUE) in body, body[-200:])


def test_an_answer_that_was_redacted_unasked_is_told(w):
    """A server that echoes would say of every guess whether it is right: the right one comes back as stars."""
    def echo(link):
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(9999)
        said = data.split(b"X-Guess: ")[1].split(b"\r\n")[0]
        link.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))
    ca = inside(w, SECRET, handler=echo)
    url = "https://api.example.test/"
    equal(w.curl(*ca, "-H", "X-Guess: wrong/value+1234567890&x=y", url)[1], "wrong/value+1234567890&x=y", "a wrong guess")
    equal(w.curl(*ca, "-H", f"X-Guess: {PLACEHOLDER}", url)[1], "*" * len(VALUE), "its own placeholder")
    w.wait_event(lambda e: e.get("redacted") == 1 and e.get("secrets"))
    check(not [e for e in w.events if e.get("unasked")], "neither is reported")
    equal(w.curl(*ca, "-H", f"X-Guess: {VALUE}", url)[1], "*" * len(VALUE), "the right guess")
    told = w.wait_event(lambda e: e.get("unasked"))
    check("guessing" in told["reason"] and told["name"] == "api.example.test" and VALUE not in str(told), told)


def test_compressed_answers_are_refused_where_a_secret_goes(w):
    def compressed(link):
        while b"\r\n\r\n" not in (data := link.recv(9999)):
            pass
        w.seen.append(data.decode())
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")
    ca = inside(w, SECRET, handler=compressed)
    status, body = w.curl(*ca, "--compressed", "-H", f"X: {PLACEHOLDER}", "https://api.example.test/")
    equal(status, 502, body)
    check("Accept-Encoding: identity" in w.seen[-1] and "gzip" not in w.seen[-1], w.seen)


def test_what_was_sent_does_not_come_back_by_another_rule(w):
    def tell(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(VALUE), VALUE.encode()))
    ca = inside(w, {**SECRET, "path_prefix": "/v1"}, API, handler=tell)
    equal(w.curl(*ca, "https://api.example.test/notes"), (200, "*" * len(VALUE)), "beside its path")


def tell_value(link):
    while b"\r\n\r\n" not in link.recv(9999):
        pass
    link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(VALUE), VALUE.encode()))


def test_values_stay_redacted_for_the_life_of_the_sandbox(w):
    ca = inside(w, {**SECRET, "path_prefix": "/v1"}, API, handler=tell_value)
    redacted = (200, "*" * len(VALUE))
    words = [*ca, "https://api.example.test/notes"]
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": "another-value"})
    equal(w.curl(*words), redacted, "when it was rotated")
    for i in range(20):
        w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": f"one-of-many-{i}"})
    equal(w.curl(*words), redacted, "often")
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": ""})
    equal(w.curl(*words), redacted, "when it was removed")
    w.rules([API, LOOPBACK])
    equal(w.curl(*words), redacted, "when no rule speaks of it any more")
    w.rules([{**API, "kind": "tcp"}, LOOPBACK])
    check(w.curl(*words)[0] < 0, "and then nothing passes that cannot be read")
    read = lambda name: open(os.path.join(w.dir, name)).read()
    w.events.clear()
    w.open([API, LOOPBACK], ca={"certificate": read("sb.pem"), "key": read("sb.key")})
    equal(w.curl(*words), redacted, "when its sockets are handed over again")


def test_values_stay_redacted_when_cloche_egress_was_started_again(w):
    """The daemon says so: it is all the same to a new process."""
    w.tell({"op": "redact", "sandbox": "sb_x", "value": VALUE, "hosts": [["api.example.test", 443]]})
    ca = inside(w, API, handler=tell_value)
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": ""})
    equal(w.curl(*ca, "https://api.example.test/"), (200, "*" * len(VALUE)), "at its host")
    w.tell({"op": "redact", "sandbox": "sb_x", "value": "x", "hosts": "none"})
    w.wait_event(lambda e: e["event"] == "error" and "hosts" in e["message"])
    check(w.curl(*ca, "https://api.example.test/")[0] < 0, "an invalid message grants nothing")


def slow_answer(w):
    """A handler that begins its answer, says so, and ends it when it is let."""
    def handler(link):
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(9999)
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        w.seen.append(data)
        link.recv(1)  # until it is cut
    return handler


def under_way(w, ca, change, reason):
    client = w.start("curl", "-sS", "-m", "30", *ca, "https://api.example.test/slow")
    until = world.time.monotonic() + world.HANG
    while not w.seen:
        check(world.time.monotonic() < until, "the request arrived")
        world.time.sleep(0.02)
    change()
    client.communicate(timeout=world.HANG)
    check(client.returncode not in (0, 28), f"curl ended with {client.returncode}")
    equal(w.record(name="api.example.test")["reason"], reason, "why")


def test_requests_under_way_end_when_their_secret_changes(w):
    ca = inside(w, SECRET, handler=slow_answer(w))
    under_way(w, ca, lambda: w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": "another-value"}),
              "secret TOKEN has changed")


def test_requests_under_way_end_when_a_secret_is_granted_there(w):
    plain = {**API, "methods": ["GET"]}
    ca = inside(w, plain, handler=slow_answer(w))
    under_way(w, ca, lambda: w.rules([plain, SECRET, LOOPBACK]), "a secret was granted to this host")


def test_answers_in_parts_are_refused_where_a_secret_goes(w):
    def part(link):
        while b"\r\n\r\n" not in (data := link.recv(9999)):
            pass
        w.seen.append(data.decode().lower())
        more = b"Content-Range: bytes 0-0/9\r\n" if b"/range" in data else b""
        status = b"200 OK" if b"/range" in data else b"206 Partial Content"
        link.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: 1\r\n\r\nx" % (status, more))
    ca = inside(w, SECRET, handler=part)
    for path in ("part", "range"):
        status, body = w.curl(*ca, "-H", "Range: bytes=0-0", "-H", "Request-Range: bytes=0-0", "-H", 'If-Range: "x"',
                              f"https://api.example.test/{path}")
        equal(status, 502, body)
        check("a part, although the whole was asked for" in body, body)
    check(all("range" not in each.partition("\r\n")[2] for each in w.seen), w.seen)


def test_answers_before_the_answer_have_an_end(w):
    def hints(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        count = 16 if len(w.seen) == 0 else 100000
        w.seen.append(count)
        for _ in range(count):
            link.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    ca = inside(w, {**API, "methods": ["GET"]}, handler=hints)
    equal(w.curl(*ca, "https://api.example.test/"), (200, "ok"), "16 of them")
    status, body = w.curl(*ca, "-i", "https://api.example.test/")
    check("200 OK" not in body and body.count("103 Early") <= 16, (status, body.count("103")))
    check("without an end" in w.wait_event(lambda e: "without an end" in e.get("reason", ""))["reason"], "told")


def test_spellings_of_a_value_are_redacted(w):
    escaped = "".join("\\u%04x" % ord(c) if i % 2 else c for i, c in enumerate(VALUE))
    percent = "".join("%%%02x" % ord(c) if i % 3 == 0 else "%%%02X" % ord(c) if i % 3 == 1 else c for i, c in enumerate(VALUE))
    body = f'{{"a": "{escaped}", "b": "?x={percent}&y"}}'.encode()

    def tell(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(0, len(body), 7):
            link.sendall(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]))
        link.sendall(b"0\r\n\r\n")
    ca = inside(w, SECRET, handler=tell)
    equal(w.curl(*ca, "https://api.example.test/"),
          (200, '{"a": "%s", "b": "?x=%s&y"}' % ("*" * len(escaped), "*" * len(percent))), "what came back")


def test_events_are_not_held_back_by_the_mask(w):
    """An event is there before the next one comes."""
    def events(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
        w.seen.append(link.recv(9999))  # until the program has read it, and went
    ca = inside(w, SECRET, handler=events)
    code = """
import socket, ssl, sys
t = ssl.create_default_context(cafile=sys.argv[1]).wrap_socket(socket.create_connection(('api.example.test', 443)), server_hostname='api.example.test')
t.settimeout(8)
t.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.test\\r\\n\\r\\n')
got = b''
while b'data: 1\\n\\n' not in got: got += t.recv(999)
print('there')
"""
    equal(w.python(code, ca[1]).strip(), "there", "the first event")


def test_masks_that_wait_are_bounded(w):
    """Bytes that answers hold back count against the sandbox, as long as they last."""
    looked = threading.Event()

    def begin(link):
        while b"\r\n\r\n" not in link.recv(9999):
            pass
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot")
        looked.wait(world.HANG)
        link.sendall(b" whole")
    ca = inside(w, SECRET, handler=begin)
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": '"' * 8192})
    code = """
import socket, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[1])
def read(t, size):
    got = b''
    while len(got) < size and (more := t.recv(size - len(got))): got += more
    return got
def ask():
    t = context.wrap_socket(socket.create_connection(('api.example.test', 443)), server_hostname='api.example.test')
    t.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.test\\r\\nConnection: close\\r\\n\\r\\n')
    return t, read(t, 12)[9:].decode()
held = [ask() for _ in range(80)]
print(*[status for _, status in held], flush=True)
for t, _ in held: read(t, 9999)
print(ask()[1])
"""
    program = w.start(sys.executable, "-c", code, ca[1])
    answers = program.stdout.readline().decode().split()
    looked.set()
    passed = answers.count("200")
    equal(answers, ["200"] * passed + ["429"] * (80 - passed), "the late ones are refused")
    check(60 < passed < 80, f"{passed} at once")
    equal(program.communicate(timeout=world.HANG)[0], b"200\n", "when they ended")


def test_what_is_put_in_has_bounds(w):
    ca = inside(w, SECRET)
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": "v" * 8192})
    url = "https://api.example.test/"
    path = w.dir + "/body.json"
    with open(path, "w") as file:
        file.write('["' + PLACEHOLDER * 30000 + '"]')
    for words in (["--data-binary", "@" + path], ["-H", "Transfer-Encoding: chunked", "--data-binary", "@" + path]):
        status, body = w.curl(*ca, "-H", "Content-Type: application/json", *words, url)
        equal(status, 413, body)
        check("1 MiB" in body, body)
    status, body = w.curl(*ca, "-H", "X: " + PLACEHOLDER * 20, url)
    equal(status, 400, body)
    check("with its secrets the head is too long" in body, body)
    equal(w.seen, [], "what the server saw")
    equal(w.curl(*ca, "-H", "X: " + PLACEHOLDER, url)[0], 200, "one of them fits")
    equal(len(w.seen[0][2]["x"]), 8192, "as the server sees it")


def test_what_is_behind_a_body_that_was_put_in_is_judged(w):
    """A body is read whole for its placeholders; a second request behind it is one of its own."""
    ca = inside(w, {**SECRET, "methods": ["POST"]}, canaries=[{"name": "aws-secret-key", "value": "decoy" * 8}])
    body = zlib.compress(b'{"a": 1}' * 20)
    out = w.python(f"""
import socket, ssl
body = bytes.fromhex({body.hex()!r})
context = ssl.create_default_context(cafile={ca[1]!r})
s = context.wrap_socket(socket.create_connection(('api.example.test', 443), 10), server_hostname='api.example.test')
s.settimeout(5)
second = b'DELETE /admin HTTP/1.1\\r\\nHost: api.example.test\\r\\nX: ' + b'x' * len(body) + b'\\r\\n\\r\\n'
s.sendall(b'POST /up HTTP/1.1\\r\\nHost: api.example.test\\r\\nContent-Type: application/json\\r\\nContent-Encoding: deflate\\r\\n'
          b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body + second)
data = b''
try:
    while piece := s.recv(65536): data += piece
except (TimeoutError, ConnectionResetError): pass
print(data.count(b'HTTP/1.1 200'), b'HTTP/1.1 403' in data)
""")
    equal(out.strip(), "1 True", "the first passes, the second is refused")
    equal(len(w.seen), 1, w.seen)


def test_a_secret_is_of_one_sandbox_and_can_be_forgotten(w):
    ca = inside(w, SECRET)
    words = [*ca, "-H", f"X: {PLACEHOLDER}", "https://api.example.test/"]
    equal(w.curl(*words)[0], 200, "with a value")
    equal(w.record(kind="https", decision="allow")["secrets"], {"TOKEN": 1}, "uses are reported")
    w.tell({"op": "secret", "sandbox": "sb_other", "name": "TOKEN", "value": "of-another-sandbox"})
    w.curl(*words)
    equal(w.seen[-1][2]["x"], VALUE, "another sandbox's is another")
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": "another-value"})
    w.curl(*words)
    equal(w.seen[-1][2]["x"], "another-value", "rotated")
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": ""})
    count = len(w.seen)
    status, body = w.curl(*words)
    equal(status, 403, body)
    check("secret TOKEN, which no longer exists" in body, body)
    equal(len(w.seen), count, "and nothing is sent")


if __name__ == "__main__":
    world.main(globals())
