"""Sends a text in one of many forms: usage FORM HOST PORT TEXT, inside a sandbox. Exits with 0 when it was answered."""
import base64
import gzip
import http.client
import socket
import ssl
import sys
import urllib.parse
import zlib

form, host, port, text = sys.argv[1:5]
port = int(port)
scheme, _, form = form.rpartition(":")
name, data = form, text.encode()
body = b"some words before " + data + b" and some after\n"
headers = {}


def raw_deflate(content):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def hidden_in(stream):
    for i in range(0, len(stream), 7):
        yield stream[i:i + 7]


FORMS = {
    "plain": lambda: body,
    "base64-0": lambda: base64.b64encode(data),
    "base64-1": lambda: base64.b64encode(b"u" + data),
    "base64-2": lambda: base64.b64encode(b"us" + data),
    "base64-url": lambda: base64.urlsafe_b64encode(b"?" + data),
    "base64-lines": lambda: base64.encodebytes(b"a file with many lines\n" * 3 + data),
    "hex": lambda: data.hex().encode(),
    "HEX": lambda: data.hex().upper().encode(),
    "percent": lambda: b"k=" + "".join("%%%02x" % c for c in data).encode(),
    "percent-base64": lambda: b"k=" + "".join("%%%02X" % c for c in base64.b64encode(b"u" + data)).encode(),
    "gzip": lambda: gzip.compress(body),
    "gzip-base64": lambda: gzip.compress(base64.b64encode(body)),
    "deflate": lambda: zlib.compress(body),
    "raw-deflate": lambda: raw_deflate(body),
    "chunked": lambda: hidden_in(body),
    "chunked-gzip": lambda: hidden_in(gzip.compress(body)),
    "chunked-raw-deflate": lambda: hidden_in(raw_deflate(body)),
    "header": lambda: b"",
    "basic": lambda: b"",
    "query": lambda: b"",
}


def send_bytes():
    """A piece after the other, the text in two of them."""
    with socket.create_connection((host, port), 20) as connection:
        for piece in (b"hello ", body[:25], body[25:]):
            connection.sendall(piece)
            if not connection.recv(100):
                raise ConnectionResetError


def send_request():
    path = "/" + name
    if form == "header":
        headers["X-Key"] = text
    if form == "basic":
        headers["Authorization"] = "Basic " + base64.b64encode(b"user:" + data).decode()
    if form == "query":
        path += "?key=" + urllib.parse.quote(text, safe="")
    if "raw-deflate" in form:
        headers["Content-Encoding"] = "deflate"
    connection = (http.client.HTTPSConnection(host, port, timeout=20, context=ssl.create_default_context())
                  if scheme == "https" else http.client.HTTPConnection(host, port, timeout=20))
    connection.request("POST", path, body=FORMS[form](), headers=headers, encode_chunked="chunked" in form)
    answer = connection.getresponse()
    print(answer.status)
    if answer.status != 200:
        sys.exit(4)


if form == "name":
    try:
        socket.getaddrinfo(data.hex()[:50] + "." + data.hex()[50:] + "." + host, port)
    except socket.gaierror:
        sys.exit(3)
elif form == "bytes":
    send_bytes()
else:
    send_request()
