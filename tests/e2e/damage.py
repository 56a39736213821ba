"""Damaged copies of good files: models, adapters, texts. Standard library only."""

import json
import shutil
import struct
import sys


def edit_json(path, change):
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def cut(path, size):
    with open(path, "r+b") as file:
        file.truncate(size)


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def safetensors_entries(path):
    """(name, dtype, first byte in the file, end) of every tensor."""
    data = path.read_bytes()
    (header,) = struct.unpack_from("<Q", data)
    for name, entry in json.loads(data[8:8 + header]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, entry["dtype"], 8 + header + begin, 8 + header + end


def scale_norms(path, factor):
    for name, dtype, begin, end in list(safetensors_entries(path)):
        if "norm" in name:
            assert dtype == "F32", dtype
            count = (end - begin) // 4
            values = struct.unpack(f"<{count}f", path.read_bytes()[begin:end])
            overwrite(path, begin, struct.pack(f"<{count}f", *(v * factor for v in values)))


def gguf_value_at(data, key):
    """Offset of the first byte of a string value: behind key, type (4) and length (8)."""
    return data.index(key) + len(key) + 4 + 8


def gguf_type_at(data, tensor):
    """Offset of a tensor's type number: behind name, rank (4) and the extents (8 each)."""
    after = data.index(tensor) + len(tensor)
    (rank,) = struct.unpack_from("<I", data, after)
    return after + 4 + 8 * rank


class Inputs:
    """Makes damaged copies of the good files below one folder."""

    def __init__(self, root, tiny):
        self.root, self.tiny = root, tiny.resolve()
        self.gguf = self.tiny.parent / "tiny_llama.gguf"
        self.sharded = self.tiny.parent / "tiny_llama_sharded"
        self.sample = self.tiny.parent / "sample.txt"
        for path in (self.tiny, self.gguf, self.sharded, self.sample):
            if not path.exists():
                sys.exit(f"bad_input.py: expected {path}, found nothing there")

    def copy(self, source, name, change=lambda path: None):
        path = self.root / name
        shutil.copytree(source, path) if source.is_dir() else shutil.copyfile(source, path)
        change(path)
        return path

    def text(self, name, data):
        path = self.root / name
        path.write_bytes(data)
        return path
