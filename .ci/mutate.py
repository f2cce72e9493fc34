#!/usr/bin/env python3
"""Writes the same random inputs in every run: changed copies of the given files, and random bytes.

    .ci/mutate.py DIRECTORY COUNT FILE...
"""

import pathlib
import random
import sys

# Most inputs have several changes, a few have many.
CHANGES = (1, 1, 2, 3, 5, 8, 20)
LONGEST_CHANGE = 64
LONGEST_RANDOM = 1024


def changed(rng, data, texts):
    """Returns a copy with one random change: bytes are replaced, removed, repeated or copied from another text."""
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.randint(1, LONGEST_CHANGE))
    other = rng.choice(texts)
    position = rng.randint(0, len(other))
    inserted = rng.choice(
        (
            b"",
            rng.randbytes(rng.randint(1, 4)),
            data[start:end] * 2,
            other[position : position + rng.randint(1, LONGEST_CHANGE)],
        )
    )
    return data[:start] + inserted + data[rng.choice((start, end)) :]


def main(directory, count, files):
    rng = random.Random(1)
    texts = [pathlib.Path(file).read_bytes() for file in sorted(files)]
    for number in range(count):
        if number % 4 == 0:
            data = rng.randbytes(rng.randint(0, LONGEST_RANDOM))
        else:
            data = rng.choice(texts)
            for _ in range(rng.choice(CHANGES)):
                data = changed(rng, data, texts)
        pathlib.Path(directory, f"{number:05}").write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
