#!/usr/bin/env python3
"""A folder of src/focus includes only itself and folders below it, and nothing below ops knows torch."""

import re

from repo import ROOT, finish, sources

# From the lowest to the highest; apps/ is above them all. train, eval and infer stand in this order so that training
# may report what eval measures and eval may run what infer generates, never the other way round.
LAYERS = ["base", "formats", "text", "kernels", "plan", "ops", "nn", "infer", "eval", "train", "inspect", "bench",
          "serve", "apps"]
LOWEST_WITH_TORCH = LAYERS.index("ops")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")


def layer_of(path):
    """The layer of a path such as src/focus/text/bpe.cc, None when it is in no known folder."""
    parts = path.parts
    name = "apps" if parts[0] == "apps" else parts[2] if len(parts) > 3 else None
    return LAYERS.index(name) if name in LAYERS else None


def violations_in(path, text):
    """Violations of one file; path is relative to the project's root."""
    layer = layer_of(path)
    if layer is None:
        return [f"{path}: expected a file in one of src/focus/{{{','.join(LAYERS[:-1])}}} or apps/"]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        header, where = include[2], f"{path}:{number}"
        if TORCH.match(header) and layer < LOWEST_WITH_TORCH:
            found.append(f"{where}: {LAYERS[layer]} includes {header}; the lowest folder with torch is ops")
        elif header.startswith("focus/"):
            folder = header.split("/")[1]
            if folder not in LAYERS:
                found.append(f"{where}: includes {header}, and {folder} is no known layer")
            elif LAYERS.index(folder) > layer:
                found.append(f"{where}: {LAYERS[layer]} includes {header}, which is above it")
        elif include[1] == '"' and (ROOT / path.parent / header).exists() and path.parts[0] == "src":
            found.append(f"{where}: includes {header} by a relative path; write focus/FOLDER/FILE")
    return found


def main():
    paths = [p for p in sources() if p.parts[0] in ("src", "apps")]
    violations = [v for p in paths for v in violations_in(p, (ROOT / p).read_text())]
    finish(violations, len(paths))


if __name__ == "__main__":
    main()
