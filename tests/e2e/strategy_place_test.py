"""A strategy is refused at the line that applies the operator (# USE); notes name the one that gives it (# GIVEN).

The operator always is (16, 32) times (32, 16) in all, 8 ranks; 3 divides neither 32 nor 8.
"""

import re
import unittest

import command
from command import line_of

HEAD = """import functools
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel"); ms.communication.init()
WRONG = ((2, 3), (3, 1))
x = Tensor(shape=(2, 32), dtype=ms.float32)
def weight():
    return Parameter(Tensor(shape=(32, 16), dtype=ms.float32), "w")
"""

# name -> (script, lines that lead to the use, innermost first)
WAYS = {
    "nested cells": ("""
class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = weight()
        self.product = ops.MatMul().shard(WRONG)  # GIVEN
    def construct(self, x):
        return self.product(x, self.w)  # USE
class Middle(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def construct(self, x):
        return self.inner(x)  # CALL 1
class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell([Middle()])
    def construct(self, x):
        return self.layers(x)  # CALL 2
Outer()(x)  # CALL 3
""", 3),
    "lambda": ("""
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = weight()
        made = lambda: ops.MatMul().shard(WRONG)  # GIVEN
        self.product = made()
    def construct(self, x):
        applied = lambda a: self.product(a, self.w)  # USE
        return applied(x)  # CALL 1
Net()(x)  # CALL 2
""", 2),
    "list comprehension": ("""
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = weight()
        self.products = [ops.MatMul().shard(strategy)  # GIVEN
                         for strategy in (((8, 1), (1, 1)), WRONG)]
    def construct(self, x):
        return ops.add(*[product(x, self.w)  # USE
                         for product in self.products])
Net()(x)
""", 0),
    "decorators": ("""
def cut(make):
    @functools.wraps(make)
    def wrapper():
        return make().shard(WRONG)  # GIVEN
    return wrapper
@cut
def product():
    return ops.MatMul()
def scaled(construct):
    @functools.wraps(construct)
    def wrapper(self, x):
        return construct(self, x) * 2  # CALL 1
    return wrapper
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = weight()
        self.product = product()
    @scaled
    def construct(self, x):
        return self.product(x, self.w)  # USE
Net()(x)  # CALL 2
""", 2),
    "function under a gradient": ("""
product = ops.MatMul().shard(WRONG)  # GIVEN
w = weight()
def forward(x):
    return product(x, w).sum()  # USE
class Step(nn.Cell):
    def construct(self, x):
        return ms.value_and_grad(forward)(x)  # CALL 1
Step()(x)  # CALL 2
""", 2),
}


class StrategyPlaceTest(command.CommandTest):
    marker = "# GIVEN"  # at the line that the error points to

    def refused(self, text):
        run = self.reject(self.write("net.py", text), ["'MatMul'", "into 3"], 8)
        place = re.match(r"net\.py:(\d+):", run.errors()[0])
        self.assertTrue(place, run.err)
        self.assertEqual(int(place.group(1)), line_of(text, self.marker), run.err)
        self.assertIn(self.marker, run.err)  # the text of the line is shown
        return run.err

    def test_strategy_is_the_place_and_its_use_a_note(self):
        for way, (body, callers) in WAYS.items():
            with self.subTest(way):
                text = HEAD + body
                shown = self.refused(text)
                self.assertRegex(shown, r"note: the operator is applied at net\.py:%d: .*# USE" % line_of(text, "# USE"))
                calls = [int(line) for line in re.findall(r"note: called at net\.py:(\d+)", shown)]
                self.assertEqual(calls[:callers], [line_of(text, "# CALL %d" % (i + 1)) for i in range(callers)])

    def test_no_second_line_where_there_is_one(self):
        text = HEAD + "ms.value_and_grad(lambda x: ops.MatMul().shard(WRONG)(x, weight()).sum())(x)  # GIVEN\n"
        self.assertNotIn("the operator is applied", self.refused(text))

    def test_file_of_a_module_is_named(self):
        self.write("parts.py", "from mindspore import ops\ndef product():\n"
                               "    return ops.MatMul().shard(((2, 3), (3, 1)))  # GIVEN\n")
        text = HEAD + WAYS["nested cells"][0].replace("ops.MatMul().shard(WRONG)  # GIVEN", "parts.product()")
        run = self.reject(self.write("net.py", "import parts\n" + text), ["'MatMul'", "into 3"], 8)
        self.assertRegex(run.errors()[0], r"parts\.py:3:")
        self.assertRegex(run.err, r"note: the operator is applied at net\.py:\d+: .*# USE")


if __name__ == "__main__":
    unittest.main()
