"""Writes quants.bin beside itself: random blocks of every type that formats/ expands, with the fp32 values that the
gguf Python package gives them.

    make_quants.py

The file is a sequence of records, all little-endian: type name (8 bytes, zero-padded), bytes of the blocks (u32),
elements (u32), the blocks, the fp32 values. Blocks are random bits, except that scales are drawn from ordinary halves,
subnormal halves, zeros of both signs and the largest half: a random NaN would compare with nothing.

Environment: pip install gguf==0.19.0 numpy
"""

import struct
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGML_QUANT_SIZES, quants

# Type, blocks to write, byte offsets of the halves in a block.
CASES = [
    (T.F16, 64, [0]), (T.BF16, 64, []),
    (T.Q4_0, 6, [0]), (T.Q4_1, 6, [0, 2]), (T.Q5_0, 6, [0]), (T.Q5_1, 6, [0, 2]), (T.Q8_0, 6, [0]),
    (T.Q4_K, 3, [0, 2]), (T.Q5_K, 3, [0, 2]), (T.Q6_K, 3, [208]),
]
SPECIAL = [0x7BFF, 0x0001, 0x83FF, 0x8000, 0x0000]


def main():
    rng = np.random.default_rng(20240601)
    records = []
    for dtype, blocks, halves in CASES:
        _, size = GGML_QUANT_SIZES[dtype]
        raw = rng.integers(0, 256, size=(blocks, size), dtype=np.uint8)
        for at in halves:
            for b in range(blocks):
                half = int(np.float16(rng.normal() * 0.1).view(np.uint16))
                if b % 3 == 2 and at == halves[0]:  # every third block has an unusual scale
                    half = SPECIAL[b // 3 % len(SPECIAL)]
                raw[b, at:at + 2] = np.frombuffer(struct.pack("<H", half), dtype=np.uint8)
        if dtype == T.BF16:
            raw[:, 1] &= 0xBF  # exponents below the infinities
        with np.errstate(over="ignore"):
            values = quants.dequantize(raw, dtype).astype(np.float32).reshape(-1)
        assert np.isfinite(values).all(), dtype
        records.append(struct.pack("<8sII", dtype.name.encode(), raw.size, values.size))
        records.append(raw.tobytes())
        records.append(values.tobytes())
    path = Path(__file__).with_name("quants.bin")
    path.write_bytes(b"".join(records))
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
