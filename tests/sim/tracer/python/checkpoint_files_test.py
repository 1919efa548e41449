"""Checkpoint files: names, shapes and types are read, contents are not; what is none is refused."""
import importlib.util
import json
import os
import random
import struct
import tempfile
import unittest

from helper import PACKAGES, TraceTest

SPEC = importlib.util.spec_from_file_location("reader", os.path.join(PACKAGES, "mindspore", "train", "_checkpoint_files.py"))
reader = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reader)


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name, shape, kind, content=b""):
    dims = b"".join(varint(1 << 3) + varint(extent) for extent in shape)
    return field(1, field(1, name.encode()) + field(2, dims + field(2, kind.encode()) + field(3, content)))


# A weight of 300 x 2, a scalar (one extent of nothing), a large one in two parts, each with the whole shape.
CHECKPOINT = (value("w", (300, 2), "Float16", bytes(1200)) + value("step", (0,), "Int32", bytes(4)) +
              value("table", (4, 4), "Float32", bytes(32)) + value("table", (4, 4), "Float32", bytes(32)))
EXPECTED = [("w", (300, 2), "Float16"), ("step", (), "Int32"), ("table", (4, 4), "Float32")]
HEAD = json.dumps({"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [3, 2], "data_offsets": [0, 12]}}).encode()
SAFETENSORS = struct.pack("<Q", len(HEAD)) + HEAD + bytes(12)


class Files(unittest.TestCase):
    def read(self, content, suffix=".ckpt"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file" + suffix)
            with open(path, "wb") as file:
                file.write(content)
            return reader.parameters_of(path)

    def test_both_formats(self):
        self.assertEqual(self.read(CHECKPOINT), EXPECTED)
        self.assertEqual(self.read(CHECKPOINT + b"crc_num" + bytes(10)), EXPECTED)
        self.assertEqual(self.read(SAFETENSORS, ".safetensors"), [("w", (3, 2), "BFloat16")])

    def test_what_is_none_is_a_value_error(self):
        for content in (b"not a checkpoint at all", field(7, b"x"), b"\xff" * 40):
            with self.assertRaises(ValueError):
                self.read(content)
        with self.assertRaises(ValueError):
            self.read(struct.pack("<Q", 1 << 62) + HEAD, ".safetensors")

    def test_damaged_files_end_in_an_error_or_a_list(self):
        draw = random.Random(7)
        for suffix, content in ((".ckpt", CHECKPOINT), (".safetensors", SAFETENSORS)):
            for _ in range(400):
                damaged = bytearray(content[:draw.randrange(1, len(content) + 1)])
                for _ in range(draw.randrange(4)):
                    damaged[draw.randrange(len(damaged))] = draw.randrange(256)
                try:
                    self.read(bytes(damaged), suffix)
                except (ValueError, KeyError, TypeError, AttributeError):
                    pass  # load_checkpoint() makes one message of them


SCRIPT = """
import mindspore as ms, numpy as np
class Net(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.ones((3, 2), np.float32)), name="w")
        self.b = ms.Parameter(ms.Tensor(np.ones(2, np.float32)), name="b")
    def construct(self, x):
        return ms.ops.matmul(x, self.w) + self.b
open("a.safetensors", "wb").write(%r)
open("bad.ckpt", "wb").write(b"no checkpoint")
net = Net()
""" % SAFETENSORS


class Scripts(TraceTest):
    def test_parameters_of_a_file_are_there_by_name(self):
        run = self.trace(SCRIPT + """
loaded = ms.load_checkpoint("a.safetensors")
print("HAS", {name: (p.shape, str(p.dtype)) for name, p in loaded.items()}, ms.load_param_into_net(net, loaded))
net(ms.Tensor(np.ones((4, 3), np.float32)))""")
        self.assertIn("HAS {'w': ((3, 2), 'BFloat16')} (['b'], [])", run.output)

    def test_damaged_file_is_named_with_a_remedy(self):
        error = self.error(SCRIPT + "ms.load_checkpoint('bad.ckpt')")
        self.assertIn("'bad.ckpt' is not a checkpoint", error["message"])
        self.assertIn("a dry run needs no weights", error["hint"])

    def test_missing_file_says_where_it_was_looked_for(self):
        error = self.error(SCRIPT + "open('tokenizer.model')")
        self.assertIn("where msrun was started", error["hint"])


if __name__ == "__main__":
    unittest.main()
