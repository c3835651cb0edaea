"""A world of its own for cloche-egress: servers on a loopback nobody else has, a network namespace as
a sandbox has it, and the daemon's end of the control socket.

A test file says `world.main(globals())`; each function test_* gets a fresh World. The servers judge:
what they did not see has not left.
"""
import array
import json
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EGRESS = os.path.join(os.environ.get("CLOCHE_BIN", "build/bin"), "cloche-egress")
HANG = 10  # no assertion: what takes this long hangs

SANDBOX = r"""
import array, os, socket, subprocess, sys
def run(*words): subprocess.run(words, check=True)
run('ip', 'link', 'set', 'lo', 'up')
run('ip', 'route', 'add', 'default', 'dev', 'lo', 'src', '127.0.0.1')
run('ip', '-6', 'route', 'add', 'local', 'default', 'dev', 'lo')
def listen(family, address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind((address, 0)); s.listen(4096); return s
def datagram(family, address):
    s = socket.socket(family, socket.SOCK_DGRAM); s.bind((address, 0)); return s
sockets = [listen(socket.AF_INET, '127.0.0.1'), listen(socket.AF_INET6, '::1'),
           datagram(socket.AF_INET, '127.0.0.1'), datagram(socket.AF_INET6, '::1'),
           listen(socket.AF_INET, '127.0.0.1')]
ports = [s.getsockname()[1] for s in sockets]
rules = ''
for family, own, tcp, dns in (('ip', '127.0.0.0/8', ports[0], ports[2]), ('ip6', '::1', ports[1], ports[3])):
    rules += f'''table {family} c {{
  chain o {{
    type nat hook output priority -100;
    udp dport 53 redirect to :{dns}
    tcp dport 53 redirect to :{tcp}
    {family} daddr {own} return
    meta l4proto tcp redirect to :{tcp}
  }}
}}
'''
subprocess.run(['nft', '-f', '-'], input=rules.encode(), check=True)
run('mount', '--make-rprivate', '/')
run('mount', '--bind', sys.argv[1], '/etc/resolv.conf')
link = socket.socket(fileno=int(sys.argv[2]))
link.sendmsg([str(ports[4]).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
             array.array('i', [s.fileno() for s in sockets]))])
link.recv(1)
"""


