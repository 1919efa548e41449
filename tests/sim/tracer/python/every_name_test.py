"""Every name of MindSpore that names.txt lists can be asked for, and one that is not there is our limit (8), never a mistake (6)."""
import unittest

from helper import TraceTest

ASK = r'''
import collections
import importlib
import sys
from mindspore._drydock import names
from mindspore._drydock.errors import Unsupported
from mindspore._drydock.lazy import Stub
import mindspore as ms

counts = collections.Counter()


def outcome(owner, name):
    try:
        found = getattr(owner, name)
    except Unsupported:
        return "refused"
    if not isinstance(found, Stub):
        return "there"
    try:
        found()
    except Unsupported as limit:
        return "refused" if limit.name.endswith(name) else "refused as " + limit.name
    return "answered"


lists = names._read()
for kind in ("modules", "names"):
    for module, found in lists[kind].items():
        try:
            owner = importlib.import_module(module)
        except Exception as error:
            print("BAD", module, repr(error))
            continue
        for name in sorted(found):
            if module.endswith("_pb2") or name.startswith("_"):
                continue
            try:
                result = outcome(owner, name)
            except Exception as error:
                result = repr(error)
            counts[result] += 1
            if result not in ("there", "refused"):
                print("BAD", module, name, result)
row = ms.Tensor(shape=(2, 2), dtype=ms.float32)
cell = ms.nn.Dense(2, 2)
things = {"mindspore.Tensor": row, "mindspore.Parameter": cell.weight, "mindspore.nn.Cell": cell, "mindspore.ops.Primitive": ms.ops.ReLU(),
          "mindspore.nn.Optimizer": ms.nn.SGD(cell.trainable_params()), "mindspore.nn.CellList": ms.nn.CellList([cell]),
          "mindspore.nn.SequentialCell": ms.nn.SequentialCell(cell)}
for kind, thing in things.items():
    for name in sorted(lists["methods"][kind]):
        try:
            getattr(thing, name)
            counts["method"] += 1
        except Unsupported:
            counts["method refused"] += 1
        except Exception as error:
            print("BAD", kind, name, repr(error))
print("COUNTS", dict(counts))
cell(row)
'''


class EveryName(TraceTest):
    def test_none_is_a_mistake(self):
        run = self.trace(ASK)
        bad = [line for line in run.output.splitlines() if line.startswith("BAD")]
        self.assertEqual(bad[:400], [], "%d in all" % len(bad))
        counts = eval(run.output.split("COUNTS", 1)[1].splitlines()[0])
        self.assertGreater(counts["there"] + counts["refused"], 8000)  # names.txt: about 12,000 words, methods and headings apart
        self.assertGreater(counts["method"], 800)


if __name__ == "__main__":
    unittest.main()
