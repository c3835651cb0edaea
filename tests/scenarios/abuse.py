"""Half requests, garbage, wrong types, disconnects; and the API as openapi.yaml says it is."""
import json
import os
import socket
import struct
import subprocess
import time

import api
from report import case, check, done

CLOCHE = os.environ["CLOCHE"]


def alive():
    status, body = api.call("GET", "/v1/status")
    return status == 200 and body["pid"] > 0


def raw(data, then_close=True):
    connection = api.connect()
    try:
        connection.sendall(data)
        if then_close:
            connection.shutdown(socket.SHUT_WR)
        connection.settimeout(5)
        answer = b""
        while got := connection.recv(65536):
            answer += got
        return answer
    except (TimeoutError, OSError):
        return b""
    finally:
        connection.close()


def until(condition):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


box = None


@case("a sandbox to abuse")
def _():
    global box
    status, body = api.call("POST", "/v1/sandboxes", {"name": "abused", "cwd": os.getcwd()})
    check("POST /v1/sandboxes answers 201", status == 201, body)
    box = body["id"]


@case("not HTTP")
def _():
    for sentence, data in {
        "nothing at all": b"",
        "one byte": b"G",
        "half a request line": b"GET /v1/sta",
        "half a head": b"GET /v1/status HTTP/1.1\r\nHost: x\r\n",
        "half a body": b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
        "noise": os.urandom(100000),
        "zeros": bytes(100000),
        "a huge line": b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
        "a huge header": b"GET /v1/status HTTP/1.1\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n",
        "many headers": b"GET /v1/status HTTP/1.1\r\n" + b"X: a\r\n" * 100000 + b"\r\n",
        "a negative length": b"POST /v1/sandboxes HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "a huge length": b"POST /v1/sandboxes HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "an endless chunk": b"POST /v1/sandboxes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    }.items():
        raw(data)
        check(f"{sentence}: the daemon lives", alive())


@case("bad targets")
def _():
    for target in ("/", "/v1", "/v1/", "/v2/status", "/v1/nothing", "/v1/sandboxes/%", "/v1/sandboxes/%zz",
                   "/v1/sandboxes/%00", "/v1/sandboxes/../status", "/v1/sandboxes//", "/v1/sandboxes/" + "a" * 8000,
                   "/v1/sandboxes/%2e%2e%2f", f"/v1/sandboxes/{box}/nothing", f"/v1/sandboxes/{box}/commands/0",
                   f"/v1/sandboxes/{box}/commands/-1", f"/v1/sandboxes/{box}/commands/99999999999999999999",
                   f"/v1/sandboxes/{box}/commands/1/output"):
        answer = api.call("GET", target)
        check(f"GET {target[:40]} is a clear error", 400 <= answer[0] < 500 and api.code(answer), answer)
    for method in ("PUT", "PATCH", "DELETE", "FOO"):
        answer = api.call(method, "/v1/sandboxes")
        check(f"{method} /v1/sandboxes is 405 and names what there is", answer[0] == 405 and api.code(answer) == "invalid"
              and "GET POST" in answer[1]["error"]["cure"], answer)
    for target in ("/v1/nothing", "/v2/status", f"/v1/sandboxes/{box}/nothing"):
        answer = api.call("POST", target, {})
        check(f"POST {target.replace(box, 'BOX')} is not found", (answer[0], api.code(answer)) == (404, "not_found"), answer)
    check("other protocols get an error in JSON", b'"code":"invalid"' in raw(b"HELLO\r\n\r\n"), raw(b"HELLO\r\n\r\n"))
    check("the daemon lives", alive())


@case("bad bodies")
def _():
    count = len(api.call("GET", "/v1/sandboxes?all=1")[1])
    for text in ("", "{", "[]", "null", "1", '"x"', "{}{}", '{"a":}', "\x00", "[" * 100000, '{"a":' * 50000, "nan"):
        if text == "":
            continue
        answer = api.call("POST", "/v1/sandboxes", raw=text.encode())
        check(f"the body {text[:12]!r} is invalid", api.code(answer) == "invalid", answer)
    wrong = [
        {"name": 5}, {"name": ["a"]}, {"name": {}}, {"name": "a" * (1 << 20)}, {"name": "a\u0000b"}, {"name": "../x"},
        {"base": 1}, {"base": "dir:relative"}, {"base": "x" * (1 << 20)},
        {"cwd": 1}, {"cwd": "relative"}, {"cwd": "/a\u0000b"}, {"cwd": "/" + "a" * 10000},
        {"home": "relative"}, {"env": "A=b"}, {"env": [1]}, {"env": {"A": "b"}},
        {"limits": []}, {"limits": {"memory": "1G"}}, {"limits": {"memory": -1}}, {"limits": {"memory": 1e300}},
        {"limits": {"pids": 1.5}}, {"limits": {"wall": "1s"}}, {"limits": {"nothing": 1}}, {"limits": {"memory": 2 ** 70}},
        {"ro": "x"}, {"ro": ["relative"]}, {"ro": ["/a/../b"]}, {"rw": [None]}, {"hide": [["/x"]]},
        {"declared": True}, {"declared": {"inputs": "x"}}, {"declared": {"tmp": -1}},
        {"drop_root": "yes"}, {"labels": {"a": 1}}, {"labels": []}, {"on_violation": "explode"},
        {"agent": 1}, {"task": []}, {"unknown_key": 1}, {"argv": ["true"]}, {"keep": True},
    ]
    for body in wrong:
        answer = api.call("POST", "/v1/sandboxes", body)
        check(f"{json.dumps(body)[:50]} is invalid", api.code(answer) == "invalid", answer)
    wrong_commands = [
        {}, {"argv": []}, {"argv": "true"}, {"argv": [1]}, {"argv": [""]}, {"argv": ["a\u0000b"]},
        {"argv": ["true"], "cwd": "relative"}, {"argv": ["true"], "env": ["A\u0000=b"]}, {"argv": ["true"], "wall": -1},
        {"argv": ["true"], "output": "x"}, {"argv": ["true"], "pty": 1}, {"argv": ["true"], "pty": {"rows": -1, "columns": 0}},
        {"argv": ["true"], "stdin": "yes"}, {"argv": ["true"], "unknown": 1}, {"argv": ["true"], "background": 1},
    ]
    for body in wrong_commands:
        answer = api.call("POST", f"/v1/sandboxes/{box}/commands", body)
        check(f"command {json.dumps(body)[:50]} is invalid", api.code(answer) == "invalid", answer)
    answer = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["true"] + ["x" * 1000] * 10000})
    check("10 MB of arguments are a clear error or run", answer[0] < 500, answer)
    try:
        answer = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["true", "x" * (20 << 20)]})
        check("20 MB of arguments are a clear error", api.code(answer), answer)
    except OSError:
        pass  # it need not read all of it
    check("the daemon lives after 20 MB of arguments", alive())
    answer = api.call("POST", f"/v1/sandboxes/{box}/stop", raw=b" " * (1 << 20))
    check("a body that its resource has no use for is refused", answer[0] == 413 and api.code(answer) == "invalid", answer)
    answer = api.call("POST", "/v1/sandboxes", raw=b"[" + b"0," * 300000 + b"0]")
    check("a body of very many values is refused", api.code(answer) == "invalid" and "values" in answer[1]["error"]["message"],
          answer)
    for signal in (0, -1, 65, "TERM", None, 1.5):
        answer = api.call("POST", f"/v1/sandboxes/{box}/commands/1/signal", {"signal": signal})
        check(f"signal {signal} is a clear error", 400 <= answer[0] < 500, answer)
    api.call("POST", "/v1/sandboxes", {"name": "annas", "agent": "anna"})
    answer = api.call("POST", "/v1/sandboxes/annas/commands", {"argv": ["true"], "fresh": True, "agent": "bob"})
    check("a fresh command of another agent is refused", api.code(answer) == "conflict", answer)
    api.call("DELETE", "/v1/sandboxes/annas")
    check("nothing was half-made", len(api.call("GET", "/v1/sandboxes?all=1")[1]) == count)


