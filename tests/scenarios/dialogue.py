"""dialogue.py EXPECTED=ANSWER... -- COMMAND...: answers questions on a terminal of its own, in order.

Prints what was said and ends with the command's status. $FIRST is run before the first answer.
"""
import os
import pty
import subprocess
import sys

split = sys.argv.index("--")
turns = [turn.rsplit("=", 1) for turn in sys.argv[1:split]]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
said = seen = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    said += piece
    seen += piece
    while turns and turns[0][0].encode() in seen:
        subprocess.run(os.environ.pop("FIRST", "true"), shell=True, check=True, stdout=sys.stderr)
        seen = seen[seen.index(turns[0][0].encode()) + len(turns[0][0]):]
        os.write(terminal, (turns.pop(0)[1] + "\n").encode())
sys.stdout.buffer.write(said)
for expected, _ in turns:
    print(f"\nnever asked: {expected}")
sys.exit(9 if turns else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
