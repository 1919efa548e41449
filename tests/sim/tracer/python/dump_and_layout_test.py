"""Dumps of tensors, data sets cut by Layouts, networks that compute nothing: as the compile of one network shows them."""
import json
import unittest

from helper import TraceTest

HEAD = """
import json
import mindspore as ms
from mindspore import Layout, mint, nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor as executor
context.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, dataset_strategy="full_batch")
def show(net, *inputs):
    phase, _ = executor.compile(net, *inputs, phase="train")
    print(json.dumps(executor._graph_executor.get_parallel_graph_info(phase)["@graph_0"]))
"""
# matmul gives rows in 2 parts and columns in 4 and adds up nothing; its reader wants rows in 8 parts: exchanges between them
TWO = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = ops.ReLU().shard(((2, 4),))
        self.second = ops.GeLU().shard(((8, 1),))
        self.third = ops.Tanh().shard(((1, 8),))
    def construct(self, x):
        y = self.first(x)
        %s
        return self.second(y)%s
show(Net(), Tensor(shape=(16, 32), dtype=ms.float32))
"""


class Dumps(TraceTest):
    def dumps(self, line, more=""):
        """[(path, what is dumped)] of the compiled network."""
        nodes = json.loads(self.trace(HEAD + TWO % (line, more)).output.splitlines()[-1])
        return sorted(tuple(node["inputs"]) for name, node in nodes.items() if name.startswith("TensorDump"))

    def test_out_is_what_was_computed(self):
        self.assertEqual([("a/y.npy", "ReLU-0")], self.dumps("ops.tensordump('a/y.npy', y, 'out')"))

    def test_in_is_what_each_reader_gets(self):
        [(path, tensor)] = self.dumps("ops.tensordump('a/y.npy', y, 'in')")
        self.assertEqual("a/y_in.npy", path)
        self.assertNotEqual("ReLU-0", tensor)  # behind the exchange
        both = self.dumps("ops.tensordump('y', y, 'in')", ", self.third(y)")
        self.assertEqual(["y_in", "y_in"], [path for path, _ in both])
        self.assertNotEqual(both[0][1], both[1][1])

    def test_all_is_both(self):
        paths = [path for path, _ in self.dumps("ops.TensorDump('all')('y.npy', y)")]
        self.assertEqual(["y.npy", "y_in.npy"], paths)

    def test_the_way_is_checked(self):
        error = self.error(HEAD + "ops.TensorDump('both')\n")
        self.assertEqual("TensorDump:input_output", error["reason"])


class DataSets(TraceTest):
    def test_layouts_may_cut_several_dimensions(self):
        # 4 x 2 devices, both dimensions cut: a rank of (4, 8) stands for (16, 16), and ReLU needs no exchange
        run = self.trace(HEAD + """
cut = Layout((4, 2), ("a", "b"))
context.set_auto_parallel_context(dataset_strategy=(cut("a", "b"),))
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.relu = ops.ReLU().shard(((4, 2),))
    def construct(self, x):
        return self.relu(x)
net = Net()
show(net, Tensor(shape=(4, 8), dtype=ms.float32))
print(json.dumps(net.parameter_layout_dict))
""")
        nodes = json.loads(run.output.splitlines()[-2])
        self.assertEqual(["MakeTuple-0", "ReLU-0", "Return-0", "TupleGetItem-0"], sorted(nodes))
        [layout] = json.loads(run.output.splitlines()[-1]).values()
        self.assertEqual([[4, 2], [1, 0], [4, 8]], layout[:3])


    def test_a_data_set_of_the_script_behind_it_changes_nothing(self):
        run = self.trace(HEAD + """
cut = Layout((4, 2), ("a", "b"))
context.set_auto_parallel_context(dataset_strategy=(cut("a", "b"),))
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.data = ops.operations.comm_ops._VirtualDataset()
        self.relu = ops.ReLU().shard(((4, 2),))
    def construct(self, x):
        x = self.data(x)
        return self.relu(x)
show(Net(), Tensor(shape=(4, 8), dtype=ms.float32))
""")
        self.assertEqual(["MakeTuple-0", "ReLU-0", "Return-0", "TupleGetItem-0"],
                         sorted(json.loads(run.output.splitlines()[-1])))


class Nothing(TraceTest):
    def test_networks_without_operators_are_networks(self):
        for body, outputs in (("return x", ["input"]), ("return ops.eye(4, 4, ms.float32)", ["constant"])):
            with self.subTest(body=body):
                run = self.trace(HEAD + """
class Net(nn.Cell):
    def construct(self, x):
        %s
Net()(Tensor(shape=(16, 8), dtype=ms.float32))
""" % body)
                self.assertEqual([], self.ops(run))
                self.assertEqual(1, len(run.documents[0]["outputs"]))

    def test_a_network_that_computes_nothing_is_no_second_one(self):
        run = self.trace(HEAD + """
class Same(nn.Cell):
    def construct(self, x):
        return x
class Net(nn.Cell):
    def construct(self, x):
        return ops.relu(x)
Same()(Tensor(shape=(8, 8), dtype=ms.float32))
Net()(Tensor(shape=(16, 8), dtype=ms.float32))
""")
        self.assertEqual([["ReLU"]], [self.ops(run, p) for p in range(len(run.documents))])


class Exchanges(TraceTest):
    def test_dimensions_are_checked_before_the_group(self):
        error = self.error(HEAD + """
context.set_auto_parallel_context(parallel_mode="stand_alone", dataset_strategy="data_parallel")
class Net(nn.Cell):
    def construct(self, x):
        return ops.AlltoAll(split_count=7, split_dim=4, concat_dim=1)(x)
Net()(Tensor(shape=(8, 8), dtype=ms.float32))
""")
        self.assertEqual(("IndexError", "AlltoAll:index"), (error["type"], error["reason"]))


class Layers(TraceTest):
    def test_layer_norm_of_mint(self):
        run = self.trace(HEAD + """
norm = mint.nn.LayerNorm(32)
print([(name, p.shape) for name, p in norm.parameters_and_names()])
print(len(list(mint.nn.LayerNorm((4, 32), elementwise_affine=False).get_parameters())))
norm(Tensor(shape=(16, 32), dtype=ms.float32))
""")
        self.assertEqual(["[('weight', (32,)), ('bias', (32,))]", "0"], run.output.splitlines()[-2:])
        self.assertEqual(["LayerNormExt"], self.ops(run))


if __name__ == "__main__":
    unittest.main()
