"""Scripts that compile in the process that records them: layouts, strategies, listings, errors."""
import unittest

from helper import TraceTest

HEAD = """
import json
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor as executor
from mindspore import _drydock

class Net(nn.Cell):
    def __init__(self, first=((2, 4), (4, 1)), second=((8, 1),)):
        super().__init__()
        self.matmul = ops.MatMul().shard(first)
        self.relu = ops.ReLU().shard(second)
        self.w = Parameter(Tensor(shape=(64, 32), dtype=ms.float32), "weight")
    def construct(self, x):
        return self.relu(self.matmul(x, self.w))

context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, global_rank=5,
                                  dataset_strategy="full_batch")
x = Tensor(shape=(32, 64), dtype=ms.float32)
"""


class InProcess(TraceTest):
    def printed(self, source):
        """What the script prints as JSON in its last line."""
        import json
        run = self.trace(HEAD + source)
        return json.loads(run.output.splitlines()[-1])

    def test_slices_of_parameters_follow_the_strategy(self):
        # 64 rows cut into 4, 32 columns not cut: 16 x 32. Rows lie on the second axis of (2, 4).
        layout = self.printed("""
net = Net()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict["weight"]))
""")
        self.assertEqual(layout[:3], [[2, 4], [0, -1], [16, 32]])
        self.assertEqual(layout[6], [64, 32])

    def test_strategies_are_found_under_the_phase_of_the_cell(self):
        strategies = self.printed("""
net = Net()
executor.compile(net, x, phase="train")
print(json.dumps(executor._get_shard_strategy(net)))
""")
        self.assertEqual(strategies["Default/MatMul-op0"], [[2, 4], [4, 1]])
        self.assertEqual(strategies["Default/ReLU-op0"], [[8, 1]])

    def test_listing_shows_the_sum_and_the_slice_of_the_rank(self):
        # Partial products are summed; ReLU wants 32 / 8 = 4 rows. Rank 5 holds rows 16..32 of the product
        # (first axis of (2, 4) is 5 div 4 = 1) and takes the second quarter of those 16: rows 4 to 8.
        nodes = self.printed("""
net = Net()
phase, _ = executor.compile(net, x)
print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
""")
        self.assertEqual(nodes["AllReduce-0"]["inputs"], ["MatMul-0"])
        self.assertEqual(nodes["AllReduce-0"]["attrs"]["group_ranks"], "4-5-6-7")
        self.assertEqual(nodes["MatMul-0"]["inputs"][1:], ["weight", False, False])
        self.assertEqual(nodes[nodes["ReLU-0"]["inputs"][0]]["inputs"][0], "AllReduce-0")
        self.assertEqual(nodes[nodes["ReLU-0"]["inputs"][0]]["inputs"][1:3], ["(4, 0)", "(8, 32)"])
        self.assertEqual(nodes["TupleGetItem-0"]["inputs"], ["MakeTuple-0", 0])

    def test_second_compile_of_a_signature_is_not_new(self):
        self.assertEqual(self.printed("""
net = Net()
first, new = executor.compile(net, x)
second, again = executor.compile(net, x)
print(json.dumps([first == second, new, again]))
"""), [True, True, False])

    def test_hook_tells_about_the_last_compile(self):
        facts = self.printed("""
before = _drydock.last_compile()
executor.compile(Net(), x)
first = _drydock.last_compile()
executor.compile(Net(), x)
second = _drydock.last_compile()
print(json.dumps([before, first["ops"], first["without_rule"], first["violations"], first["redistributions"],
                  first["serial"] < second["serial"]]))
""")
        # Into the product and into ReLU: two redistributions.
        self.assertEqual(facts, [None, ["MatMul", "ReLU"], [], [], 2, True])

    def test_illegal_strategy_is_a_runtime_error_with_place_and_reason(self):
        error = self.error(HEAD + "executor.compile(Net(second=((3, 1),)), x)\n")
        self.assertEqual(error["type"], "RuntimeError")
        self.assertIn("ReLU", error["reason"])
        self.assertEqual(error["place"]["text"].strip(), "self.relu = ops.ReLU().shard(second)")

    def test_settings_are_those_of_the_moment(self):
        self.assertEqual(self.printed("""
context.reset_auto_parallel_context()
net = Net()
executor.compile(net, x)
print(json.dumps(net.parameter_layout_dict))
"""), {})


class UserPrimitives(TraceTest):
    def test_shapes_come_from_the_script(self):
        run = self.trace(HEAD + """
context.reset_auto_parallel_context()
class Half(ops.PrimitiveWithInfer):
    @ops.prim_attr_register
    def __init__(self, factor=2):
        pass
    def infer_shape(self, shape):
        return [shape[0] // 2] + shape[1:]
    def infer_dtype(self, dtype):
        return ms.float16
class Cut(nn.Cell):
    def __init__(self):
        super().__init__()
        self.half = Half(3)
    def construct(self, x):
        y = self.half(x)
        assert y.shape == (16, 64) and y.dtype == ms.float16
        return y
Cut()(x)
""")
        node = run.documents[0]["nodes"][0]
        self.assertEqual((node["op"], node["attrs"]["factor"]), ("Half", 3))


if __name__ == "__main__":
    unittest.main()