@case("plain commands")
def _():
    status, result = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["sh", "-c", "echo out; echo err >&2; exit 3"]})
    check("without an upgrade the answer is the result", status == 200 and result["exit_status"] == 3, result)
    check("with its output", (result.get("stdout"), result.get("stderr")) == ("out\n", "err\n"), result)
    status, result = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["printf", "\\377\\000x"]})
    check("any bytes come back as valid JSON", status == 200 and result["stdout"].endswith("x"), result)
    number = result["id"]
    status, listed = api.call("GET", f"/v1/sandboxes/{box}/commands")
    check("the command is listed", number in [one["id"] for one in listed], listed)
    status, text = api.call("GET", f"/v1/sandboxes/{box}/commands/{number}/output?stream=stdout")
    check("its output is kept as bytes", text == b"\xff\x00x", text)
    status, result = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["no-such-thing"]})
    check("a missing program is a failed command or an error", result.get("exit_status") == 127 or status >= 400, result)
    answer = api.call("POST", f"/v1/sandboxes/{box}/commands", {"argv": ["cat"], "stdin": True})
    check("stdin without an upgrade is invalid", api.code(answer) == "invalid", answer)
    answer = api.call("POST", "/v1/run", {"argv": ["true"]})
    check("run without an upgrade is invalid", api.code(answer) == "invalid", answer)


