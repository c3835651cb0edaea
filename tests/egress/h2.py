#!/usr/bin/env python3
"""HTTP/2 where TLS ends in cloche-egress: each stream is a request, decided on and passed on as it streams."""
import base64
import json
import os
import subprocess
import threading
import time

import world
from inside import API, LOOPBACK, PLACEHOLDER, SECRET, VALUE
from world import HERE, check, equal

ALL = {**API, "methods": ["GET", "HEAD", "POST", "PUT"]}
V1 = {**API, "methods": ["GET", "POST"], "path_prefix": "/v1"}
URL = "https://api.example.test"


def serve(w, *rules, **options):
    """A real HTTP/2 server; what it saw is in w.seen, as it comes."""
    w.certificate("api.example.test")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-subj", "/CN=cloche sandbox sb_x", "-days", "2", "-keyout", "sb.key",
                    "-out", "sb.pem"], check=True, capture_output=True, cwd=w.dir)
    w.zones["api.example.test"] = ["127.0.0.1"]
    server = subprocess.Popen(["node", HERE + "/h2_server.js", "443", w.dir + "/api.example.test.key",
                               w.dir + "/api.example.test.pem"], stdout=subprocess.PIPE)
    equal(json.loads(server.stdout.readline()), "ready", "the server")

    def listen():
        for line in server.stdout:
            w.seen.append(json.loads(line))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()

    def stop():
        server.kill()
        server.wait()
        thread.join()
        server.stdout.close()

    w.at_end.append(stop)
    read = lambda name: open(os.path.join(w.dir, name)).read()
    w.tell({"op": "host_ca", "certificates": read("ca.pem")})
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": VALUE})
    w.open([*(rules or (ALL,)), LOOPBACK], ca={"certificate": read("sb.pem"), "key": read("sb.key")},
           **options)
    return ["--http2", "--cacert", w.dir + "/sb.pem"]


def node(w, script, **options):
    options.setdefault("timeout", 60)  # node takes its time when the machine is busy
    done = w.run("node", HERE + "/h2_client.js", w.dir + "/sb.pem", script, **options)
    check(done.returncode == 0, done.stdout.decode() + done.stderr.decode())
    return [json.loads(line) for line in done.stdout.splitlines()]


def frames(w, code):
    done = w.run(world.sys.executable, "-c", "from h2_frames import *\nca = %r\n%s" % (w.dir + "/sb.pem", code),
                 env={"PYTHONPATH": HERE}, timeout=60)
    check(done.returncode == 0, done.stderr.decode())
    return done.stdout.decode()


