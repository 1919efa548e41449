"""What real training code does: optimizers of its own, record files, names imported from where a class is written."""
import unittest

from helper import TraceTest

NET = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True); ms.communication.init()
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.zeros((16, 8)), ms.float32), name="w")
        self.mm = ops.MatMul().shard(((4, 1), (1, 2)))
        self.sum = ops.ReduceSum()
    def construct(self, x):
        return self.sum(self.mm(x, self.w))
"""
STEP = """
net = Net()
step = nn.TrainOneStepCell(net, Mine(net.trainable_params(), 0.1, weight_decay=0.01))
step.set_train()
step(Tensor(np.zeros((8, 16)), ms.float32))
"""
# One Adam of the script: states made one by one and linked to their weights, an operator without a rule, HyperMap.
ADAM = NET + """
from mindspore.common.initializer import initializer
from mindspore.nn.optim.optimizer import Optimizer
update = ops.MultitypeFuncGraph("update")
addcmul = ops.operations.Addcmul()
@update.register("Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Bool")
def _update(lr, decay, weight, gradient, state, wanted):
    ops.assign(state, addcmul(state * 0.9, gradient, gradient, Tensor([0.1], ms.float32)))
    ops.assign(weight, weight * (1 - lr * decay) - gradient / (ops.sqrt(state) + 1e-6) * lr)
    return wanted
class Mine(Optimizer):
    def __init__(self, params, rate, weight_decay):
        super().__init__(rate, params, weight_decay=weight_decay)
        states = []
        for weight in self.parameters:
            state = Parameter(initializer("zeros", shape=weight.shape, dtype=ms.float32))
            state.param_info = weight.param_info.clone()
            state.name = "adam_v." + state.name
            states.append(state)
        self.states_of_all = ms.ParameterTuple(states)
    def construct(self, gradients):
        gradients = self.flatten_gradients(gradients)
        decay, lr = self.get_weight_decay(), self.get_lr()
        assert isinstance(decay, Tensor) and isinstance(lr, Tensor), "one of each without groups"
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        return self.hyper_map(ops.partial(update, lr, decay), self._parameters, gradients, self.states_of_all,
                              self.optim_filter)
""" + STEP


class OptimizersOfTheScript(TraceTest):
    def test_accumulators_are_known_by_their_names(self):
        run = self.trace(NET + """
class Step(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net, self.weights = net, ms.ParameterTuple(net.trainable_params())
        self.sums = self.weights.clone(prefix="accu_grads", init="zeros")
        self.grad = ops.GradOperation(get_by_list=True)
    def construct(self, x):
        gradients = self.grad(self.net, self.weights)(x)
        for gradient, total, weight in zip(gradients, self.sums, self.weights):
            ops.assign(weight, total - gradient)
        return gradients
Step(Net())(Tensor(np.zeros((8, 16)), ms.float32))
""")
        roles = {item["name"]: item.get("role", "weight") for item in run.documents[0]["parameters"]}
        self.assertEqual(roles, {"w": "weight", "accu_grads.w": "accumulated_gradient"})

    def test_states_lie_as_their_weights_and_keep_their_name(self):
        run = self.trace(ADAM)
        states = [item for item in run.documents[0]["parameters"] if item["name"] == "adam_v.w"]
        self.assertEqual([state["role"] for state in states], ["optimizer_state"])
        self.assertIn("Addcmul", self.ops(run))

    def test_rates_of_groups_are_one_for_each_parameter(self):
        self.trace(NET + """
class Mine(nn.Optimizer):
    def construct(self, gradients):
        assert len(self.get_lr()) == 1 and len(self.get_weight_decay()) == 1
        return ops.assign(self.parameters[0], gradients[0])
net = Net()
step = nn.TrainOneStepCell(net, Mine(0.1, [{"params": net.trainable_params(), "lr": 0.5}]))
step.set_train()
step(Tensor(np.zeros((8, 16)), ms.float32))
""")


class OptimizersOfMint(TraceTest):
    def step(self, optimizer):
        return self.trace(NET + """
net = Net()
optimizer = ms.mint.optim.%s
grad = ms.value_and_grad(net, None, optimizer.parameters)
@ms.jit
def step(x):
    loss, gradients = grad(x)
    optimizer(gradients)
    return loss
step(Tensor(np.zeros((8, 16)), ms.float32))
""" % optimizer)

    def test_one_kernel_for_each_parameter(self):
        run = self.step("AdamW(net.trainable_params(), 0.1)")
        self.assertEqual(self.ops(run).count("AdamW"), 1)
        roles = {item["name"]: item.get("role") for item in run.documents[0]["parameters"]}
        self.assertEqual(roles["exp_avg.w"], "optimizer_state")
        self.assertNotIn("max_exp_avg_sq.w", roles)

    def test_amsgrad_keeps_a_third_state(self):
        run = self.step("Adam(net.trainable_params(), 0.1, weight_decay=0.5, amsgrad=True)")
        self.assertIn("max_exp_avg_sq.w", [item["name"] for item in run.documents[0]["parameters"]])
        self.assertIn("AddExt", self.ops(run))  # the decay is part of the gradient

    def test_groups(self):
        self.step("SGD([{'params': net.trainable_params(), 'lr': 0.5}], 0.1, momentum=0.9)")

    def test_bad_arguments(self):
        for text, kind in (("AdamW([], 0.1)", "ValueError"), ("SGD([net.w], -1.0)", "ValueError"),
                           ("AdamW([net.w], betas=(1.0, 0.9))", "ValueError"), ("AdamW([net.w], amsgrad=1)", "TypeError"),
                           ("SGD([net.w], 0.1, nesterov=True)", "ValueError"), ("AdamW([1], 0.1)", "TypeError")):
            error = self.error(NET + "net = Net()\nms.mint.optim." + text)
            self.assertEqual((error["family"], error["type"]), ("user", kind), text)


class OpenExtents(TraceTest):
    NET = """
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter, Symbol
import numpy as np
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.zeros((8, 16)), ms.float32), name="w")
    def construct(self, x):
        return %s
