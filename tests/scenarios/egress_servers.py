"""Servers on loopback that a sandbox may or may not reach: usage DIRECTORY (its names), then LOG. Ends with its parent.

Each name of DIRECTORY/names is "NAME ADDRESS". HTTP at port H and TLS at port S of each address, a name server at 127.0.0.77:53
that knows them, and everything that arrives as a line of LOG. A certificate and key of its own has an address where
DIRECTORY/ADDRESS.pem is. Files below DIRECTORY/files are served by their paths.
"""
import http.server
import os
import socket
import ssl
import struct
import sys
import threading
import time

PLACE, LOG = sys.argv[1:3]
names = dict(line.split() for line in open(PLACE + "/names"))
log = open(LOG, "a", buffering=1)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024  # with 5, connections wait for seconds when many come at once


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        log.write(f"{self.command} {self.headers.get('Host')} {self.path} at {self.server.server_address[0]}\n")
        if self.path == "/slow":  # until somebody cuts it
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            for _ in range(600):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.1)
            return
        file = PLACE + "/files" + self.path.partition("?")[0]
        if os.path.isdir(PLACE + "/files") and not os.path.isfile(file) and "/repo.git/" in self.path:
            return self.send_error(404)
        size = int(self.path[1:]) if self.path[1:].isdigit() else 0
        body = b"z" * size if size else f"hello from {self.server.server_address[0]}\n".encode()
        if os.path.isfile(file):
            body = open(file, "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        size = int(self.headers.get("Content-Length", 0))
        got = 0
        while got < size:
            piece = self.rfile.read(min(65536, size - got))
            if not piece:
                return
            got += len(piece)
        log.write(f"POST {self.headers.get('Host')} {got} bytes\n")
        body = f"{got}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(address, tls):
    server = Server((address, ports[tls]), Handler)
    server.handle_error = lambda *_: None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own = f"{PLACE}/{address}.pem"
        if os.path.exists(own):
            context.load_cert_chain(own)
        else:
            context.load_cert_chain(PLACE + "/cert.pem", PLACE + "/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def answer_names():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.77", 53))
    while True:
        question, asker = udp.recvfrom(2048)
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode("latin-1").lower())
            at += question[at] + 1
        kind, = struct.unpack_from("!H", question, at + 1)
        name = ".".join(labels)
        log.write(f"name {name}\n")
        known = kind == 1 and name in names
        head = question[:2] + struct.pack("!HHHHH", 0x8180 if name in names else 0x8183, 1, int(known), 0, 0)
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(names[name]) if known else b""
        udp.sendto(head + question[12:at + 5] + record, asker)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.1.1", 0))
        return one.getsockname()[1]


ports = [free_port(), free_port()]
for each in sorted(set(names.values())):
    serve(each, False)
    serve(each, True)
threading.Thread(target=answer_names, daemon=True).start()
with open(PLACE + "/ports.new", "w") as file:
    print(*ports, file=file)
os.rename(PLACE + "/ports.new", PLACE + "/ports")
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
