"""What networks, losses, optimizers and loops record."""
import unittest

from helper import TraceTest

NET = """
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
import mindspore.dataset as ds

class Block(nn.Cell):
    def __init__(self, n):
        super().__init__()
        self.w = Parameter(initializer("normal", [n, n]), "given")
        self.matmul = ops.MatMul()
    def construct(self, x):
        return self.matmul(x, self.w)

x = Tensor(shape=(4, 6), dtype=ms.float32)
"""


class Training(TraceTest):
    def test_job_says_whether_a_trained_cell_takes_part(self):
        run = self.trace(NET + "Block(6)(x)\n")
        self.assertIs(run.documents[0]["job"]["training"], False)
        run = self.trace(NET + "Block(6).set_train()(x)\n")
        self.assertIs(run.documents[0]["job"]["training"], True)

    def test_cell_within_counts(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block(6)
    def construct(self, x):
        return self.block(x)
net = Net()
net.block.set_train()
net(x)
""")
        self.assertIs(run.documents[0]["job"]["training"], True)


class Names(TraceTest):
    TWO_OPTIMIZERS = NET + """
one, two = Block(6), Block(6)
two.update_parameters_name("two.")
first = nn.Momentum(one.trainable_params(), 0.1, 0.9)
second = nn.Momentum(two.trainable_params(), 0.1, 0.9)
with_first = ops.value_and_grad(lambda x: one(x).sum(), None, first.parameters)
with_second = ops.value_and_grad(lambda x: two(x).sum(), None, second.parameters)
%s
@ms.jit
def step(x):
    loss, gradients = with_first(x)
    first(gradients)
    other, gradients = with_second(x)
    second(gradients)
    return loss + other
step(x)
"""

    def test_parameters_of_a_jit_function_differ_in_name(self):
        # Both optimizers bring a global_step; MindSpore 2.10 refuses the second one by its name.
        error = self.error(self.TWO_OPTIMIZERS % "")
        self.assertEqual(error["reason"], "jit:same-name")
        self.assertIn("'global_step'", error["message"])
        run = self.trace(self.TWO_OPTIMIZERS % "second.update_parameters_name('second.')")
        names = [parameter["name"] for parameter in run.documents[0]["parameters"]]
        self.assertIn("global_step", names)
        self.assertIn("second.global_step", names)

    def test_given_name_survives_only_at_the_top(self):
        run = self.trace(NET + "Block(6)(x)\n")
        self.assertEqual([p["name"] for p in run.documents[0]["parameters"]], ["given"])

    def test_nested_parameters_get_attribute_paths(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(6), Block(6)])
        self.head = Block(6)
    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
Net()(x)
""")
        document = run.documents[0]
        self.assertEqual([p["name"] for p in document["parameters"]], ["blocks.0.w", "blocks.1.w", "head.w"])
        self.assertEqual([n["scope"] for n in document["nodes"]],
                         ["Default/blocks-CellList/0-Block", "Default/blocks-CellList/1-Block",
                          "Default/head-Block"])
        self.assertEqual(document["nodes"][0]["instance"], "matmul")

    def test_wrapper_without_prefix_keeps_names(self):
        run = self.trace(NET + "net = Block(6)\nloss = nn.WithLossCell(net, nn.MSELoss())\nloss(x, x)\n")
        self.assertEqual([p["name"] for p in run.documents[0]["parameters"]], ["given"])
        self.assertEqual(run.documents[0]["nodes"][0]["scope"], "Default/_backbone-Block")

    def test_two_parameters_of_one_name_are_refused(self):
        error = self.error(NET + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(initializer("ones", [6]), "p")
        self.b = Parameter(initializer("ones", [6]), "p")
    def construct(self, x):
        return x + self.a + self.b
Net()(x)
""")
        self.assertEqual((error["type"], error["reason"]), ("ValueError", "Parameter:duplicate-name"))
        self.assertIn('self.b = Parameter(initializer("ones", [6]), "p")', error["place"]["text"])
        self.assertEqual(error["notes"], ["the first of them is made at net.py:%d" % (error["place"]["line"] - 1)])


class Training(TraceTest):
    LOOP = NET + """
net = Block(6)
optimizer = %s
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
for _ in range(3):
    loss = step(x, x)
print("loss", loss, float(loss.asnumpy() if not isinstance(loss.asnumpy(), float) else loss.asnumpy()))
"""

    def test_momentum_step(self):
        run = self.trace(self.LOOP % "nn.Momentum(net.trainable_params(), 0.1, 0.9)")
        self.assertEqual(self.ops(run), ["MatMul", "Sub", "Square", "ReduceMean", "_Gradient", "AssignAdd", "ApplyMomentum"])
        roles = {p["name"]: p.get("role") for p in run.documents[0]["parameters"]}
        self.assertEqual(roles, {"given": None, "moments.given": "optimizer_state", "learning_rate": "hyper",
                                 "momentum": "hyper", "global_step": "hyper"})
        self.assertEqual(run.documents[0]["outputs"], ["ReduceMean0"])
        self.assertIn("loss 0.0 0.0", run.output)

    def test_sgd_adam_and_weight_decay_record_their_operators(self):
        for optimizer, op in (("nn.SGD(net.trainable_params(), 0.1)", "SGD"),
                              ("nn.Adam(net.trainable_params())", "Adam"),
                              ("nn.AdamWeightDecay(net.trainable_params())", "AdamWeightDecay")):
            run = self.trace(self.LOOP % optimizer)
            self.assertEqual(self.ops(run).count(op), 1, optimizer)

    def test_data_parallel_reduces_every_gradient(self):
        run = self.trace("import mindspore\nfrom mindspore.communication import init\ninit()\n"
                         "mindspore.set_auto_parallel_context(parallel_mode='data_parallel', "
                         "gradients_mean=True)\n" + self.LOOP % "nn.SGD(net.trainable_params(), 0.1)")
        self.assertEqual(self.ops(run)[-5:], ["_Gradient", "AllReduce", "Mul", "AssignAdd", "SGD"])
        constants = {c["label"]: c["data"] for c in run.documents[0]["constants"]}
        scale = run.documents[0]["nodes"][-3]["inputs"][1]
        self.assertEqual(constants[scale], [0.125])  # 1 / 8 ranks

    def test_functional_loop_is_one_graph(self):
        run = self.trace(NET + """
net = Block(6)
loss_fn = nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), 0.1)
def forward(data, label):
    out = net(data)
    return loss_fn(out, label), out
step = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
def rows():
    for _ in range(5):
        yield [[0.0] * 6] * 4, [[0.0] * 6] * 4
data = ds.GeneratorDataset(rows, ["d", "l"]).map(ds.transforms.TypeCast(ms.float32), "d")
for epoch in range(3):
    for d, l in data:
        (loss, _), grads = step(d, l)
        optimizer(grads)
""")
        self.assertEqual(len(run.documents), 1)
        self.assertEqual([i["name"] for i in run.documents[0]["inputs"]], ["data", "label"])
        self.assertEqual(self.ops(run)[-3:], ["_Gradient", "AssignAdd", "SGD"])

    def test_model_train_calls_callbacks_once(self):
        run = self.trace(NET + """
class Count(ms.train.Callback):
    def step_end(self, run_context):
        print("step", run_context.original_args().cur_step_num)
data = ds.NumpySlicesDataset(([[0.0] * 6] * 8, [[0.0] * 6] * 8), ["d", "l"]).map(
    ds.transforms.TypeCast(ms.float32), "d").map(ds.transforms.TypeCast(ms.float32), "l").batch(4)
net = Block(6)
model = ms.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
model.train(7, data, callbacks=[Count(), ms.LossMonitor()])
print("after")
""")
        self.assertEqual(run.output.split(), ["step", "1", "after"])
        self.assertEqual(run.documents[0]["inputs"][0]["shape"], [4, 6])
        self.assertEqual(run.documents[0]["nodes"][0]["scope"], "Default/network-WithLossCell/_backbone-Block")

    def test_evaluation_after_training_is_a_program_of_its_own(self):
        run = self.trace(self.LOOP % "nn.SGD(net.trainable_params(), 0.1)" +
                         "net.set_train(False)\nnet(Tensor(shape=(2, 6), dtype=ms.float32))\n")
        self.assertEqual([p["training"] for p in run.result["programs"]], [True, False])

    def test_gradient_of_inputs(self):
        run = self.trace(NET + "g = ops.GradOperation()(Block(6))(x)\nprint(g.shape)\n")
        self.assertIn("(4, 6)", run.output)


class Values(TraceTest):
    def test_promotion_records_a_cast(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        return x + Tensor(shape=(6,), dtype=ms.float16)
Net()(x)
""")
        self.assertEqual(self.ops(run), ["Cast", "Add"])

    def test_product_takes_tensors_of_two_types(self):
        # Mul has no group of types in its signature since MindSpore 2.8 (mindspore.ops.auto_generate of the wheels).
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        return x * Tensor(shape=(6,), dtype=ms.float16)
Net()(x)
""")
        self.assertEqual(self.ops(run), ["Mul"])

    def test_number_takes_the_type_of_the_tensor(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        return 2 + ops.cast(x, ms.float16)
Net()(x)
""")
        self.assertEqual(run.documents[0]["constants"][0]["dtype"], "float16")

    def test_factors_and_divisors_are_attributes(self):
        # Recorded of MindSpore 2.10: x * 2.0 is Muls, x / 2 Divs, 2 / x Reciprocal and Muls.
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        return 2.0 * x, x / 2, 2 / x
Net()(x)
""")
        self.assertEqual(self.ops(run), ["Muls", "Divs", "Reciprocal", "Muls"])

    def test_repetitions_of_each_element_give_the_extent(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        times = Tensor([2, 3, 1, 2], ms.int64)
        return (ops.repeat_interleave(x, times, 0), ms.mint.repeat_interleave(x, [1, 0, 0, 4], dim=0),
                ops.auto_generate.RepeatInterleaveTensor()(x, (2, 2, 2, 1), 0), x.repeat_interleave(2, 1))
Net()(x)
""")
        nodes = run.documents[0]["nodes"]
        # 2 + 3 + 1 + 2 = 8 rows, 1 + 4 = 5 rows, 3 * 2 + 1 = 7 rows.
        self.assertEqual([node["attrs"].get("output_size") for node in nodes], [8, 5, 7, None])
        self.assertEqual(self.ops(run), ["RepeatInterleaveTensor"] * 3 + ["RepeatInterleaveInt"])

    def test_indexing(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def construct(self, x):
        a = x[1]
        b = x[..., 1:3]
        c = x[:, None]
        print(a.shape, b.shape, c.shape)
        return a
Net()(x)
""")
        self.assertIn("(6,) (4, 2) (4, 1, 6)", run.output)

    def test_reshape_matmul_of_three_dimensions(self):
        run = self.trace(NET + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(6, 5)
    def construct(self, x):
        return self.dense(x)
out = Net()(Tensor(shape=(2, 3, 6), dtype=ms.float32))
print(out.shape)
""")
        self.assertEqual(self.ops(run), ["Reshape", "MatMul", "BiasAdd", "Reshape"])
        self.assertIn("(2, 3, 5)", run.output)

    def test_layers_record_without_error(self):
        self.trace(NET + """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.norm = nn.LayerNorm((8,))
        self.seq = nn.SequentialCell(nn.Dense(8, 8, activation="relu"), nn.GELU(), nn.Dropout(p=0.1))
        self.soft = nn.Softmax()
    def construct(self, ids, label):
        h = self.seq(self.norm(self.emb(ids)))
        return ops.cross_entropy(ops.reshape(self.soft(h), (-1, 8)), ops.reshape(label, (-1,)))
net = Net().set_train()
ids = Tensor(shape=(2, 3), dtype=ms.int32)
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params()))
step(ids, ids)
""")


