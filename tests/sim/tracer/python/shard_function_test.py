"""shard() of Cells and functions: called in place or as a function, parameter plans, PyNative mode around it."""
import unittest

from helper import TraceTest

NET = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.communication import init
from mindspore.parallel import shard
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)

class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(16, 16), dtype=ms.float32), name="w")
        self.mm = ops.MatMul()
    def construct(self, x):
        return self.mm(x, self.w)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block, self.rest = Block(), Block()
        self.call = self.cut()
    def construct(self, x):
        return self.rest(self.call(x))
row = Tensor(shape=(16, 16), dtype=ms.float32)
"""
IN_PLACE = NET + """
class Mine(Net):
    def cut(self):
        self.block.shard(in_strategy=((8, 1),), parameter_plan={"self.block.w": (1, 8)})
        return self.block
"""
PYNATIVE = "ms.set_context(mode=ms.PYNATIVE_MODE)\nms.set_auto_parallel_context(parallel_mode='auto_parallel', " \
           "search_mode='sharding_propagation', dataset_strategy='full_batch')\n"


class Shard(TraceTest):
    def nodes(self, run, program=0):
        return [(node["op"], node.get("strategy")) for node in run.documents[program]["nodes"]]

    def test_a_cell_is_cut_in_place(self):
        run = self.trace(IN_PLACE + "Mine()(row)\n")
        self.assertEqual(self.nodes(run), [("AShardIdentity", [[8, 1]]), ("AShardIdentity", [[1, 8]]), ("MatMul", None),
                                           ("MatMul", None)])

    def test_the_function_does_the_same(self):
        called = "class Mine(Net):\n    def cut(self):\n        return %s(%sin_strategy=((8, 1),), " \
                 "parameter_plan={'self.block.w': (1, 8)})\nMine()(row)\n"
        in_place = self.nodes(self.trace(IN_PLACE + "Mine()(row)\n"))
        self.assertEqual(self.nodes(self.trace(NET + called % ("shard", "self.block, "))), in_place)
        self.assertEqual(self.nodes(self.trace(NET + called % ("self.block.shard", ""))), in_place)

    def test_strategies_are_propagated(self):
        job = self.trace(IN_PLACE + "Mine()(row)\n").documents[0]["job"]
        self.assertEqual((job["mode"], job["search_mode"]), ("auto_parallel", "sharding_propagation"))
        error = self.error("import mindspore as ms\n" + IN_PLACE.replace("semi_auto_parallel", "auto_parallel").replace(
            "full_batch=True", "full_batch=True, search_mode='dynamic_programming'") + "Mine()(row)\n")
        self.assertEqual(error["reason"], "shard:search-mode")

    def test_names_of_a_plan(self):
        run = self.trace(IN_PLACE.replace('"self.block.w"', '"self.block.v"') + "Mine()(row)\n")
        self.assertIn("did you mean 'block.w'?", "".join(run.warnings))
        self.assertEqual(self.nodes(run)[1], ("MatMul", None))
        error = self.error(IN_PLACE.replace("(1, 8)}", "(1, 3)}") + "Mine()(row)\n")
        self.assertEqual(error["reason"], "shard:parameter-plan")

    def test_a_function_that_the_script_calls_is_a_network(self):
        run = self.trace(NET + "def added(x, y):\n    return x + y\nshard(added, ((4, 2), (4, 2)))(row, row)\n")
        self.assertEqual(self.nodes(run), [("AShardIdentity", [[4, 2]]), ("AShardIdentity", [[4, 2]]), ("Add", None)])

    def test_what_is_around_it_in_pynative_mode_is_whole(self):
        run = self.trace(IN_PLACE + PYNATIVE + "Mine()(row)\n")
        self.assertEqual([(node["op"], node["attrs"]["pynative"]) for node in run.documents[0]["nodes"]],
                         [("AShardIdentity", "sharded"), ("AShardIdentity", "sharded"), ("MatMul", "sharded"),
                          ("AShardIdentity", "whole"), ("MatMul", "whole")])
        self.assertIs(run.documents[0]["job"]["loss_repeated_mean"], False)

    def test_functions_with_parameters_in_pynative_mode(self):
        error = self.error(NET + PYNATIVE + "block = Block()\nshard(lambda x: block(x), ((8, 1),))(row)\n")
        self.assertEqual((error["type"], error["reason"]), ("RuntimeError", "shard:function-parameter"))

    def test_pynative_mode_without_it_cuts_nothing(self):
        run = self.trace(NET + PYNATIVE + "Block()(row)\n")
        self.assertEqual(run.documents[0]["job"]["mode"], "stand_alone")


if __name__ == "__main__":
    unittest.main()