net = Net()
x = Tensor(shape=%s, dtype=ms.float32)
net.set_inputs(x)
net(x)
"""

    def shape_of(self, body, shape):
        return self.trace(self.NET % (body, shape)).documents[0]["inputs"][0]["shape"]

    def test_extents_that_the_network_wants_are_found(self):
        self.assertEqual(self.shape_of("x * self.w", "(None, 16)"), [8, 16])
        self.assertEqual(self.shape_of("x * self.w", "(None, None)"), [8, 16])
        # 6 rows of x are one of the operator's: the extent is a multiple of 6.
        self.assertEqual(self.shape_of("ops.reshape(x, (3, -1, 2, 16)) * 2", "(None, 16)")[0] % 6, 0)

    def test_promises_of_a_symbol_are_kept(self):
        self.assertEqual(self.shape_of("x * self.w", "(Symbol(divisor=4), 16)"), [8, 16])
        error = self.error(self.NET % ("x * self.w", "(Symbol(divisor=3), 16)"))
        self.assertEqual(error["family"], "unsupported")


class NetworksWithoutOperators(TraceTest):
    def test_are_told_from_scripts_that_call_none(self):
        for body in ("return x.shape[0]", "return None"):
            error = self.error(NET + """
class Same(nn.Cell):
    def construct(self, x):
        %s
Same()(Tensor(np.zeros((8, 16)), ms.float32))
""" % body)
            self.assertEqual(error["reason"], "script:nothing-traced")
            self.assertIn("no operators", error["message"])


OWN_BACKWARD = NET + """
class Scaled(nn.Cell):
    def construct(self, x):
        return x * 2, ops.exp(x)
    def bprop(self, x, out, dout):
        return %s
