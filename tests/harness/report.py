"""Lines that lib.sh counts."""
import sys
import traceback

failures = 0


def check(sentence, condition, detail=""):
    global failures
    if condition:
        print(f"ok   {sentence}", flush=True)
        return
    failures += 1
    print(f"FAIL {sentence}", flush=True)
    for line in repr(detail)[:1500].split("\\n"):
        print(f"     {line}", flush=True)


def case(sentence):
    """Runs a function at once; an exception in it is a failure of its own."""
    def run(function):
        try:
            function()
        except Exception:
            check(sentence, False, traceback.format_exc())
    return run


def done():
    sys.exit(1 if failures else 0)