class OptimizersOfScripts(TraceTest):
    SOURCE = """
class Mine(nn.Optimizer):
    def __init__(self, params):
        super().__init__(0.1, params)
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.assign = ops.Assign()
    def construct(self, gradients):
        for weight, moment, gradient in zip(self.parameters, self.moments, gradients):
            moved = moment * 0.9 + gradient
            self.assign(moment, moved)
            self.assign(weight, weight - moved * 0.1)
        return True
net = Block(6)
step = nn.TrainOneStepCell(net, Mine(net.trainable_params()))
"""

    def test_clones_are_states_and_operators_belong_to_the_step(self):
        document = self.trace(NET + self.SOURCE + "step(x)\n").documents[0]
        roles = {parameter["name"]: parameter.get("role", "weight") for parameter in document["parameters"]}
        self.assertEqual(roles, {"given": "weight", "moments.given": "optimizer_state"})
        behind = [node for node in document["nodes"] if node["op"] in ("Assign", "Add", "Sub")]
        self.assertEqual({node["phase"] for node in behind}, {"optimizer"})

    def test_clones_of_a_step_are_states_too(self):
        document = self.trace(NET + """
class Step(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net, self.weights = net, ms.ParameterTuple(net.trainable_params())
        self.sums = self.weights.clone("accu_grads", init="zeros")
        self.grad = ops.GradOperation(get_by_list=True)
    def construct(self, x):
        loss = self.net(x)
        for total, gradient in zip(self.sums, self.grad(self.net, self.weights)(x)):
            ops.assign_add(total, gradient)
        return loss
Step(Block(6))(x)
""").documents[0]
        roles = {parameter["name"]: parameter.get("role", "weight") for parameter in document["parameters"]}
        self.assertEqual(roles, {"given": "weight", "accu_grads.given": "accumulated_gradient"})  # by the prefix, as in MindSpore


if __name__ == "__main__":
    unittest.main()