class Failure(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Failure(what)


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


class World:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="cloche-egress.")
        self.over = False
        self.threads = []
        self.events = []
        self.queries = []
        self.zones = {}
        self.seen = []
        self.at_end = []  # what else is to be stopped
        self._rules = []
        self._make_sandbox()
        self._start_egress()
        self._serve_dns()

    # -- the sandbox
    def _make_sandbox(self):
        conf = os.path.join(self.dir, "resolv.conf")
        with open(conf, "w") as f:
            f.write("nameserver 192.0.2.53\noptions timeout:3 attempts:1\n")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = os.path.join(self.dir, "sandbox.py")
        with open(script, "w") as f:
            f.write(SANDBOX)
        self.inside = subprocess.Popen(["unshare", "-n", "-m", sys.executable, script, conf,
                                        str(theirs.fileno())], pass_fds=[theirs.fileno()])
        theirs.close()
        data, ancillary, _, _ = ours.recvmsg(64, socket.CMSG_SPACE(20))
        check(data and ancillary, "the sandbox's sockets")
        self.proxy_port = int(data)
        self.sockets = array.array("i")
        self.sockets.frombytes(ancillary[0][2])
        self.keep = ours

    def run(self, *words, input=None, timeout=HANG, env=None):
        """A program inside; its standard output, error and status."""
        pid = str(self.inside.pid)
        return subprocess.run(["nsenter", "-t", pid, "-n", "-m", *words], input=input,
                              capture_output=True, timeout=timeout,
                              env={**os.environ, **(env or {})})

    def start(self, *words, **options):
        return subprocess.Popen(["nsenter", "-t", str(self.inside.pid), "-n", "-m", *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.PIPE, **options)

    def python(self, code, *arguments, input=None):
        done = self.run(sys.executable, "-c", code, *map(str, arguments), input=input)
        return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")

    def curl(self, *words, **options):
        """Body and status; curl's own exit status when there is none."""
        done = self.run("curl", "-sS", "-m", "20", "-w", "\n%{http_code}", *words, **options)
        body, _, status = done.stdout.decode(errors="replace").rpartition("\n")
        self.error = done.stderr.decode(errors="replace")
        return (int(status) if int(status or 0) else -done.returncode), body

    # -- cloche-egress, and the daemon's side of it
    def _start_egress(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = theirs.fileno()
        command = f'exec "$0" 3<&{fd}' + (f" {fd}<&-" if fd != 3 else "")
        self.egress = subprocess.Popen(["bash", "-c", command, EGRESS], pass_fds=[fd])
        theirs.close()
        self.control = ours
        self.wait_event(lambda e: e["event"] == "ready")
        self.tell({"op": "resolver", "nameservers": ["127.0.0.1:5300"], "hosts": []})

    def tell(self, message, fds=()):
        self.control.sendmsg([json.dumps(message).encode()],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
                             if fds else [])

    def open(self, rules, limits=None, **more):
        message = {"op": "open", "sandbox": "sb_x", "rules": self._numbered(rules),
                   "sockets": ["tcp4", "tcp6", "dns4", "dns6", "proxy4"], **more}
        if limits:
            message["limits"] = limits
        self.tell(message, list(self.sockets))
        self.wait_event(lambda e: e["event"] in ("opened", "error"))
        return self

    def rules(self, rules):
        self.tell({"op": "rules", "sandbox": "sb_x", "rules": self._numbered(rules)})

    @staticmethod
    def _numbered(rules):
        return [{"id": f"r{i + 1}", "action": "allow", **rule} for i, rule in enumerate(rules)]

    def read_events(self, timeout=0.0):
        while select.select([self.control], [], [], timeout)[0]:
            data = self.control.recv(1 << 16)
            check(data, "cloche-egress is alive")
            self.events.append(json.loads(data))
            timeout = 0

    def wait_event(self, wanted):
        until = time.monotonic() + HANG
        position = 0
        while True:
            for event in self.events[position:]:
                if wanted(event):
                    return event
            position = len(self.events)
            check(time.monotonic() < until, f"an event came; those that did: {self.events}")
            self.read_events(0.5)

    def record(self, **fields):
        fields.setdefault("state", "end")
        return self.wait_event(lambda e: e["event"] == "connection" and
                               all(e.get(k) == v for k, v in fields.items()))

    # -- servers
    def _serve_dns(self):
        """Answers from self.zones: name -> addresses, or a function of the number of the query."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 5300))
        tcp = socket.create_server(("127.0.0.1", 5300))

        def answer(message, over_tcp):
            name, at = [], 12
            while message[at]:
                name.append(message[at + 1:at + 1 + message[at]].decode())
                at += message[at] + 1
            kind = struct.unpack("!H", message[at + 1:at + 3])[0]
            question = message[12:at + 5]
            host = ".".join(name).lower()
            self.queries.append((host, kind, "tcp" if over_tcp else "udp"))
            zone = self.zones.get(host)
            if callable(zone):
                zone = zone(sum(1 for q in self.queries if q[0] == host and q[1] == kind))
            if zone is None:
                return message[:2] + b"\x81\x83" + b"\0\1\0\0\0\0\0\0" + question
            if zone == "truncated" and not over_tcp:
                return message[:2] + b"\x83\x80" + b"\0\1\0\0\0\0\0\0" + question
            if zone == "truncated":
                zone = ["127.0.0.1"]
            records = b""
            count = 0
            for address in zone:
                six = ":" in address
                if kind != (28 if six else 1):
                    continue
                packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, address)
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
                count += 1
            return (message[:2] + b"\x81\x80\0\1" + struct.pack("!H", count) + b"\0\0\0\0" +
                    question + records)

        def serve_udp():
            message, peer = udp.recvfrom(4096)
            udp.sendto(answer(message, False), peer)

        def serve_tcp():
            peer, _ = tcp.accept()
            peer.settimeout(HANG)
            with peer:
                size = struct.unpack("!H", peer.recv(2, socket.MSG_WAITALL))[0]
                reply = answer(peer.recv(size, socket.MSG_WAITALL), True)
                peer.sendall(struct.pack("!H", len(reply)) + reply)

        self._loop(serve_udp, udp)
        self._loop(serve_tcp, tcp)

    def _loop(self, function, listener):
        """function() again and again, until the world ends; then the listener is closed."""
        listener.settimeout(0.1)

        def run():
            while not self.over:
                try:
                    function()
                except OSError:
                    pass
            listener.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def serve(self, port, handler, address="127.0.0.1", context=None):
        """handler(connection) in a thread for each connection."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, port), family=family, backlog=1024)

        def one(peer):
            try:
                with (context.wrap_socket(peer, server_side=True) if context else peer) as link:
                    handler(link)
            except (OSError, ValueError):  # the other side broke off
                pass

        def accept():
            peer, _ = listener.accept()
            peer.settimeout(HANG)
            threading.Thread(target=one, args=(peer,), daemon=True).start()

        self._loop(accept, listener)
        return port

    def http(self, link):
        """Requests one after the other; what they were is in self.seen. Paths choose the answer."""
        stream = link.makefile("rwb")
        while True:
            line = stream.readline()
            if not line:
                return
            method, path, _ = line.decode("latin-1").split(" ", 2)
            headers = {}
            while (header := stream.readline()) not in (b"\r\n", b""):
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            body = b""
            if headers.get("expect") == "100-continue":
                stream.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                stream.flush()
            if "content-length" in headers:
                body = stream.read(int(headers["content-length"]))
            elif headers.get("transfer-encoding") == "chunked":
                while size := int(stream.readline(), 16):
                    body += stream.read(size)
                    stream.readline()
                while (trailer := stream.readline()) != b"\r\n":
                    headers["trailer:" + trailer.decode().partition(":")[0].lower()] = trailer
            self.seen.append((method, path, headers, body))
            if path == "/websocket":
                stream.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                             b"Connection: Upgrade\r\n\r\n")
                stream.flush()
                while data := link.recv(4096):
                    link.sendall(data.upper())
                return
            if path == "/events":
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n")
                for i in range(3):
                    event = b"data: %d\n\n" % i
                    stream.write(b"%x\r\n%s\r\n" % (len(event), event))
                    stream.flush()
                stream.write(b"0\r\nX-Sum: 3\r\n\r\n")
            elif path == "/until-close":
                stream.write(b"HTTP/1.1 200 OK\r\n\r\nthe end")
                stream.flush()
                return
            elif path.startswith("/big"):
                size = int(path[4:])
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
                for _ in range(size >> 16):
                    stream.write(bytes(1 << 16))
                stream.write(bytes(size & 0xffff))
            elif path == "/redirect":
                stream.write(b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\n"
                             b"Content-Length: 0\r\n\r\n")
            elif path == "/die":
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                stream.flush()
                return
            else:
                text = f"{method} {path} {len(body)}".encode()
                stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text))
                if method != "HEAD":
                    stream.write(text)
            stream.flush()

    def certificate(self, *names):
        """(context for a server, path of the CA that signed it)"""
        def openssl(*words, **options):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.dir,
                           **options)
        if not os.path.exists(self.dir + "/ca.pem"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=test CA", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem")
        name = names[0]
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        with open(f"{self.dir}/{name}.ext", "w") as f:
            f.write("subjectAltName=" + ",".join("DNS:" + each for each in names))
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self.dir}/{name}.pem", f"{self.dir}/{name}.key")
        return context, self.dir + "/ca.pem"

    def close(self):
        self.over = True
        for stop in self.at_end:
            stop()
        for thread in self.threads:
            thread.join()
        self.control.close()
        self.keep.close()
        try:
            status = self.egress.wait(timeout=HANG)
        except subprocess.TimeoutExpired:
            self.egress.kill()
            status = "it does not end"
        self.inside.wait(timeout=HANG)
        for fd in self.sockets:
            os.close(fd)
        shutil.rmtree(self.dir, ignore_errors=True)
        equal(status, 0, "cloche-egress ends with its daemon")


def main(names):
    if os.environ.get("CLOCHE_OWN_NETWORK") != "yes":
        if os.geteuid() != 0:
            print("skipped: needs root for namespaces")
            sys.exit(77)
        os.environ["CLOCHE_OWN_NETWORK"] = "yes"
        os.execvp("unshare", ["unshare", "-n", sys.executable, "-B", *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    failed = 0
    wanted = sys.argv[1:]
    for name, test in list(names.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        world = World()
        problems = []
        for step in (lambda: test(world), world.close):
            try:
                step()
            except (Failure, subprocess.TimeoutExpired, OSError, ValueError, LookupError) as failure:
                problems.append(str(failure))
        print("FAIL" if problems else "ok  ", name, *problems, flush=True)
        if problems:
            failed += 1
            print("     events:", *world.events[-5:], sep="\n       ", flush=True)
    sys.exit(1 if failed else 0)
