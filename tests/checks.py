"""Checks of one test, which are counted; those that fail are printed."""
counts = {True: 0, False: 0}


def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print("FAIL", what, flush=True)
    return good
