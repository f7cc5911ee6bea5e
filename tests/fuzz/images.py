"""Random models of ImageDecoder: files written here, so their pixels are known."""

import struct
import zlib

import numpy as np

from operators import Case, family


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(m, pixels):
    """A PNG of eight bits a sample, whose rows are unfiltered, or differences from the left or from above."""
    height, width, parts = pixels.shape
    rows = np.zeros((height + 1, width + 1, parts), np.uint8)
    rows[1:, 1:] = pixels
    left, above, here = rows[1:, :-1], rows[:-1, 1:], rows[1:, 1:]
    filters = [here, here - left, here - above, here - ((left.astype(int) + above) // 2).astype(np.uint8)]
    kinds = [m.int(0, 3) for _ in range(height)]
    data = zlib.compress(b"".join(bytes([k]) + filters[k][y].tobytes() for y, k in enumerate(kinds)), m.int(0, 9))
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[parts], 0, 0, 0)
    cut = m.int(1, len(data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data[:cut]) + chunk(b"IDAT", data[cut:]) + chunk(b"IEND", b"")


def bmp(m, pixels):
    height, width, _ = pixels.shape
    rows = np.zeros((height, -(-width * 3 // 4) * 4), np.uint8)
    rows[:, : width * 3] = pixels[..., ::-1].reshape(height, -1)
    down = m.chance(0.5)
    head = struct.pack("<IiiHHIIiiII", 40, width, -height if down else height, 1, 24, 0, rows.size, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + rows.size, 0, 0, 54) + head + (rows if down else rows[::-1]).tobytes()


def pnm(m, pixels):
    height, width, parts = pixels.shape
    head = f"P{6 if parts == 3 else 5}{m.one([' ', chr(10), ' # a note' + chr(10)])}{width} {height}\n255\n"
    return head.encode() + pixels.tobytes()


@family(2)
def decoded(m):
    form, parts = m.one([(png, 1), (png, 2), (png, 3), (png, 4), (bmp, 3), (pnm, 1), (pnm, 3)])
    pixels = m.array(np.uint8, (m.int(1, 12), m.int(1, 12), parts), low=0, high=m.one([3, 255]))
    image = pixels[..., [0, 0, 0] if parts < 3 else [0, 1, 2]]
    order = m.one(["RGB", "BGR"])
    file = np.frombuffer(form(m, pixels), np.uint8)
    same = Case("Identity", [image[..., ::-1] if order == "BGR" else image], version=13)
    return Case("ImageDecoder", [file], {"pixel_format": order}, version=m.int(20, 24), same=same)
