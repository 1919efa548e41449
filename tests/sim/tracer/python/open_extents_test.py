"""Cuts that need extents which are open are refused where MindSpore refuses them; the same cuts of other dimensions are not."""
import unittest

from helper import TraceTest

NET = '''
import mindspore as ms
from mindspore import context, nn, ops, Tensor
context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, full_batch=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.op = %s

    def construct(self, x, y):
        return %s


whole = Tensor(shape=(4, 4), dtype=ms.int32)
net = Net()
net(Tensor(shape=%s, dtype=ms.float32), whole)
'''
# operator, call, shape of x, what is refused
ROWS = [
    ("ops.GatherD().shard(((2, 1), (2, 1)))", "self.op(x, 0, y)", "(None, 4)", "'GatherD' does not work where extents are open"),
    ("ops.GatherD().shard(((2, 1), (2, 1)))", "self.op(x, 0, y)", "(4, 4)", None),
    ("ops.Gather().shard(((2, 1), (1, 1)))", "self.op(ops.relu(x), y, 0)", "(None, 4)", "'Gather'"),  # open behind the activation, too
    ("ops.Gather().shard(((1, 2), (1, 1)))", "self.op(x, y, 0)", "(None, 4)", None),  # dimension 1 has its extent
]


class OpenExtents(TraceTest):
    def test_rows(self):
        for row in ROWS:
            text = NET % row[:3]
            if row[3] is None:
                self.trace(text)
                continue
            error = self.error(text)
            self.assertEqual((error["family"], error["type"]), ("user", "RuntimeError"), row)
            self.assertIn(row[3], error["message"])
            self.assertIn("open-extents", error["reason"])


if __name__ == "__main__":
    unittest.main()
