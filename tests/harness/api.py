"""A client of cloched's API with the standard library only, and raw enough to misbehave."""
import http.client
import json
import os
import socket
import struct

SOCKET = os.environ["CLOCHE_SOCKET"]
STDIN, STDIN_END, RESIZE, SIGNAL = 0, 1, 2, 3
STDOUT, STDERR, STARTED, RESULT, NOTICE = 16, 17, 18, 19, 20


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(SOCKET)
    return connection


class Http(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost")

    def connect(self):
        self.sock = connect()


def call(method, path, body=None, raw=None):
    """Returns (status, parsed body)."""
    http_connection = Http()
    data = raw if raw is not None else (json.dumps(body) if body is not None else None)
    http_connection.request(method, path, data, {"Content-Type": "application/json"})
    response = http_connection.getresponse()
    text = response.read()
    http_connection.close()
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, text


def code(answer):
    body = answer[1]
    return body.get("error", {}).get("code") if isinstance(body, dict) else None


def frame(kind, payload=b""):
    return struct.pack(">B3xI", kind, len(payload)) + payload


class Stream:
    """An upgraded connection."""

    def __init__(self, path, body):
        self.socket = connect()
        text = json.dumps(body).encode()
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
            f"Upgrade: cloche-stream\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            got = self.socket.recv(65536)
            if not got:
                break
            self.buffer += got
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def send(self, kind, payload=b""):
        self.socket.sendall(frame(kind, payload))

    def receive(self):
        """Returns (kind, payload), or None at the end."""
        def need(count):
            while len(self.buffer) < count:
                got = self.socket.recv(1 << 20)
                if not got:
                    return False
                self.buffer += got
            return True
        if not need(8):
            return None
        kind, length = struct.unpack(">B3xI", self.buffer[:8])
        if not need(8 + length):
            return None
        payload, self.buffer = self.buffer[8:8 + length], self.buffer[8 + length:]
        return kind, payload

    def wait_for(self, wanted):
        """The payload of the first frame of this kind; everything before it is in self.seen."""
        self.seen = []
        while (got := self.receive()) is not None:
            if got[0] == wanted:
                return got[1]
            self.seen.append(got)
        return None

    def result(self):
        payload = self.wait_for(RESULT)
        return json.loads(payload) if payload is not None else None

    def output(self):
        return b"".join(payload for kind, payload in self.seen if kind == STDOUT)

    def close(self):
        self.socket.close()