class All(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net, self.scaled = Net(), Scaled()
    def construct(self, x):
        return self.scaled(self.net(x))[0].sum()
net = All()
ops.grad(net, None, net.trainable_params())(Tensor(np.zeros((8, 16)), ms.float32))
"""


class OwnBackward(TraceTest):
    def test_is_recorded_behind_the_cell_with_a_gradient_of_each_result(self):
        nodes = self.trace(OWN_BACKWARD % "(ops.tanh(dout[0]) + dout[1],)").documents[0]["nodes"]
        mine = [node for node in nodes if "own_backward" in node.get("attrs", {})]
        self.assertEqual([node["op"] for node in mine], ["_CellSeeds", "Tanh", "Add", "_CellGradients"])
        self.assertEqual(len(mine[0]["inputs"]), 2)

    def test_answers_each_input_with_its_shape(self):
        self.assertEqual(self.error(OWN_BACKWARD % "(dout[0], dout[1])")["reason"], "Cell:bprop-count")
        self.assertEqual(self.error(OWN_BACKWARD % "(dout[0].expand_dims(0),)")["reason"], "Cell:bprop-shape")


class Dumps(TraceTest):
    def test_are_counted(self):
        run = self.trace(NET + """
class Dumping(Net):
    def construct(self, x):
        ops.tensordump("a", x)
        return super().construct(ops.DumpGradient()("b", x, "out"))
Dumping()(Tensor(np.zeros((8, 16)), ms.float32))
""")
        self.assertEqual(sum("writes no file" in text for text in run.warnings_of("limit")), 2)


class Branches(TraceTest):
    def test_constants_made_in_a_branching_network_are_those_of_its_first_run(self):
        # Each run of construct() makes the tensors anew; what stands before the branch is recorded once all the same.
        run = self.trace(NET + """
class Step(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net, self.weights = net, ms.ParameterTuple(net.trainable_params())
        self.optimizer = nn.Momentum(self.weights, 0.1, 0.9)
        self.grad = ops.GradOperation(get_by_list=True)
    def construct(self, x):
        grads = self.grad(self.net, self.weights)(x)
        grads = tuple(g * Tensor([0.5], ms.float32) / Tensor([3.0], ms.float32) for g in grads)
        if (ops.sqrt(ops.addn([ops.square(g).sum() for g in grads])) < Tensor(9.0, ms.float32)):
            self.optimizer(grads)
        return grads[0]
step = Step(Net())
step.set_train()
step(Tensor(np.zeros((8, 16)), ms.float32))
""")
        self.assertEqual([self.ops(run).count(op) for op in ("_Gradient", "MatMul", "Square", "ApplyMomentum")], [1, 1, 1, 1])


    UPDATE = NET + """
class Counting(Net):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0, ms.float32), name="count")
    def construct(self, x):
%s
Counting()(Tensor(np.zeros((8, 16)), ms.float32))
"""

    def test_update_in_front_of_a_branch_is_done_once(self):
        run = self.trace(self.UPDATE % """
        ops.assign_add(self.count, Tensor(1.0, ms.float32))
        y = super().construct(x)
        return y * 2 if y > 0 else y""")
        self.assertEqual(self.ops(run).count("AssignAdd"), 1)

    def test_different_updates_on_the_sides_are_a_limit(self):
        error = self.error(self.UPDATE % """
        y = super().construct(x)
        if y > 0:
            ops.assign_add(self.count, Tensor(1.0, ms.float32))
        else:
            ops.assign(self.count, Tensor(0.0, ms.float32))
        return y""")
        self.assertEqual(error["family"], "unsupported")


class RankNumbers(TraceTest):
    def run_of(self, text):
        return self.trace("import os\nfrom os import environ\n" + NET + """
class Config:
    def __init__(self, device_id=%s):
        self.device_id = device_id
config = Config()
Net()(Tensor(np.zeros((8, 16)), ms.float32))
""" % text)

    def test_number_that_is_never_used_costs_no_run_per_rank(self):
        for text in ('int(os.getenv("DEVICE_ID", "0"))', 'int(os.environ["RANK_ID"])', 'int(environ.get("RANK_ID", 0))'):
            self.assertEqual(self.run_of(text).result["covered_ranks"], [[0, 7]], text)

    def test_number_that_decides_something_is_still_a_guard(self):
        self.assertEqual(self.run_of('int(os.getenv("RANK_ID")) < 4').result["covered_ranks"], [[0, 3]])

    def test_other_numbers_are_plain(self):
        run = self.run_of('int(os.getenv("NO_SUCH_NUMBER", "12")) + int("3")')
        self.assertEqual(run.result["covered_ranks"], [[0, 7]])

    def test_modules_of_the_script_too(self):
        run = self.trace(NET + """
open("settings_of_mine.py", "w").write("import os\\nRANK = int(os.getenv('RANK_ID', '0'))\\n")
import settings_of_mine
Net()(Tensor(np.zeros((8, 16)), ms.float32))
""")
        self.assertEqual(run.result["covered_ranks"], [[0, 7]])


class RecordFiles(TraceTest):
    DATA = """
