#!/usr/bin/env python3
"""Programs that prefer a proxy get the same decisions: CONNECT, absolute URLs, SOCKS5."""
import world
from world import check, equal

LOOPBACK = {"kind": "tcp", "cidr": "127.0.0.0/8", "ports": [1, 65535]}
API = {"kind": "https", "host": "api.example.test", "ports": [443, 443]}
WEB = {"kind": "http", "host": "*.web.test", "ports": [80, 80]}


def everything(w, *rules):
    context, ca = w.certificate("api.example.test", "evil.test")
    for name in ("api.example.test", "a.web.test", "b.web.test", "evil.test"):
        w.zones[name] = ["127.0.0.1"]
    w.serve(443, w.http, context=context)
    w.serve(80, w.http)
    w.open([*(rules or (API, WEB)), LOOPBACK])
    return ca


def test_connect(w):
    ca = everything(w, API)
    proxy = ["-x", f"http://127.0.0.1:{w.proxy_port}", "--cacert", ca]
    equal(w.curl(*proxy, "https://api.example.test/c"), (200, "GET /c 0"), "granted")
    equal(w.record(name="api.example.test")["kind"], "https", "kind")
    status = w.curl(*proxy, "https://evil.test/")[0]
    check(status < 0 and "403" in w.error, (status, w.error))
    record = w.record(name="evil.test", decision="deny")
    equal((record["kind"], record["port"]), ("connect", 443), record)
    equal(w.curl(*proxy, "--connect-to", "evil.test:443:api.example.test:443", "https://evil.test/")[0],
          -35, "another name inside")
    equal(len(w.seen), 1, "what the servers saw")
    equal({q[0] for q in w.queries}, {"api.example.test"}, "names that were asked for")


def test_absolute_urls(w):
    everything(w, WEB)
    proxy = ["-x", f"http://127.0.0.1:{w.proxy_port}"]
    equal(w.curl(*proxy, "http://a.web.test/1"), (200, "GET /1 0"), "granted")
    check("proxy-connection" not in w.seen[0][2], w.seen)
    done = w.run("curl", "-s", *proxy, "http://a.web.test/2", "http://b.web.test/3")
    equal(done.stdout, b"GET /2 0GET /3 0", "another host on the same connection")
    w.record(name="b.web.test")
    status, body = w.curl(*proxy, "http://evil.test/")
    equal(status, 403, body)
    check("evil.test:80 is not granted to sb_x" in body, body)
    equal([s[1] for s in w.seen], ["/1", "/2", "/3"], "what the server saw")


def test_socks(w):
    ca = everything(w)
    for kind in ("socks5h", "socks5"):
        proxy = ["-x", f"{kind}://127.0.0.1:{w.proxy_port}", "--cacert", ca]
        equal(w.curl(*proxy, "https://api.example.test/s"), (200, "GET /s 0"), kind)
        equal(w.curl(*proxy, "http://a.web.test/t"), (200, "GET /t 0"), kind)
    w.seen.clear()
    equal(w.curl("-x", f"socks5h://127.0.0.1:{w.proxy_port}", "https://evil.test/")[0], -97, "refused")
    check("socks" in w.record(name="evil.test", decision="deny")["kind"], "the record")
    equal(w.seen, [], "what the servers saw")


SOCKS = """
import socket, sys
name = bytes.fromhex(sys.argv[2]); s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(8)
s.sendall(b'\\5\\1\\0'); s.recv(2)
s.sendall(b'\\5\\1\\0\\3' + bytes([len(name)]) + name + b'\\0\\x50'); print(s.recv(10)[1])
"""
CONNECT = """
import socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(8)
s.sendall(b'CONNECT ' + bytes.fromhex(sys.argv[2]) + b' HTTP/1.1\\r\\n\\r\\n'); print(s.recv(999).split(b'\\r\\n')[0].decode())
"""


