"""TLS servers that know a secret and judge who else does: usage DIRECTORY, then LOG. Ends with its parent.

The secret comes on standard input, so that it is in no file and no argument. DIRECTORY/{cert,key}.pem are theirs,
DIRECTORY/repo.git is served by git's own http-backend, and DIRECTORY/port says where, on 127.0.2.1 to 127.0.2.4. A line of LOG
for each request says whether it held the secret: "right", "wrong" or "none".
"""
import base64
import ctypes
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import sys
import tarfile
import threading
import urllib.parse
import zlib

PLACE, LOG = sys.argv[1:3]
secret = {"value": sys.stdin.readline().rstrip("\n")}
log = open(LOG, "a", buffering=1)
ctypes.CDLL(None).prctl(1, 9)


def judge(text):
    if not text:
        return "none"
    return "right" if secret["value"] in text else "wrong"


def tarball():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in (("package.json", b'{"name": "mine", "version": "1.0.0"}'), ("index.js", b"module.exports = 42")):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


TARBALL = tarball()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def authorization(self):
        value = self.headers.get("Authorization", "")
        if value.startswith("Basic "):
            return base64.b64decode(value[6:]).decode()
        return value

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        held = self.authorization()
        if url.path == "/query":
            held = " ".join(urllib.parse.parse_qs(url.query).get("key", [""]))
        if url.path == "/json":
            held = json.loads(body)["key"]
        log.write(f"{judge(held)} {self.command} {self.headers.get('Host').split(':')[0]} {url.path} "
                  f"{judge(self.path + body.decode('latin1')) == 'right' and url.path not in ('/query', '/json') and 'elsewhere' or ''}\n")
        if url.path.startswith("/repo.git/"):
            return self.git(url, body)
        if url.path == "/mine" or url.path.startswith("/mine/-/"):
            return self.npm(url.path)
        if url.path == "/compressed":
            return self.answer(200, zlib.compress(held.encode()), Content_Encoding="deflate")
        if url.path == "/redirect":
            return self.answer(302, b"", Location=f"https://other.test/?key={secret['value']}")
        if url.path == "/chunked":
            pieces = "".join(f"1\r\n{c}\r\n" for c in "<" + held + ">")
            return self.answer(200, f"{pieces}0\r\nX-Trailer: {held}\r\n\r\n".encode(), Transfer_Encoding="chunked")
        if url.path == "/tell":
            return self.answer(200, f"<{secret['value']}>\n".encode())
        if url.path == "/echo":
            encoded = base64.b64encode(held.encode()).decode()
            raw = self.headers.get("Authorization", "")
            return self.answer(200, f"<{held}> <{encoded}> <{raw}> <{held.encode().hex()}>\n".encode(), X_Echo=held)
        right = judge(held) == "right"
        self.answer(200 if right else 401, (b"right\n" if right else b"wrong\n"))

    do_GET = do_POST = do_PUT = serve

    def git(self, url, body):
        if judge(self.authorization()) != "right":
            return self.answer(401, b"", WWW_Authenticate='Basic realm="git"')
        environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": PLACE, "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "agent",
                       "PATH_INFO": url.path, "QUERY_STRING": url.query, "REQUEST_METHOD": self.command,
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_CONFIG_COUNT": "1",
                       "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        self.answer(status, content, **{name.replace("-", "_"): value for name, value in headers.items()})

    def npm(self, path):
        if judge(self.authorization()) != "right":
            return self.answer(401, b"{}")
        if path.endswith(".tgz"):
            return self.answer(200, TARBALL, Content_Type="application/octet-stream")
        digest = base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()
        version = {"name": "mine", "version": "1.0.0",
                   "dist": {"tarball": f"https://npm.test:{port}/mine/-/mine-1.0.0.tgz", "integrity": f"sha512-{digest}"}}
        self.answer(200, json.dumps({"name": "mine", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode(),
                    Content_Type="application/json")

    def log_message(self, *_):
        pass


def rotations():
    for line in sys.stdin:
        secret["value"] = line.rstrip("\n")
        log.write("rotated\n")


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(PLACE + "/cert.pem", PLACE + "/key.pem")
port = 0
for last in range(1, 5):
    server = http.server.ThreadingHTTPServer((f"127.0.2.{last}", port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever).start()
with open(PLACE + "/port.new", "w") as file:
    file.write(f"{port}\n")
os.rename(PLACE + "/port.new", PLACE + "/port")
rotations()
