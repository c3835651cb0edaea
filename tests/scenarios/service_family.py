# A service with a worker that has left the family: PORT DATA, forever. Both write to DATA.
import os
import socket
import sys
import time

port, data = int(sys.argv[1]), sys.argv[2]
os.chdir(data)
server = socket.create_server(("127.0.0.1", port))
local = socket.socket(socket.AF_UNIX)
if os.path.lexists("socket"):
    os.unlink("socket")
local.bind("socket")


def write(name):
    file = open(name, "r+b" if os.path.exists(name) else "w+b")
    number = 0
    while True:
        number += 1
        file.seek(0)
        file.write(b"%020d" % number)
        file.flush()
        yield number


if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    server.close()
    local.close()
    open("worker", "w").write(str(os.getpid()))
    first, second = write("first"), write("second")
    while True:  # never more than one apart
        next(first)
        next(second)
        time.sleep(0.0001)
os.wait()
mine = write("mine")
while True:
    client, _ = server.accept()
    client.sendall(b"%d\n" % next(mine))
    client.close()
