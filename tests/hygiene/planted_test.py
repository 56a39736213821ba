"""The hygiene rules themselves: each catches a planted violation and lets the right thing pass."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import format_check
import include_direction
import isa_objects
import loaded_libraries
import text_rules


class IncludeDirection(unittest.TestCase):
    def found(self, path, *lines):
        return include_direction.violations_in(Path(path), "\n".join(lines))

    def test_lower_folder_includes_higher(self):
        self.assertEqual(len(self.found("src/focus/plan/a.cc", '#include "focus/nn/router.h"')), 1)
        self.assertEqual(len(self.found("src/focus/eval/a.h", "  #  include <focus/train/loop.h>")), 1)

    def test_torch_below_ops(self):
        for header in ("torch/torch.h", "ATen/core/Tensor.h", "c10/util/Half.h"):
            self.assertEqual(len(self.found("src/focus/kernels/attention/a.cc", f"#include <{header}>")), 1, header)
            self.assertEqual(self.found("src/focus/ops/a.cc", f"#include <{header}>"), [])

    def test_unknown_folders(self):
        self.assertEqual(len(self.found("src/focus/utils/a.cc")), 1)
        self.assertEqual(len(self.found("src/focus/a.cc")), 1)
        self.assertEqual(len(self.found("src/focus/base/a.cc", '#include "focus/utils/b.h"')), 1)

    def test_right_direction_passes(self):
        self.assertEqual(self.found("src/focus/nn/a.cc", '#include "focus/base/error.h"', "#include <vector>"), [])
        self.assertEqual(self.found("apps/focus/main.cc", '#include "focus/train/loop.h"'), [])


class TextRules(unittest.TestCase):
    def test_planted(self):
        for text in ("see /roo" "t/x", "cd /wor" "k", "'/hom" "e/me/a'", "from pypi.or" "g", "// TO" "DO: later", "XX" "X"):
            self.assertEqual(len(text_rules.violations_in(Path("a.md"), "fine\n" + text)), 1, text)

    def test_ordinary_text_passes(self):
        for text in ("a/wor" "k/b", "the wor" "k, root and home", "focus/roo" "t", "mastodon", "/usr/bin/python3"):
            self.assertEqual(text_rules.violations_in(Path("a.md"), text), [], text)


class Format(unittest.TestCase):
    def test_planted(self):
        clang_format = shutil.which("clang-format-14")
        if not clang_format:
            self.skipTest("clang-format 14 is not installed")
        with tempfile.TemporaryDirectory() as folder:
            good, bad = Path(folder) / "good.cc", Path(folder) / "bad.cc"
            good.write_text("int f() { return 1; }\n")
            bad.write_text("int f(){return 1;}\n")
            self.assertEqual(format_check.violations_of(clang_format, [good]), [])
            self.assertEqual(len(format_check.violations_of(clang_format, [good, bad])), 1)


class IsaObjects(unittest.TestCase):
    def test_planted(self):
        with tempfile.TemporaryDirectory() as folder:
            def command(name, *flags):
                return {"directory": folder, "file": f"{folder}/{name}", "command":
                        " ".join(["c++", *flags, "-O0", "-o", f"{name}.o", "-c", f"{folder}/{name}"])}

            source = "inline int planted() { return 1; }\nint use() { return planted(); }\n"
            commands = [command("a_avx512.cc"), command("b.cc", "-mavx2"), command("plain.cc")]
            for entry in commands:
                Path(entry["file"]).write_text(source)
                subprocess.run(entry["command"].split(), cwd=folder, check=True)
            objects = isa_objects.isa_objects(folder, commands)
            self.assertEqual([p.name for p in objects], ["a_avx512.cc.o", "b.cc.o"])
            for path in objects:
                done = subprocess.run(["nm", "--defined-only", "-C", path], capture_output=True, text=True, check=True)
                self.assertEqual(isa_objects.weak_symbols(done.stdout), ["planted()"])


class LoadedLibraries(unittest.TestCase):
    LIBRARIES = {"libtorch_cpu.so": "/v/site-packages/torch/lib/libtorch_cpu.so",
                 "libgomp.so.1": "/v/site-packages/torch/lib/libgomp.so.1",
                 "libcudart.so.13": "/v/site-packages/nvidia/cu13/lib/libcudart.so.13"}

    def test_right_set_passes(self):
        self.assertEqual(loaded_libraries.violations_in(self.LIBRARIES), [])

    def test_planted(self):
        for planted in ({"libgomp-a34b3233.so.1": "/v/x"}, {"libtorch_cuda.so": "/v/x"}, {"libfmt.so.9": None},
                        {"libcudart.so.13": "/usr/local/cuda/lib64/libcudart.so.13"}, {"libtorch_cpu.so": None}):
            self.assertNotEqual(loaded_libraries.violations_in({**self.LIBRARIES, **planted}), [], planted)

    def test_parse(self):
        text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\tlibx.so => not found\n"
        self.assertEqual(loaded_libraries.parse(text), {"libc.so.6": "/lib/libc.so.6", "libx.so": None})


if __name__ == "__main__":
    unittest.main()
