"""Where operators come from: the user's line, also through cells, lambdas, comprehensions and decorators."""
import unittest

from helper import TraceTest

HEAD = """
import functools
import mindspore as ms
from mindspore import nn, ops, Tensor
x = Tensor(shape=(4, 6), dtype=ms.float32)
"""

WAYS = {
    "nested cells": """
class Inner(nn.Cell):
    def construct(self, x):
        return ops.matmul(x, x)  # HERE
class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = nn.SequentialCell([Inner()])
    def construct(self, x):
        return self.inner(x)
Outer()(x)
""",
    "lambda": """
class Net(nn.Cell):
    def construct(self, x):
        product = lambda a: ops.matmul(a, a)  # HERE
        return product(x)
Net()(x)
""",
    "list comprehension": """
class Net(nn.Cell):
    def construct(self, x):
        return ops.concat([ops.matmul(x, x)  # HERE
                           for _ in range(2)])
Net()(x)
""",
    "decorator": """
def twice(function):
    @functools.wraps(function)
    def wrapper(self, value):
        return function(self, function(self, value))
    return wrapper
class Net(nn.Cell):
    @twice
    def construct(self, x):
        return ops.matmul(x, x)  # HERE
Net()(x)
""",
    "operator of a tensor": """
class Net(nn.Cell):
    def construct(self, x):
        return x @ x  # HERE
Net()(x)
""",
    "function of a gradient": """
def forward(x):
    return ops.matmul(x, x)  # HERE
ms.value_and_grad(forward)(x)
""",
}


class Places(TraceTest):
    def test_error_names_the_line_and_its_text(self):
        for way, text in WAYS.items():
            with self.subTest(way):
                error = self.error(HEAD + text)  # (4, 6) times (4, 6) has no product
                line = 1 + (HEAD + text)[:(HEAD + text).index("# HERE")].count("\n")
                self.assertEqual((error["place"]["file"], error["place"]["line"]), ("net.py", line))
                self.assertIn("# HERE", error["place"]["text"])

    def test_callers_follow_innermost_first(self):
        error = self.error(HEAD + WAYS["nested cells"])
        lines = [frame["function"] for frame in error["frames"]]
        self.assertEqual(lines, ["construct", "construct", "<module>"])

    def test_rows_of_all_ranks_are_told_from_those_of_the_script(self):
        # 4 rows on each of 8 ranks are 32, a number that the script does not have.
        cut = "from mindspore.communication import init\ninit()\nms.set_auto_parallel_context(parallel_mode='semi_auto_parallel')\n"
        source = HEAD + cut + "class Net(nn.Cell):\n    def construct(self, x):\n        return ops.matmul(x, ops.ones((4, 6), ms.float32))\nNet()(x)\n"
        error = self.error(source)
        self.assertIn("cannot multiply (32, 6) by (4, 6)", error["message"])
        self.assertEqual(error["notes"][:1], ["data of shape (4, 6) on each rank have shape (32, 6) in the network, which dataset_strategy "
                                              "cuts by (8, 1)"])


if __name__ == "__main__":
    unittest.main()
