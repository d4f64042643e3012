#!/usr/bin/env python3
"""Writes quant_golden.bin: blocks of every tensor format and the fp32 values that the Python
package gguf (MIT, 0.10 or newer) reads from them. Run by hand; the result is committed.

    python3 make_quant_golden.py quant_golden.bin

A record is: format number, values, bytes (three little-endian u32), the bytes, the values.
Half of each format's blocks are what the package quantises from normal numbers, where it can;
the others have random bytes, with scales that are small, large, negative and denormal.
"""
import struct
import sys

import numpy as np
from gguf import GGMLQuantizationType as T, GGML_QUANT_SIZES, quants

VALUES = 512
SCALES = np.array([0.0123, -1.75, 5.9e-8, 3.1e-5, 60000.0, 0.0, -6.1e-5, 0.5], np.float16)
# Where the fp16 numbers of a block lie; the rest of its bytes may be anything.
HALVES = {T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2],
          T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}

rng = np.random.default_rng(20240901)


def random_blocks(kind):
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (VALUES // elements, size), dtype=np.uint8)
    for at in HALVES[kind]:
        scales = rng.choice(SCALES, len(blocks))
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return blocks.ravel()


def records(kind):
    normal = rng.standard_normal(VALUES).astype(np.float32)
    if kind in HALVES:
        yield random_blocks(kind)
    try:
        yield np.frombuffer(quants.quantize(normal, kind).tobytes(), np.uint8)
    except NotImplementedError:
        yield random_blocks(kind)


with open(sys.argv[1], "wb") as out:
    for kind in [T.F32, T.F16, T.BF16, *HALVES]:
        for blocks in records(kind):
            values = quants.dequantize(blocks, kind).astype("<f4")
            assert values.size == VALUES
            out.write(struct.pack("<III", kind, VALUES, len(blocks)))
            out.write(blocks.tobytes() + values.tobytes())
