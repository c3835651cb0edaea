#!/usr/bin/env python3
"""TLS that passes says one name, however often it says hello; TLS that ends here costs a bounded amount of work."""
import struct
import subprocess
import sys

import world
from world import check, equal

LOOPBACK = {"kind": "tcp", "cidr": "127.0.0.0/8", "ports": [1, 65535]}
API = {"kind": "https", "host": "api.example.test", "ports": [443, 443]}

# Two hellos by hand: the first offers a key that the server does not take, so it asks for a second (HelloRetryRequest).
TWO_HELLOS = r"""
import socket, struct, sys
how, second, point = sys.argv[1], sys.argv[2].encode(), bytes.fromhex(sys.argv[3])
address = ('127.0.0.1', 443) if how == 'direct' else ('api.example.test', 443)
def vector(data, width): return len(data).to_bytes(width, 'big') + data
def extension(kind, data): return struct.pack('!H', kind) + vector(data, 2)
def hello(name, group, key):
    e = extension(0, vector(b'\0' + vector(name, 2), 2)) + extension(43, b'\x02\x03\x04')
    e += extension(10, vector(b'\0\x1d\0\x18', 2)) + extension(13, vector(b'\x04\x03\x08\x04', 2))
    e += extension(51, vector(struct.pack('!H', group) + vector(key, 2), 2))
    body = b'\x03\x03' + b'r' * 32 + vector(b's' * 32, 1) + vector(b'\x13\x01\x13\x02', 2) + b'\1\0' + vector(e, 2)
    return b'\1' + vector(body, 3)
def records(message, size): 
    return b''.join(b'\x16\x03\x03' + vector(message[i:i + size], 2) for i in range(0, len(message), size))
first = records(hello(b'api.example.test', 0x1d, b'k' * 32), 9999)
size = 7 if how == 'pieces' else 9999
again = b'\x14\x03\x03\0\1\1' + records(hello(second, 0x18, point), size)
s = socket.create_connection(address); s.settimeout(8)
got = b''
try:
    s.sendall(first + (again if how == 'glued' else b''))
    while len(got) < 5: got += s.recv(4096)
    if how != 'glued': s.sendall(again)
    while piece := s.recv(65536): got += piece
except OSError as e: got += repr(e).encode()
print(got[:1].hex(), len(got))
"""


