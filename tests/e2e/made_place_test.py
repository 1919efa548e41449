"""Parameters stand in reports and messages at the line that makes them, losses and layers of a loop at theirs.

The network: x (4 rows per rank, 32 columns) times w (32, 16), then a Dense layer with ten results.
"""

import re
import unittest

import command
from command import line_of

TEXT = """import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
ms.set_context(mode=ms.GRAPH_MODE)
ms.communication.init(); ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel")
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(32, 16), dtype=ms.float32), "w")  # W
        self.dense = nn.Dense(16, 10)  # DENSE
        self.matmul = ops.MatMul()
    def construct(self, x):
        return self.dense(self.matmul(x, self.w))  # USE
def rows():
    for _ in range(2):
        yield np.zeros((4, 32), np.float32), np.zeros((4, 10), np.float32)
data = ms.dataset.GeneratorDataset(rows, ["x", "y"])
net = Net()
loss = nn.SoftmaxCrossEntropyWithLogits(reduction="mean")  # LOSS
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)  # OPTIMIZER
ms.Model(net, loss, optimizer).train(1, data, dataset_sink_mode=False)  # TRAIN
"""

OWN_STEP = """
step = nn.WithLossCell(net, loss)
class Step(nn.Cell):
    def construct(self, x, y):
        return step(x, y)  # TRAIN
Step()(Tensor(shape=(4, 32), dtype=ms.float32), Tensor(shape=(4, 10), dtype=ms.float32))
"""


class MadePlaceTest(command.CommandTest):
    def lines(self, text):
        """{name of a tensor at the peak: its line}."""
        self.assert_accepted(self.msrun("--worker_num=8", "--log_dir=out", self.write("net.py", text)))
        rows = self.report("memory.json", "out")["classes"][0]["largest"]
        return {row["name"]: row["place"]["line"] for row in rows if "place" in row}

    def test_parameters_of_reports(self):
        lines = self.lines(TEXT)
        for name, mark in (("w", "# W"), ("dense.weight", "# DENSE"), ("dense.bias", "# DENSE"),
                           ("moments.w", "# OPTIMIZER"), ("moments.dense.weight", "# OPTIMIZER")):
            self.assertEqual(lines.get(name), line_of(TEXT, mark), (name, lines))

    def failing(self, text, mark, words=()):
        run = self.msrun("--worker_num=8", "--log_dir=out", self.write("net.py", text))
        self.assert_rejected(run, 6)
        self.assertRegex(run.errors()[0], r"^net\.py:%d:" % line_of(text, mark), run.err)
        for word in words:
            self.assertIn(word, run.err)
        return run

    def test_loss_of_a_loop(self):
        # Ten logits against nine classes.
        text = TEXT.replace("np.zeros((4, 10)", "np.zeros((4, 9)")
        self.failing(text, "# LOSS", ["note: the operator is applied at net.py:%d: " % line_of(text, "# TRAIN")])

    def test_loss_behind_a_wrapper_of_an_own_step(self):
        text = TEXT[:TEXT.index("ms.Model(")] + OWN_STEP.replace("(4, 10)", "(4, 9)")
        self.failing(text, "# LOSS", ["note: the operator is applied at net.py:%d: " % line_of(text, "# TRAIN")])

    def test_loss_that_the_script_applies(self):
        body = OWN_STEP.replace("step(x, y)", "loss(net(x), y)").replace("(4, 10)", "(4, 9)")
        self.failing(TEXT[:TEXT.index("ms.Model(")] + body, "# TRAIN")

    def test_layer_of_a_sequence(self):
        text = TEXT.replace("net = Net()", "net = nn.SequentialCell(\n    nn.Dense(32, 16),\n    nn.Dense(15, 10))  # LAYER")
        run = self.failing(text, "# LAYER", ["'1.weight' of shape (10, 15) is made at net.py:"])
        self.assertIn("# TRAIN", run.err)

    def test_shapes_that_do_not_fit_name_the_weight(self):
        text = TEXT.replace("shape=(32, 16)", "shape=(31, 16)")
        run = self.failing(text, "# USE")
        self.assertRegex(run.err, r"note: parameter 'w' of shape \(31, 16\) is made at net\.py:\d+: self\.w = Parameter\(.*# W")

    def test_weight_in_two_layouts(self):
        text = TEXT.replace("self.matmul = ops.MatMul()", "self.matmul = ops.MatMul().shard(((1, 8), (8, 1)))\n"
                            "        self.again = ops.MatMul().shard(((1, 1), (1, 8)))")
        text = text.replace("self.dense(self.matmul(x, self.w))  # USE",
                            "self.dense(self.matmul(x, self.w)\n"
                            "                          + self.again(x, self.w))  # AGAIN")
        run = self.failing(text, "# W", ["'w' is wanted in two layouts"])
        self.assertRegex(run.err, r"note: 'MatMul' uses it at net\.py:%d: .*# AGAIN" % line_of(text, "# AGAIN"))


if __name__ == "__main__":
    unittest.main()