def test_names_that_two_read_differently(w):
    everything(w, WEB)
    for name in (b"evil.test\0.web.test", b"a.web.test\0", b"a.web.test\r\nX: y", b"a.web.test evil.test",
                 b"evil.test@a.web.test", b"a.web.test@evil.test", b"0x7f.1", b"2130706433", b"127.1",
                 b"0177.0.0.1", b"a.web.test..", b".web.test", b"evil.test#.web.test",
                 b"evil.test/.web.test", "\uff41.web.test".encode(), "\u0430.web.test".encode(),
                 "a\u3002web.test".encode(), "a.w\u0435b.test".encode(), b"xn--a.xn--wb-xlc.test", b"a.web.test%00",
                 b"[::1]", b"::1", b"localhost", b"127.0.0.1.", b"0", b"0x7f000001", b"1.1.1.1.web.test@evil.test", b"evilweb.test",
                 b"web.test", b"a.web.test.evil.test", b"127.0.0.2x"):
        equal(w.python(SOCKS, w.proxy_port, name.hex()).strip(), "2", name)
        out = w.python(CONNECT, w.proxy_port, (name + b":80").hex())
        check("HTTP/1.1 400" in out or "HTTP/1.1 403" in out, (name, out))
    equal(w.queries, [], "names that were asked for")
    equal(w.seen, [], "what the server saw")
    equal(w.python(SOCKS, w.proxy_port, b"A.Web.Test.".hex()).strip(), "0", "the same, otherwise written")
    for port in (b":0", b":65536", b":65616", b":", b"", b":80:80", b":-1"):
        check("HTTP/1.1 400" in w.python(CONNECT, w.proxy_port, (b"a.web.test" + port).hex()), port)


def test_connect_names_one_host(w):
    ca = everything(w, API, WEB)
    code = """
import socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(8)
s.sendall(b'CONNECT api.example.test:443 HTTP/1.1\\r\\nHost: ' + sys.argv[2].encode() + b'\\r\\n\\r\\n'); print(s.recv(999).split(b'\\r\\n')[0].decode())
"""
    for host in ("evil.test:443", "api.example.test:80", "a.web.test", "api.example.test@evil.test:443", "127.0.0.1:443"):
        check("HTTP/1.1 400" in w.python(code, w.proxy_port, host), host)
    check("HTTP/1.1 200" in w.python(code, w.proxy_port, "API.example.test.:443"), "the same, otherwise written")
    equal(w.curl("-x", f"http://127.0.0.1:{w.proxy_port}", "--cacert", ca, "--proxy-header", "Host: evil.test:443",
                 "https://api.example.test/")[0] < 0, True, "curl with another Host")
    equal(w.seen, [], "what the servers saw")


def test_a_record_split_byte_by_byte_behind_a_proxy(w):
    ca = everything(w, API)
    code = """
import socket, ssl, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(8); s.setsockopt(6, 1, 1)
for byte in b'CONNECT api.example.test:443 HTTP/1.1\\r\\nHost: api.example.test:443\\r\\n\\r\\n': s.sendall(bytes([byte]))
s.recv(999)
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = ssl.create_default_context(cafile=sys.argv[2]).wrap_bio(i, o, server_hostname='api.example.test')
while True:
    try: t.do_handshake(); break
    except ssl.SSLWantReadError: pass
    for byte in o.read(): s.sendall(bytes([byte]))
    i.write(s.recv(65536))
t.write(b'GET /split HTTP/1.1\\r\\nHost: api.example.test\\r\\n\\r\\n')
for byte in o.read(): s.sendall(bytes([byte]))
while True:
    try: print(t.read(999)); break
    except ssl.SSLWantReadError: i.write(s.recv(65536))
"""
    check("200 OK" in w.python(code, w.proxy_port, ca), "it passes")


def test_slow_and_silent_clients_do_not_stop_others(w):
    ca = everything(w)
    code = """
import socket, sys
held = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(300)]
for i, s in enumerate(held): s.sendall((b'', b'G', b'CONNECT a', b'\\5', b'\\5\\1\\0\\5\\1')[i % 5])
print('held', flush=True); input()
"""
    holder = w.start(world.sys.executable, "-c", code, str(w.proxy_port))
    equal(holder.stdout.readline(), b"held\n", "300 connections that say little")
    equal(w.curl("--cacert", ca, "https://api.example.test/")[0], 200, "others are served")
    holder.communicate(b"\n")


if __name__ == "__main__":
    world.main(globals())