def retrying(w):
    """A server of one curve, and the names that hellos had."""
    context, ca = w.certificate("api.example.test", "evil.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    context.set_ecdh_curve("secp384r1")
    names = []
    context.sni_callback = lambda link, name, _: names.append(name)
    w.serve(443, w.http, context=context)
    key = subprocess.run("openssl ecparam -name secp384r1 -genkey -noout | openssl ec -pubout -outform DER",
                         shell=True, check=True, capture_output=True).stdout
    return ca, names, key[-97:].hex()


def test_a_second_hello_names_the_same_host(w):
    _, names, point = retrying(w)
    w.open([API, LOOPBACK])
    subprocess.run([sys.executable, "-c", TWO_HELLOS, "direct", "evil.test", point], check=True)
    check("evil.test" in names, f"without us the server takes the name of the second hello: {names}")
    for how in ("apart", "pieces", "glued"):
        names.clear()
        w.events.clear()
        w.python(TWO_HELLOS, how, "evil.test", point)
        record = w.record(name="api.example.test", decision="deny")
        check("evil.test" in record["reason"], record)
        check("evil.test" not in names, f"{how}: what the server heard: {names}")
    names.clear()
    w.events.clear()
    w.python(TWO_HELLOS, "apart", "api.example.test", point)
    equal(w.record(name="api.example.test")["decision"], "allow", "the same name once more")
    equal(set(names), {"api.example.test"}, "what the server heard")


def test_a_server_may_ask_for_another_hello(w):
    ca, names, _ = retrying(w)
    w.open([API, LOOPBACK])
    equal(w.curl("--curves", "X25519:secp384r1", "--cacert", ca, "https://api.example.test/again"), (200, "GET /again 0"), "curl")
    equal(w.curl("--tls-max", "1.2", "--cacert", ca, "-T", "-", "https://api.example.test/up", input=b"z" * 3000000),
          (200, "PUT /up 3000000"), "an upload in TLS 1.2, whose records are looked at")
    equal(set(names), {"api.example.test"}, "what the server heard")


def test_a_connection_is_not_negotiated_anew(w):
    _, ca = w.certificate("api.example.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:443", "-tls1_2", "-client_renegotiation", "-key",
         w.dir + "/api.example.test.key", "-cert", w.dir + "/api.example.test.pem"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    w.at_end.append(lambda: (server.kill(), server.wait()))
    while b"ACCEPT" not in server.stdout.readline():
        check(server.poll() is None, "openssl s_server lives")
    w.open([API, LOOPBACK])
    client = w.start("openssl", "s_client", "-tls1_2", "-connect", "api.example.test:443", "-servername",
                     "api.example.test")
    client.stdin.write(b"hello\n")
    client.stdin.flush()
    while b"hello" not in server.stdout.readline():
        check(server.poll() is None, "openssl s_server lives")
    client.stdin.write(b"R\n")
    client.stdin.flush()
    record = w.record(name="api.example.test")
    check(record["decision"] == "deny" and "renegotiation" in record["reason"], record)
    client.communicate(timeout=world.HANG)


# New keys, again and again, each of which asks for new keys of ours: by OpenSSL itself.
NEW_KEYS = r"""
import ctypes, socket, sys
lib = ctypes.CDLL('libssl.so.3')
for name in ('TLS_client_method', 'SSL_CTX_new', 'SSL_new'): getattr(lib, name).restype = ctypes.c_void_p
context = ctypes.c_void_p(lib.SSL_CTX_new(ctypes.c_void_p(lib.TLS_client_method())))
ssl = ctypes.c_void_p(lib.SSL_new(context))
s = socket.create_connection(('api.example.test', 443))
lib.SSL_set_fd(ssl, s.fileno())
lib.SSL_ctrl(ssl, 55, 0, b'api.example.test')
assert lib.SSL_connect(ssl) == 1, 'no handshake'
lib.SSL_write(ssl, b'GET /', 5)
for i in range(int(sys.argv[1])):
    if lib.SSL_key_update(ssl, 1) != 1 or lib.SSL_do_handshake(ssl) != 1: break
    if sys.argv[2] == 'told' and i % 16 == 0: lib.SSL_write(ssl, b'x' * 4096, 4096)
request = b' HTTP/1.1\r\nHost: api.example.test\r\nConnection: close\r\n\r\n'
lib.SSL_write(ssl, request, len(request))
buffer = ctypes.create_string_buffer(4096)
print(i, lib.SSL_read(ssl, buffer, 4096), buffer.value[:15])
"""


def ending(w):
    """TLS ends here."""
    context, ca = w.certificate("api.example.test")
    w.zones["api.example.test"] = ["127.0.0.1"]
    w.serve(443, w.http, context=context)
    w.tell({"op": "host_ca", "certificates": open(ca).read()})
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    "/CN=of the sandbox", "-days", "2", "-keyout", "own.key", "-out", "own.pem"], cwd=w.dir, check=True,
                   capture_output=True)
    own = {"certificate": open(w.dir + "/own.pem").read(), "key": open(w.dir + "/own.key").read()}
    w.open([{**API, "methods": ["GET"]}, LOOPBACK], ca=own)
    return w.dir + "/own.pem"


def test_new_keys_are_not_asked_for_without_an_end(w):
    ca = ending(w)
    out = w.python(NEW_KEYS, 20, "few")
    check("200 OK" in out, f"a few are taken: {out}")
    w.events.clear()
    out = w.python(NEW_KEYS, 300000, "many")
    check("200 OK" not in out, out)
    w.record(name="api.example.test")
    memory = [line for line in open(f"/proc/{w.egress.pid}/status") if line.startswith("VmHWM")][0]
    check(int(memory.split()[1]) < 200000, f"peak memory: {memory}")
    equal(w.curl("--cacert", ca, "https://api.example.test/x"), (200, "GET /x 0"), "and it serves on")


if __name__ == "__main__":
    world.main(globals())
