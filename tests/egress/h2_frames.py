"""HTTP/2 by hand, for what no proper client would send. It reads frames and does not decode heads: what a
refusal says is in its body."""
import socket
import ssl
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HOST = "api.example.test"


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def text(value):
    value = value.encode("latin-1") if isinstance(value, str) else value
    size = len(value)
    if size < 127:
        return bytes([size]) + value
    out, size = b"\x7f", size - 127
    while size >= 128:
        out += bytes([size & 127 | 128])
        size >>= 7
    return out + bytes([size]) + value


def field(name, value, index=False):
    return (b"\x40" if index else b"\x00") + text(name) + text(value)


def head(*more, method="GET", path="/v1/x", authority=HOST, scheme="https"):
    own = ((":method", method), (":scheme", scheme), (":authority", authority), (":path", path))
    return b"".join(field(*each) for each in own if each[1] is not None) + \
        b"".join(field(*each) for each in more)


class Link:
    def __init__(self, ca, name=HOST, patience=10):
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols(["h2"])
        raw = socket.create_connection((HOST, 443))
        raw.settimeout(patience)
        self.tls = context.wrap_socket(raw, server_hostname=name)
        assert self.tls.selected_alpn_protocol() == "h2", self.tls.selected_alpn_protocol()
        self.unread = b""
        self.tls.sendall(PREFACE + frame(SETTINGS, 0, 0))

    def send(self, *frames):
        self.tls.sendall(b"".join(frames))

    def ask(self, stream, block, body=None):
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if body is None else 0), stream, block))
        if body is not None:
            self.send(frame(DATA, END_STREAM, stream, body))

    def next(self):
        """(kind, flags, stream, payload); None at the end."""
        while True:
            if len(self.unread) >= 9:
                size = int.from_bytes(self.unread[:3], "big")
                if len(self.unread) >= 9 + size:
                    kind, flags = self.unread[3], self.unread[4]
                    stream = int.from_bytes(self.unread[5:9], "big") & 0x7fffffff
                    payload, self.unread = self.unread[9:9 + size], self.unread[9 + size:]
                    return kind, flags, stream, payload
            try:
                piece = self.tls.recv(65536)
            except OSError:
                return None
            if not piece:
                return None
            self.unread += piece

    def outcome(self, stream):
        """How a stream ends: its body, or "reset CODE", "goaway CODE", "closed"."""
        body = b""
        while (got := self.next()) is not None:
            kind, flags, of, payload = got
            if kind == GOAWAY:
                return f"goaway {int.from_bytes(payload[4:8], 'big')}"
            if of != stream:
                continue
            if kind == RST_STREAM:
                return f"reset {int.from_bytes(payload, 'big')}"
            if kind == DATA:
                body += payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return body.decode("latin-1")
        return "closed"

    def end(self):
        """Reads until the other side closes; returns the code of the last GOAWAY."""
        code = "closed"
        while (got := self.next()) is not None:
            if got[0] == GOAWAY:
                code = f"goaway {int.from_bytes(got[3][4:8], 'big')}"
        return code
