"""Files that save_graphs asks for, written by a compile inside of a script."""
import glob
import os
import tempfile
import unittest

from helper import TraceTest

NET = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor as executor
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul().shard(((2, 4), (4, 1)))
        self.w = Parameter(Tensor(shape=(64, 32), dtype=ms.float32), "w")
    def construct(self, x):
        return self.matmul(x, self.w)
net = Net()
context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, global_rank=3, dataset_strategy="full_batch")
x = Tensor(shape=(32, 64), dtype=ms.float32)
"""
STEP = """
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
executor.compile(step, x)
"""


class GraphDumps(TraceTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "graphs")

    def dumped(self, script, keyword):
        """Text of the one file whose name has the keyword; the folder is that of the rank of the context."""
        self.trace(NET + "context.set_context(save_graphs=2, save_graphs_path=%r)\n" % self.path + script)
        [file] = glob.glob(os.path.join(self.path, "rank_3", keyword))
        with open(file, encoding="utf-8") as text:
            return text.read()

    def test_before_sharding_shapes_are_whole_and_strategies_are_told(self):
        text = self.dumped("executor.compile(net, x)\n", "step_parallel_begin_*.ir")
        self.assertIn("{in_strategy: ((2, 4), (4, 1))}", text)
        self.assertIn("(<Tensor[Float32], (32, 64)>, <Tensor[Float32], (64, 32)>", text)

    def test_behind_sharding_shapes_are_those_of_the_rank(self):
        text = self.dumped("executor.compile(net, x)\n", "step_parallel_end_*.ir")
        # 64 columns in 4 parts: 16; the sum over the four is one AllReduce, no gradient is there yet
        self.assertIn("(<Tensor[Float32], (16, 16)>, <Tensor[Float32], (16, 32)>", text)
        self.assertEqual(1, text.count("= AllReduce("))

    def test_the_program_of_the_backend_has_its_gradients(self):
        text = self.dumped(STEP, "*_validate_*.ir")
        # the weight lies on 2 groups of 4: its gradient is summed over the 2 ranks of each part
        self.assertEqual(2, text.count("= AllReduce("))
        self.assertIn("ApplyMomentum(", text)

    def test_layouts_and_variables_are_those_of_the_script(self):
        text = self.dumped("""
cut = ms.Layout((2, 4), ("rows", "columns"))
class Relu(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = ops.ReLU().shard((cut("rows", "columns"),))
    def construct(self, x):
        positive = self.relu(x)
        return ops.exp(positive)
executor.compile(Relu(), x)
""", "step_parallel_begin_*.ir")
        # the data set gives a tuple: %1 is its only item
        self.assertIn("(positive) = PrimFunc_ReLU(%1)", text)
        self.assertIn("in_layout: ({'device_matrix': (2, 4), 'tensor_map': (1, 0), 'interleaved_parallel': false, "
                      "'alias_name': (rows, columns)})", text)

    def test_nothing_is_written_unless_asked_for(self):
        self.trace(NET + "context.set_context(save_graphs_path=%r)\nexecutor.compile(net, x)\n" % self.path)
        self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    unittest.main()