def memory(w):
    """Of cloche-egress, in KiB: the most it ever had."""
    for line in open(f"/proc/{w.egress.pid}/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise world.Failure("cloche-egress has no memory")


def fits(w, mebibytes):
    """Under a sanitizer most of the memory is the sanitizer's: then only what happened is judged."""
    with open(world.EGRESS, "rb") as program:
        if b"__asan_init" in program.read():
            print(f"     under AddressSanitizer: {memory(w)} KiB say nothing", flush=True)
            return
    check(memory(w) < mebibytes << 10, f"{memory(w)} KiB were enough")


def requests(w):
    return [each for each in w.seen if "method" in each]


def test_curl_speaks_http2(w):
    ca = serve(w, V1)
    version = ["-w", " %{http_version}\n%{http_code}"]
    equal(w.curl(*ca, *version, URL + "/v1/x?q=1"), (200, "GET /v1/x?q=1 0 2"), "granted")
    equal(w.curl(*ca, "-d", "hello", URL + "/v1/x")[1], "POST /v1/x 5", "with a body")
    equal(w.curl("--http1.1", "--cacert", w.dir + "/sb.pem", *version, URL + "/v1/x")[0], 502,
          "a server that only speaks HTTP/2 is not understood by HTTP/1.1")
    status, body = w.curl(*ca, *version, URL + "/v2")
    check(status == 403 and body.endswith(" 2"), (status, body))
    check("blocked: GET /v2 at api.example.test:443 is not granted" in body, body)
    equal([(s["method"], s["path"], s["headers"][":authority"]) for s in requests(w)],
          [("GET", "/v1/x?q=1", "api.example.test"), ("POST", "/v1/x", "api.example.test")], "what the server saw")
    record = w.record(kind="https", decision="allow", requests=1)
    equal(len(record["certificate_sha256"]), 64, record)
    equal(w.record(kind="https", decision="deny")["reason"], "GET /v2 at api.example.test:443 is not granted", "told")


def test_servers_that_speak_http1_only(w):
    ca = serve(w, ALL)
    w.certificate("api.example.test")
    context = world.ssl.SSLContext(world.ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(w.dir + "/api.example.test.pem", w.dir + "/api.example.test.key")
    w.serve(8443, w.http, context=context)
    w.rules([{**ALL, "ports": [8443, 8444]}, LOOPBACK])
    got = w.curl(*ca, "-w", " %{http_version}\n%{http_code}", "-d", "abc", URL + ":8443/x")
    equal(got, (200, "POST /x 3 1.1"), "the program gets what the server speaks")
    status, body = w.curl(*ca, URL + ":8444/")
    check(status == 502 and "127.0.0.1:8444" in body and "refused" in body, (status, body))


def test_each_stream_is_decided_on(w):
    serve(w, V1, {**API, "action": "deny", "path_prefix": "/v1/admin"})
    out = node(w, """
        const paths = ['/v1/a', '/v2', '/v1/../v2', '/v1/%2e%2e/v2', '/v1/admin', '/v1/%61dmin', '/v1/Admin',
                       '/v1//admin', '/v10', '/v1/b'];
        const got = await Promise.all(paths.map((path) => ask({ ':path': path })));
        say(got.map((each) => each.status));
        say((await ask({ ':path': '/v1/a', ':method': 'DELETE' })).status);
        say((await ask({ ':path': '/v1/a', 'x-http-method-override': 'DELETE' })).status);
        say((await ask({ ':path': '/v1/a', 'x-original-url': '/v1/admin' })).status);
        say((await ask({ ':path': '/v1/a', ':method': 'TRACE' })).status);
        say((await ask({ ':path': '/v1/c' })).body);
    """)
    equal(out, [[200, *[403] * 8, 200], 403, 403, 403, 403, "GET /v1/c 0"], "answers on one connection")
    equal(sorted(s["path"] for s in requests(w)), ["/v1/a", "/v1/b", "/v1/c"], "what the server saw")
    equal(w.record(decision="allow", kind="https")["requests"], 3, "requests on the connection")


def test_authorities_must_agree_in_each_stream(w):
    serve(w, V1)
    out = node(w, """
        const names = ['evil.test', 'api.example.test:444', 'x@api.example.test', 'api.example.test.evil.test'];
        for (const name of names) say((await ask({ ':path': '/v1/x', ':authority': name })).status >= 400);
        say((await ask({ ':path': '/v1/x', host: 'evil.test' })).status);
        const fine = await ask({ ':path': '/v1/x', ':authority': 'API.example.test:443' });
        say(fine.status);
    """)
    equal(out, [True, True, True, True, 403, 200], "answers")
    equal([s["headers"][":authority"] for s in requests(w)], ["api.example.test"], "what the server saw")
    check("the request is for evil.test:443" in w.record(decision="deny")["reason"], "told")


def test_shapes_that_smuggle_are_refused(w):
    serve(w, V1)
    out = frames(w, """
shapes = dict(
    te=head(('transfer-encoding', 'chunked'), method='POST'), connection=head(('connection', 'close')),
    upgrade=head(('upgrade', 'websocket')), te_gzip=head(('te', 'gzip')),
    crlf=head(('x', 'a\\r\\nhost: evil.test')), lf=head(('x', 'a\\nb')), nul=head(('x', 'a\\0b')),
    name=head(('x\\r\\ny', 'b')), capital=head(('X-Up', 'b')), blank=head(('x', ' b')),
    path_crlf=head(path='/v1/x HTTP/1.1\\r\\nhost: evil.test'), path_url=head(path='https://evil.test/v1'),
    no_path=head(path=None), no_method=head(method=None), http=head(scheme='http'),
    twice=head((':path', '/v1/y')), late=head(('x', 'y'), (':path', '/v1/y')), status=head((':status', '200')),
    lengths=head(('content-length', '1'), ('content-length', '1'), method='POST'),
    sign=head(('content-length', '+1'), method='POST'), hosts=head(('host', 'api.example.test'), ('host', 'evil.test')),
    connect=head(method='CONNECT', scheme=None, path=None), websocket=head((':protocol', 'websocket'), method='CONNECT'),
    nobody=head(authority=None), many=head(*[('x', 'y')] * 300))
for name, block in shapes.items():
    link = Link(ca)
    link.ask(1, block)
    print(name, link.outcome(1).replace('\\n', ' '))
link = Link(ca)
link.ask(1, head(('content-length', '3'), method='POST'), b'abcd')
print('longer', link.outcome(1))
link = Link(ca)
link.ask(1, head(('content-length', '5'), method='POST'), b'abcd')
print('shorter', link.outcome(1))
link = Link(ca)
link.send(frame(HEADERS, END_HEADERS, 1, head(method='POST')), frame(DATA, 0, 1, b'x'),
          frame(HEADERS, END_HEADERS | END_STREAM, 1, field('content-length', '7')))
print('trailer', link.outcome(1))
link = Link(ca)
link.ask(1, head()); print('fine', link.outcome(1))
""")
    lines = out.splitlines()
    equal(len(lines), 29, out)
    for line in lines[:-1]:
        name, what = line.split(" ", 1)
        check(what.startswith(("reset ", "goaway ", "blocked: HTTP")), line)
    equal(lines[-1], "fine GET /v1/x 0", "and what is none passes")
    equal([s["path"] for s in requests(w)], ["/v1/x"], "what the server saw as a whole request")
    w.record(decision="deny", kind="https")


def test_bodies_both_ways(w):
    ca = serve(w)
    size = 100 << 20
    got = w.curl(*ca, "-m", "120", "-o", "/dev/null", "-w", "%{size_download} %{http_version}\n%{http_code}",
                 f"{URL}/big{size}", timeout=120)
    equal(got, (200, f"{size} 2"), "down")
    path = w.dir + "/upload"
    with open(path, "wb") as f:
        f.truncate(size)
    equal(w.curl(*ca, "-m", "120", "-T", path, URL + "/up", timeout=120), (200, f"PUT /up {size}"), "up")
    os.unlink(path)
    record = w.record(kind="https", decision="allow")
    check(record["bytes_down"] > size, record)
    fits(w, 64)
    equal(w.curl(*ca, "-I", URL + "/h")[0], 200, "HEAD")


def test_who_reads_slowly_makes_the_server_wait(w):
    serve(w)
    out = node(w, """
        const stream = session.request({ ':path': '/big104857600' });
        await new Promise((resolve) => stream.once('response', resolve));
        stream.pause();
        // Other requests run meanwhile.
        say((await ask({ ':path': '/other' })).body);
        await new Promise((resolve) => setTimeout(resolve, 1500));
        let size = 0;
        stream.on('data', (data) => { size += data.length; });
        stream.resume();
        await new Promise((resolve) => stream.on('end', resolve));
        say(size);
        const never = session.request({ ':path': '/never', ':method': 'POST' }, { endStream: false });
        never.on('error', () => {});
        let sent = 0;
        const piece = Buffer.alloc(1 << 16);
        while (sent < 64 << 20 && never.write(piece)) sent += piece.length;
        say((await ask({ ':path': '/other' })).body);
        never.close(8);
    """, timeout=60)
    equal(out, ["GET /other 0", 104857600, "GET /other 0"], "what the program got")
    fits(w, 64)


def test_a_dialogue_passes_as_it_grows(w):
    serve(w)
    out = node(w, """
        const stream = session.request({ ':path': '/echo', ':method': 'POST', te: 'trailers' }, { endStream: false });
        const got = [];
        stream.on('data', (data) => got.push(data.toString()));
        let trailers;
        stream.on('trailers', (given) => { trailers = given; });
        for (let i = 0; i < 5; ++i) {
            const answered = new Promise((resolve) => stream.once('data', resolve));
            stream.write(`word ${i}`);
            await answered;  // before the next word
        }
        stream.end();
        await new Promise((resolve) => stream.on('close', resolve));
        say(got.join()); say(trailers['grpc-status']); say(trailers['x-size']);
    """)
    equal(out, ["word 0,word 1,word 2,word 3,word 4", "0", "30"], "what the program got")


def test_events_trailers_and_hints(w):
    serve(w)
    out = node(w, """
        const stream = session.request({ ':path': '/events' });
        let text = '', trailers;
        stream.on('trailers', (given) => { trailers = given; });
        for (let i = 0; i < 3; ++i) {
            text += await new Promise((resolve) => stream.once('data', resolve));
            if (i < 2) say((await ask({ ':path': '/next' })).status);
        }
        await new Promise((resolve) => stream.on('close', resolve));
        say(text); say(trailers['x-sum']);
        const hinted = await ask({ ':path': '/hints' });
        say([hinted.informed, hinted.body]);
        const sending = session.request({ ':path': '/p', ':method': 'POST' }, { endStream: false, waitForTrailers: true });
        sending.on('wantTrailers', () => sending.sendTrailers({ 'x-check': 'sum' }));
        sending.end('abc');
        sending.resume();
        await new Promise((resolve) => sending.on('close', resolve));
    """)
    equal(out, [204, 204, "data: 0\n\ndata: 1\n\ndata: 2\n\n", "3", [[103], "after hints"]], "what the program got")
    equal(requests(w)[-1]["trailers"]["x-check"], "sum", "the program's trailer")


def test_what_breaks_off_is_no_end(w):
    ca = serve(w)
    for path in ("/die", "/half", "/short"):
        status, body = w.curl(*ca, URL + path)
        check(w.error.startswith("curl: ("), (path, status, body))
    out = node(w, """
        say((await ask({ ':path': '/die' })).error !== undefined);
        const second = connect();
        const early = await ask({ ':path': '/early', ':method': 'POST' }, Buffer.alloc(1 << 20), second);
        say([early.status, early.body]);
        const bye = await ask({ ':path': '/leave' }, undefined, second);
        say(bye.body);
        // Node may never say `close` after an early answer; when nothing is left to wait for, it is closed.
        if (!second.destroyed)
            await new Promise((resolve) => { second.on('close', resolve); process.once('beforeExit', resolve); });
        const third = connect();
        say((await ask({ ':path': '/again' }, undefined, third)).body);
        const left = third.request({ ':path': '/echo', ':method': 'POST' }, { endStream: false });
        left.on('error', () => {});
        await new Promise((resolve) => left.on('response', resolve));
        left.destroy(new Error('left'));
        await new Promise((resolve) => left.on('close', resolve));
        say((await ask({ ':path': '/after' }, undefined, third)).body);
        third.destroy();
    """)
    equal(out, [True, [413, "too much"], "goodbye", "GET /again 0", "GET /after 0"], "what the program got")
    until = time.monotonic() + world.HANG
    while {"aborted": "/echo"} not in w.seen:
        check(time.monotonic() < until, "a request that the program drops is dropped at the server")
        time.sleep(0.05)


def test_secrets_are_put_in_and_redacted(w):
    serve(w, SECRET)
    basic = base64.b64encode(f"user:{PLACEHOLDER}".encode()).decode()
    out = node(w, """
        const mark = '%s';
        const got = await ask({ ':path': '/mirror?key=' + mark, ':method': 'POST', 'x-mirror': mark,
            authorization: 'Basic %s', 'accept-encoding': 'gzip', 'content-type': 'application/json' },
            JSON.stringify({ key: mark }));
        say([got.status, got.headers['x-mirror'], got.trailers['x-trailer'], got.body]);
        const long = session.request({ ':path': '/x', ':method': 'POST', 'content-type': 'application/json' },
            { endStream: false });
        long.end(Buffer.alloc(2 << 20));
        say((await new Promise((resolve) => long.on('response', resolve)))[':status']);
        say((await ask({ ':path': '/y' })).status);
    """ % (PLACEHOLDER, basic))
    seen = requests(w)[0]
    equal(seen["path"], "/mirror?key=real%2Fvalue%2B1234567890%26x%3Dy", "the query")
    equal(seen["headers"]["x-mirror"], VALUE, "a header")
    equal(seen["headers"]["accept-encoding"], "identity", "so that it can be read")
    equal(base64.b64decode(seen["headers"]["authorization"].split()[1]).decode(), f"user:{VALUE}", "basic")
    equal((seen["body"], int(seen["headers"]["content-length"])), (f'{{"key":"{VALUE}"}}', seen["size"]), "json")
    check(not [e for e in w.events if e.get("unasked")], "redacted, as it was asked for")
    node(w, "await ask({ ':path': '/mirror', 'x-mirror': '%s' }); say(1);" % VALUE)
    check("guessing" in w.wait_event(lambda e: e.get("unasked"))["reason"], "and not")
    status, header, trailer, body = out[0]
    equal((status, header, trailer), (200, "*" * len(VALUE), "*" * len(VALUE)), "what came back")
    check(VALUE not in body and body.count("*" * len(VALUE)) >= 2, body)
    equal(out[1:], [413, 200], "a body that is too long, and the next request")


def test_answers_in_parts_or_without_an_end_are_refused(w):
    serve(w, SECRET)
    out = node(w, """
        const part = await ask({ ':path': '/part', range: 'bytes=0-0' });
        say([part.status, part.body]);
        const endless = await ask({ ':path': '/endless' });
        say([endless.status, endless.informed.length]);
        say((await ask({ ':path': '/after' })).body);
    """)
    equal(out[0][0], 502, out)
    check("a part, although the whole was asked for" in out[0][1], out)
    check(out[1][0] == 502 and out[1][1] <= 16, out)
    equal(out[2], "GET /after 0", "the next request")
    check("range" not in requests(w)[0]["headers"], "it was not asked for")


def test_what_is_put_into_a_body_has_bounds(w):
    serve(w, SECRET)
    w.tell({"op": "secret", "sandbox": "sb_x", "name": "TOKEN", "value": "v" * 8192})
    out = node(w, """
        const mark = '%s';
        const json = { ':path': '/j', ':method': 'POST', 'content-type': 'application/json' };
        say((await ask(json, JSON.stringify(mark.repeat(30000)))).status);
        say((await ask({ ':path': '/h', 'x-many': mark.repeat(20) })).status);
        say((await ask(json, JSON.stringify(mark))).status);
    """ % PLACEHOLDER)
    equal(out, [413, 400, 200], "answers")
    equal([(each["path"], each["size"]) for each in requests(w)], [("/j", 8194)], "what the server saw")


def test_trailers_do_not_say_what_belongs_in_a_head(w):
    serve(w)
    out = frames(w, """
for name, value in (('x-http-method-override', 'DELETE'), ('x_original_url', '/admin'), ('authorization', 'x'),
                    ('cookie', 'a=b'), ('host', 'evil.test')):
    link = Link(ca)
    link.send(frame(HEADERS, END_HEADERS, 1, head(method='POST')), frame(DATA, 0, 1, b'x'),
              frame(HEADERS, END_HEADERS | END_STREAM, 1, field(name, value)))
    print(name, link.outcome(1).strip())
""")
    for line in out.splitlines():
        check(line.split(" ", 1)[1].startswith(("blocked: HTTP/2: the trailer", "reset ")), line)
    equal(requests(w), [], "what the server saw as a whole request")


def test_heads_that_wait_are_bounded(w):
    """40 connections at once would hold far more memory than a sandbox may have."""
    ca = serve(w)
    out = frames(w, """
import resource
block = head(*[('x-%d' % i, 'v' * 4000) for i in range(14)], path='/never', method='POST')
links, calm = [], 0
for _ in range(40):
    link = Link(ca)
    try:
        for i in range(60):
            parts = [block[at:at + 16000] for at in range(0, len(block), 16000)]
            link.send(frame(HEADERS, 0, 2 * i + 1, parts[0]),
                      *[frame(CONTINUATION, END_HEADERS if part is parts[-1] else 0, 2 * i + 1, part) for part in parts[1:]])
    except OSError: calm += 1
    links.append(link)
for link in links:
    link.tls.settimeout(1)
    while (got := link.next()) is not None:
        if got[0] == RST_STREAM and got[3] == b'\\0\\0\\0\\x0b' or got[0] == GOAWAY: calm += 1
print(calm > 0)
""")
    equal(out.strip(), "True", "some were told to be calm")
    print(f"     {memory(w)} KiB at most", flush=True)
    fits(w, 160)
    equal(w.curl(*ca, URL + "/still")[0], 200, "and the others are served")


def test_floods_end_the_connection(w):
    ca = serve(w)
    out = frames(w, """
def attempt(send):
    link = Link(ca, patience=20)
    try: send(link)
    except OSError: pass
    return link.end()

def rapid(link):
    for i in range(10000):
        link.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, head(path='/flood')),
                  frame(RST_STREAM, 0, 2 * i + 1, b'\\0\\0\\0\\x08'))
def made(link):  # resets that we send ourselves
    for i in range(10000):
        link.send(frame(HEADERS, END_HEADERS, 2 * i + 1, head(path='/flood', method='POST')),
                  frame(WINDOW_UPDATE, 0, 2 * i + 1, b'\\0\\0\\0\\0'))
def refused(link):
    for i in range(10000): link.ask(2 * i + 1, head(method='DELETE'))
def ping(link):
    for _ in range(100): link.send(frame(PING, 0, 0, bytes(8)) * 1000)
def settings(link):
    for _ in range(100): link.send(frame(SETTINGS, 0, 0) * 1000)
def empty(link):
    link.send(frame(HEADERS, END_HEADERS, 1, head(method='POST')))
    for _ in range(100): link.send(frame(DATA, 0, 1) * 1000)
def continuation(link):
    link.send(frame(HEADERS, 0, 1, head()))
    for i in range(10000): link.send(frame(CONTINUATION, 0, 1, field('x', 'y' * 1000)))
for flood in (rapid, made, refused, ping, settings, empty, continuation):
    print(flood.__name__, attempt(flood))
link = Link(ca)
link.ask(1, field('bomb', 'b' * 3000, index=True) + head())  # out of order: refused, but the table has it
link.ask(3, head() + b'\\xbe' * 16000)
print('bomb', link.outcome(3).strip())
link = Link(ca)
link.send(*[frame(HEADERS, END_HEADERS, 2 * i + 1, head(path='/never', method='POST')) for i in range(120)])
print('streams', link.outcome(2 * 119 + 1))
""")
    lines = dict(line.split(" ", 1) for line in out.splitlines())
    for name in ("rapid", "made", "refused", "ping", "settings", "empty", "continuation"):
        check(lines[name].startswith("goaway ") or lines[name] == "closed", (name, lines[name]))
    check(lines["bomb"] == "blocked: HTTP/2: the head is too long" or lines["bomb"].startswith("goaway"), lines["bomb"])
    check(lines["streams"].startswith("reset ") or lines["streams"].startswith("goaway"), lines["streams"])
    check(len([s for s in requests(w) if s["path"] == "/flood"]) < 5000, "the server is spared most of it")
    fits(w, 64)
    equal(w.curl(*ca, URL + "/still")[0], 200, "and the others are served")


def test_limits_count_streams(w):
    serve(w, limits={"requests_per_second": 3})
    out = node(w, """
        const got = await Promise.all([...Array(8).keys()].map((i) => ask({ ':path': '/' + i })));
        const refused = got.filter((each) => each.status === 429);
        say([refused.length, got.length - refused.length === got.filter((each) => each.status === 200).length,
             refused[0].body]);
    """)
    count, others, body = out[0]
    check(4 <= count <= 6 and others, out)
    check("over its limit: more than 3 requests a second" in body, body)
    equal(len(requests(w)), 8 - count, "what the server saw")


def test_rules_that_change_reach_open_streams(w):
    serve(w)
    client = w.start("node", HERE + "/h2_client.js", w.dir + "/sb.pem", """
        const stream = session.request({ ':path': '/echo', ':method': 'POST' }, { endStream: false });
        stream.on('error', () => {});
        await new Promise((resolve) => stream.on('response', resolve));
        say('open');
        await new Promise((resolve) => stream.on('close', resolve));
        say('cut');
    """)
    equal(client.stdout.readline(), b'"open"\n', "it lives")
    w.rules([{**ALL, "path_prefix": "/public"}, LOOPBACK])
    equal(client.communicate(timeout=world.HANG)[0], b'"cut"\n', "and is cut")


def test_a_grease_ech_is_no_obstacle_where_tls_ends_here(w):
    serve(w, V1)
    # OpenSSL sends no such extension: the hello is made by hand, and our answer to it is looked at.
    code = """
import socket, struct
def vector(data, width): return len(data).to_bytes(width, 'big') + data
def extension(kind, data): return struct.pack('!H', kind) + vector(data, 2)
name = b'api.example.test'
extensions = extension(0, vector(b'\\0' + vector(name, 2), 2)) + extension(10, vector(b'\\0\\x17', 2)) + \\
    extension(13, vector(b'\\x04\\x03\\x08\\x04', 2)) + extension(11, b'\\1\\0') + \\
    extension(0xfe0d, b'\\0\\0\\1\\0\\1' + bytes(1) + vector(bytes(32), 2) + vector(bytes(160), 2))
hello = b'\\x03\\x03' + bytes(32) + b'\\0' + vector(b'\\xc0\\x2b', 2) + b'\\1\\0' + vector(extensions, 2)
s = socket.create_connection(('api.example.test', 443)); s.settimeout(8)
s.sendall(b'\\x16\\x03\\x01' + vector(b'\\x01' + vector(hello, 3), 2))
got = s.recv(9)
print('server hello' if got[0] == 22 and got[5] == 2 else ('alert', got))
"""
    equal(w.python(code), "server hello\n", "TLS ends here")
    w.rules([API, LOOPBACK])
    check("alert" in w.python(code), "and where it does not, nobody knows what is hidden")
    check("ECH" in w.record(decision="deny")["reason"], "told")


if __name__ == "__main__":
    world.main(globals())
