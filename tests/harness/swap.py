"""swap.py TIMES ONE OTHER: exchanges two names so often, each time at once, and then once more if need be
so that they are as they were."""
import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
times, one, other = int(sys.argv[1]), os.fsencode(sys.argv[2]), os.fsencode(sys.argv[3])
done = 0
for _ in range(times):
    done += LIBC.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0
if done % 2:
    LIBC.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
print(done)
