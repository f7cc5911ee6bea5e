"""Counts the checks of a test, and prints those that fail."""
counts = {True: 0, False: 0}


def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print("FAIL", what, flush=True)
    return good
