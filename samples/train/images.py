"""Writes scikit-learn's digits as C: images.py digits.csv.gz IMAGES.h"""
import gzip
import sys


def rows(file):
    """The rows of the file: 64 pixels, then the digit."""
    return [[int(float(v)) for v in line.split(b",")] for line in gzip.open(file)]


if __name__ == "__main__":
    data = rows(sys.argv[1])
    with open(sys.argv[2], "w") as f:
        f.write(f"enum {{ IMAGES = {len(data)} }};\nstatic const unsigned char image_pixels[IMAGES][64] = {{\n")
        f.writelines("    {" + ", ".join(map(str, r[:64])) + "},\n" for r in data)
        f.write("};\nstatic const unsigned char image_digit[IMAGES] = {" + ", ".join(str(r[64]) for r in data) + "};\n")
