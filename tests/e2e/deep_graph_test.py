"""Long chains of one operator: nothing that follows a graph does so by recursion."""

import json
import unittest

import command

NODES = 40000
STEPS = {
    "Cast": lambda i: {"dtype": "float32" if i % 2 else "float16"},
    "ReLU": lambda i: {},
    "Reshape": lambda i: {"shape": [8, 16] if i % 2 else [16, 8]},
}


class DeepGraphTest(command.CommandTest):
    def chain(self, op, mode):
        """x times w, then NODES times `op`; w itself goes through half as many."""
        nodes = []

        def through(value, name, count):
            for i in range(count):
                nodes.append({"op": op, "inputs": [value], "outputs": [name + str(i)], "attrs": STEPS[op](i)})
                value = name + str(i)
            return value

        weight = through("w", "a", NODES // 2)
        nodes.append({"op": "MatMul", "inputs": ["x", weight], "outputs": ["y"], "strategy": [[2, 1], [1, 1]]})
        last = through("y", "b", NODES)
        nodes.append({"op": "ReduceMean", "inputs": [last], "outputs": ["loss"], "attrs": {"axis": [0, 1], "keep_dims": False}})
        return json.dumps({
            "schema": "drydock.graph/1", "name": "deep", "nodes": nodes, "outputs": ["loss"],
            "job": {"world_size": 8, "mode": mode, "search_mode": "sharding_propagation", "dataset_strategy": "full_batch"},
            "inputs": [{"name": "x", "shape": [8, 8], "dtype": "float32"}],
            "parameters": [{"name": "w", "shape": [8, 16], "dtype": "float32"}]})

    def test_every_kind_of_chain_is_compiled(self):
        for op in STEPS:
            for mode in ("semi_auto_parallel", "auto_parallel"):
                with self.subTest(op=op, mode=mode):
                    self.write("deep.json", self.chain(op, mode))
                    self.assert_accepted(self.msrun("--log_dir=out", "deep.json"))
                    if op == "ReLU":  # chains of the others fold
                        counts = [row["operators"] for row in self.report("summary.json", "out")["operators"]]
                        self.assertGreaterEqual(sum(counts), NODES * 3 // 2)

    def test_cells_in_cells_and_long_lists(self):
        """900 cells, each in the next: MindSpore's limit of calls is 1,000, Python's own would end it at 140. 5,000 in a list."""
        self.write("nested.py", """
import mindspore as ms
from mindspore import nn, ops, Tensor
class Around(nn.Cell):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.relu = ops.ReLU()
    def construct(self, x):
        return self.relu(x if self.inner is None else self.inner(x))
net = None
for _ in range(900):
    net = Around(net)
net = nn.SequentialCell([net] + [nn.ReLU() for _ in range(2500)] + [nn.Dense(8, 8, has_bias=False) for _ in range(2)])
names = [parameter.name for parameter in net.get_parameters()]
assert names == ["2501.weight", "2502.weight"], names
net(Tensor(shape=(8, 8), dtype=ms.float32))
""")
        self.assert_accepted(self.msrun("--worker_num=1", "--log_dir=out", "nested.py"))
        # 900 + 2500 ReLU and two products
        self.assertEqual(sum(row["operators"] for row in self.report("summary.json", "out")["operators"]), 3402)

    def test_a_tensor_beyond_what_is_accounted_is_our_limit(self):
        """4e18 bytes: a size that 64 bits hold, and no machine."""
        self.write("huge.py", """
import mindspore as ms
from mindspore import nn, Parameter
from mindspore.common.initializer import initializer
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(initializer("normal", (10**9, 10**9)), name="w")
    def construct(self):
        return self.w.sum()
Net()()
""")
        run = self.msrun("--worker_num=1", "--log_dir=out", "huge.py")
        self.assert_rejected(run, 8)
        self.assertIn("memory is accounted for tensors of up to", run.err)


if __name__ == "__main__":
    unittest.main()
