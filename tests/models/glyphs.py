"""Images of text, for text recognition: a 5x7 font, black on white, blurred."""
import numpy as np

FONT = {
    "0": "0E 11 13 15 19 11 0E", "1": "04 0C 04 04 04 04 0E", "2": "0E 11 01 02 04 08 1F", "3": "1F 02 04 02 01 11 0E",
    "4": "02 06 0A 12 1F 02 02", "5": "1F 10 1E 01 01 11 0E", "6": "06 08 10 1E 11 11 0E", "7": "1F 01 02 04 08 08 08",
    "8": "0E 11 11 0E 11 11 0E", "9": "0E 11 11 0F 01 02 0C", "C": "0E 11 10 10 10 11 0E", "E": "1F 10 10 1E 10 10 1F",
    "H": "11 11 11 1F 11 11 11", "L": "10 10 10 10 10 10 1F", "N": "11 19 15 15 13 11 11", "O": "0E 11 11 11 11 11 0E",
    "T": "1F 04 04 04 04 04 04", "X": "11 11 0A 04 0A 11 11", " ": "00 00 00 00 00 00 00",
}


def line(text):
    """The text's dots, [7, 6 * len(text)] of 0 and 1."""
    rows = [[int(b, 16) for b in FONT[c].split()] for c in text]
    return np.array([[r[y] >> (4 - x) & 1 if x < 5 else 0 for r in rows for x in range(6)] for y in range(7)], float)


def page(lines, h, w, size):
    """An image [h, w] in [0, 1] with the lines from top to bottom; each dot is `size` pixels wide."""
    ink = np.zeros((h, w))
    step = h // len(lines)
    for i, text in enumerate(lines):
        dots = line(text).repeat(size, 0).repeat(size, 1)[:h, :w - 8]
        top = i * step + (step - dots.shape[0]) // 2
        ink[top:top + dots.shape[0], 8:8 + dots.shape[1]] = dots
    for axis in (0, 1):
        ink = (np.roll(ink, 1, axis) + 2 * ink + np.roll(ink, -1, axis)) / 4
    return 1 - 0.9 * ink