import mindspore as ms, mindspore.dataset as ds, json, sqlite3, struct
def record(path, rows, shards=()):
    # two columns of whole numbers, packed: count of elements behind the size of the column
    head = {"header_size": 4096, "page_size": 4096, "index_fields": None, "shard_addresses": list(shards),
            "page": [{"page_id": 0, "page_type": "BLOB_DATA", "end_row_id": rows},
                     {"page_id": 1, "page_type": "RAW_DATA", "end_row_id": rows}],
            "schema": [{"blob_fields": ["ids", "mask"], "schema": {
                "ids": {"type": "int32", "shape": [-1]}, "mask": {"type": "float32", "shape": [-1, 2]}}}]}
    column = struct.pack(">I", 33) + bytes(40)
    row = struct.pack(">Q", len(column)) + column + struct.pack(">Q", 48) + bytes(48)
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.seek(4096)
        file.write(struct.pack("<Q", len(row)) + row)
class Net(ms.nn.Cell):
    def construct(self, x):
        return ms.ops.cast(x, ms.float32) * 2
def feed(data, name="ids"):
    for row in data.create_dict_iterator():
        Net()(row[name])
"""

    def test_columns_and_rows_of_a_file(self):
        run = self.trace(self.DATA + """
record("a.mindrecord", 12)
data = ds.MindDataset("a.mindrecord", columns_list=["mask", "ids"])
# 48 bytes of float32 are 12 numbers, 6 rows of 2
assert data.output_shapes() == [[6, 2], [33]] and data.get_dataset_size() == 12, data.output_shapes()
feed(data.batch(4))
""")
        self.assertEqual(run.documents[0]["inputs"][0]["shape"], [4, 33])

    def test_one_file_of_a_set_stands_for_all(self):
        self.trace(self.DATA + """
record("a.mindrecord0", 12, ["a.mindrecord0", "a.mindrecord1"])
record("a.mindrecord1", 8, ["a.mindrecord0", "a.mindrecord1"])
assert ds.MindDataset("a.mindrecord0").get_dataset_size() == 20
assert ds.MindDataset(["a.mindrecord0"], num_shards=4, shard_id=0).get_dataset_size() == 3
feed(ds.MindDataset("a.mindrecord0").batch(2))
""")

    def test_text_declares_the_columns_of_a_file_to_come(self):
        run = self.trace(self.DATA + """
open("a.mindrecord", "w").write('{"rows": 64, "columns": {"ids": {"type": "int32", "shape": [4097]}}}')
feed(ds.MindDataset("a.mindrecord").batch(8))
""")
        self.assertEqual(run.documents[0]["inputs"][0]["shape"], [8, 4097])

    def test_missing_file_is_our_limit_with_a_remedy(self):
        error = self.error(self.DATA + "feed(ds.MindDataset('none.mindrecord'))")
        self.assertEqual(error["family"], "unsupported")
        self.assertIn('"columns"', error["hint"])

    def test_other_files_are_the_users_mistake(self):
        for text in ("b'no record at all'", "b''", "b'{\"rows\": 3}'"):
            error = self.error(self.DATA + "open('a', 'wb').write(%s); feed(ds.MindDataset('a'))" % text)
            self.assertEqual(error["family"], "user", error)
            self.assertIn("not a MindRecord file", error["message"])

    def test_unknown_column(self):
        error = self.error(self.DATA + "record('a', 3); ds.MindDataset('a', ['idx'])")
        self.assertIn("ids, mask", error["hint"])


class Names(TraceTest):
    def test_names_from_the_modules_that_define_them(self):
        self.trace("""
from mindspore.train.metrics import get_metrics, Perplexity, Metric
from mindspore.train.metrics.perplexity import Perplexity as Same
assert isinstance(get_metrics({"loss"})["loss"], Metric)
import mindspore as ms
class Net(ms.nn.Cell):
    def construct(self, x):
        return x * 2
Net()(ms.Tensor([1.0]))
""")

    def test_names_that_no_module_has(self):
        error = self.error("from mindspore.train.metrics import get_metrix\n")
        self.assertIn("get_metrics", error["hint"])
        error = self.error("from mindspore.nn.optim.adam import Adm\n")
        self.assertIn("Adam", error["hint"])

    def test_pillow_comes_with_its_modules(self):
        self.trace("""
import sys, types, os
os.makedirs("PIL")
open("PIL/__init__.py", "w").write("")
open("PIL/Image.py", "w").write("BOX = 4\\n")
sys.path.insert(0, os.getcwd())
import mindspore as ms
assert "PIL" not in sys.modules
import PIL
assert PIL.Image.BOX == 4
class Net(ms.nn.Cell):
    def construct(self, x):
        return x * 2
Net()(ms.Tensor([1.0]))
""")


if __name__ == "__main__":
    unittest.main()
