"""Recomputation: what a script says of cells and operators is in the graph document."""

import unittest

from helper import TraceTest

NET = """\
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
ms.set_context(mode=ms.GRAPH_MODE)
class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([[1.0] * 8] * 8, ms.float32), name="w")
        self.mm, self.act, self.plus = ops.MatMul(), ops.GeLU(), ops.Add()
    def construct(self, x):
        return self.plus(x, self.act(self.mm(x, self.w)))
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.one, self.two = Layer(), Layer()
    def construct(self, x):
        return self.two(self.one(x))
net = Net()
x = Tensor([[1.0] * 8] * 8, ms.float32)
"""


class Recompute(TraceTest):
    def marks(self, lines):
        """Per node: is its scope that of a recomputed cell, attribute recompute."""
        run = self.trace(NET + lines + "\nnet(x)\n")
        nodes = run.documents[0]["nodes"]
        return [(node.get("scope", "").startswith("recompute_"), node.get("attrs", {}).get("recompute")) for node in nodes]

    def test_all_of_a_cell_but_its_results(self):
        # MatMul, GeLU, Add of the first layer, which is recomputed, then of the second, which is not.
        self.assertEqual(self.marks("net.one.recompute()"),
                         [(True, None), (True, None), (True, False), (False, None), (False, None), (False, None)])

    def test_of_nested_cells_only_the_outermost_keeps_its_results(self):
        self.assertEqual(self.marks("net.recompute()"),
                         [(True, None), (True, None), (True, None), (True, None), (True, None), (True, False)])

    def test_a_cell_that_was_recomputed_by_itself_keeps_its_results(self):
        self.assertEqual(self.marks("net.one.recompute()\nnet.recompute()")[2], (True, False))

    def test_operators(self):
        self.assertEqual(self.marks("net.one.act.recompute()\nnet.two.recompute()\nnet.two.mm.recompute(False)"),
                         [(False, None), (False, True), (False, None), (True, False), (True, None), (True, False)])

    def test_operators_that_a_script_finds_by_their_names(self):
        # dir() and vars() of a cell list its operators, but neither its cells nor its parameters.
        run = self.trace(NET + "found = [name for name in dir(net.one) if isinstance(getattr(net.one, name), ops.Primitive)]\n"
                         "assert found == ['act', 'mm', 'plus'], found\n"
                         "assert 'w' not in dir(net.one) and 'one' not in dir(net) and vars(net.two)['act'] is net.two.act\n"
                         "getattr(net.one, found[0]).recompute()\nnet(x)\n"
                         "del net.one.plus\nassert 'plus' not in dir(net.one) and not hasattr(net.one, 'plus')\n"
                         "net.one.act = None\nassert net.one.act is None\n")
        self.assertEqual([node.get("attrs", {}).get("recompute") for node in run.documents[0]["nodes"]],
                         [None, True, None, None, None, None])

    def test_communication_of_a_cell(self):
        run = self.trace(NET + "net.one.recompute(mp_comm_recompute=False)\nnet(x)\n")
        self.assertEqual([node.get("attrs", {}).get("recompute_comm_op") for node in run.documents[0]["nodes"]],
                         [False, False, False, None, None, None])

    def test_arguments_are_named_and_true_or_false(self):
        for arguments, kind in (("depth=3", "ValueError"), ("mp_comm_recompute=1", "TypeError"), ("True", "TypeError")):
            error = self.error(NET + "net.recompute(%s)\nnet(x)\n" % arguments)
            self.assertIn(kind, str(error), arguments)

    def test_the_function_is_for_pynative_mode(self):
        call = NET.replace("self.two(self.one(x))", "self.two(ms.recompute(self.one, x))") + "net(x)\n"
        error = self.error(call)
        self.assertEqual((error["type"], error["place"]["line"]), ("RuntimeError", NET[:NET.index("self.two(")].count("\n") + 1))
        run = self.trace(call.replace("GRAPH_MODE", "PYNATIVE_MODE"))
        self.assertTrue(any("recompute(cell, ...)" in text for text in run.warnings))


if __name__ == "__main__":
    unittest.main()