@case("streams")
def _():
    stream = api.Stream(f"/v1/sandboxes/{box}/commands", {"argv": ["cat"], "stdin": True})
    check("the upgrade is answered with 101", stream.status == 101, stream.status)
    stream.send(api.STDIN, b"hello")
    stream.send(api.STDIN, b"")
    stream.send(api.STDIN_END)
    result = stream.result()
    check("input comes back", stream.output() == b"hello" and result["exit_status"] == 0, (stream.seen, result))
    stream = api.Stream(f"/v1/sandboxes/{box}/commands", {"argv": ["sleep", "1000"]})
    stream.wait_for(api.STARTED)
    stream.send(api.SIGNAL, bytes([15]))
    check("a signal arrives", stream.result()["exit_status"] == 143)
    started = api.Stream(f"/v1/sandboxes/{box}/commands", {"argv": ["sh", "-c", "echo x; sleep 1000"]})
    number = json.loads(started.wait_for(api.STARTED))["command"]
    attached = api.Stream(f"/v1/sandboxes/{box}/commands/{number}/attach", {})
    check("attach shows what was written", attached.wait_for(api.STDOUT) == b"x\n", attached.status)
    api.call("POST", f"/v1/sandboxes/{box}/commands/{number}/signal", {"signal": 9})
    check("both see the end", attached.result()["exit_status"] == 137 and started.result()["exit_status"] == 137)


def sleepers(mark):
    status, result = api.call("POST", f"/v1/sandboxes/{box}/commands",
                              {"argv": ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]})
    return result["stdout"].count(f"sleep {mark}")


@case("broken streams")
def _():
    path = f"/v1/sandboxes/{box}/commands"
    bad_frames = {
        "an unknown type": api.frame(99, b"x"),
        "a frame for the other direction": api.frame(api.RESULT, b"{}"),
        "nonzero padding": b"\x00\x01\x02\x03\x00\x00\x00\x01x",
        "a length of 4 GB": struct.pack(">B3xI", api.STDIN, 0xFFFFFFFF),
        "half a frame head": b"\x00\x00",
        "half a payload": struct.pack(">B3xI", api.STDIN, 100) + b"x",
        "a resize without a terminal": api.frame(api.RESIZE, b"\x00\x01\x00\x01"),
        "a short resize": api.frame(api.RESIZE, b"\x00"),
        "signal 0": api.frame(api.SIGNAL, b"\x00"),
        "signal 200": api.frame(api.SIGNAL, b"\xc8"),
        "an empty signal": api.frame(api.SIGNAL, b""),
        "noise": os.urandom(5000),
    }
    for sentence, data in bad_frames.items():
        stream = api.Stream(path, {"argv": ["sleep", "31337"], "stdin": True})
        stream.wait_for(api.STARTED)
        try:
            stream.socket.sendall(data)
        except OSError:
            pass
        stream.close()
        check(f"{sentence}, then gone: the daemon lives", alive())
    check("every abandoned command has ended", until(lambda: sleepers(31337) == 0), sleepers(31337))
    stream = api.Stream(path, {"argv": ["cat"], "stdin": True})
    stream.wait_for(api.STARTED)
    for _ in range(20):
        stream.send(api.STDIN, b"y" * 65536)
    stream.close()  # mid-stream, with output unread
    check("a client that leaves mid-stream: the daemon lives", alive())
    flood = api.Stream(path, {"argv": ["yes"]})
    flood.wait_for(api.STDOUT)
    slow = time.monotonic()
    status, result = api.call("POST", path, {"argv": ["echo", "beside"]})
    check("a client that does not read holds up nobody", result["stdout"] == "beside\n", (result, slow))
    flood.close()
    for target in (f"/v1/sandboxes/{box}", "/v1/status", f"/v1/sandboxes/{box}/commands/12345/attach", "/v1/sandboxes/none/commands"):
        stream = api.Stream(target, {"argv": ["true"]})
        check(f"an upgrade of {target.replace(box, 'BOX')} is refused", stream.status in range(400, 500)
              or (stream.status == 101 and "error" in (stream.result() or {})), stream.status)
    stream = api.Stream("/v1/run", {"argv": ["sleep", "1000"], "cwd": os.getcwd()})
    stream.wait_for(api.STARTED)
    stream.close()
    check("a disposable sandbox ends with its client", until(lambda: len(api.call("GET", "/v1/sandboxes?all=1")[1]) == 1))


@case("many at once")
def _():
    path = f"/v1/sandboxes/{box}/commands"
    streams = [api.Stream(path, {"argv": ["sh", "-c", f"echo {n}; cat"], "stdin": True}) for n in range(100)]
    for number, stream in enumerate(streams):
        stream.send(api.STDIN, b"end")
        stream.send(api.STDIN_END)
    good = 0
    for number, stream in enumerate(streams):
        result = stream.result()
        good += bool(result and result["exit_status"] == 0 and stream.output() == f"{number}\nend".encode())
        stream.close()
    check("a hundred streams at once each get their own output", good == 100, good)
    idle = [api.connect() for _ in range(200)]
    check("200 silent connections hold up nobody", alive())
    for connection in idle:
        connection.close()


@case("names race")
def _():
    commands = [subprocess.Popen([CLOCHE, "new", "--name", "contested"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
    codes = sorted(command.wait() for command in commands)
    check("of eight who want a name one gets it", codes == [0] + [4] * 7, codes)


done()
