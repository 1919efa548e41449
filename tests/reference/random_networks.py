"""Random networks for both compilers: a file of tests in the form of MindSpore's suite, the same for the same seed.

Each test compiles a training step of a chain of operators - products and sums with weights, activations, norms, transposes, reshapes, a reduction - on 8 devices: some operators with
a random strategy that divides their extents, others without, in semi_auto_parallel or sharding_propagation, with whole or cut batches. Every fourth network has two branches that
share a weight. `compiler.py --random SEED --count N` runs both sides on it.
"""
import random

HEAD = '''import os
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor, context
from mindspore.common.api import _cell_graph_executor
from mindspore.ops import operations as P


if os.environ.get("MS_SIMULATION_LEVEL") == "1":  # the wheel as on Ascend: a dry run has its groups
    ms.communication.init()


def weight(name, *shape):
    return Parameter(Tensor(np.ones(shape), ms.float32), name)


def compile_step(net, shape, **settings):
    context.reset_auto_parallel_context()
    context.set_auto_parallel_context(device_num=8, global_rank=0, **settings)
    step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    step.set_train()
    _cell_graph_executor.compile(step, Tensor(np.ones(shape), ms.float32), phase="train")
    context.reset_auto_parallel_context()
'''
DEVICES = 8
EXTENTS = (16, 32, 64)


class Writer:
    """One network: lines of __init__ and construct, and the shape of `x` so far."""

    def __init__(self, rng):
        self.rng, self.init, self.body, self.count = rng, [], [], 0
        self.shape = (rng.choice(EXTENTS), rng.choice(EXTENTS))

    def cuts(self, shape, whole=()):
        """Random cuts whose product divides the devices; dimensions in `whole` stay."""
        left, found = DEVICES, []
        for dim, extent in enumerate(shape):
            fits = [1] if dim in whole else [cut for cut in (1, 2, 4, 8) if cut <= left and extent % cut == 0]
            found.append(self.rng.choice(fits))
            left //= found[-1]
        return tuple(found)

    def operator(self, made, strategy, call):
        """Adds an operator, in six of ten cases with its strategy."""
        self.count += 1
        shard = ".shard(%r)" % (strategy,) if self.rng.random() < 0.6 else ""
        self.init.append("self.op%d = %s%s" % (self.count, made, shard))
        self.body.append("x = self.op%d(%s)" % (self.count, call))

    def weight(self, *shape):
        self.init.append("self.w%d = weight('w%d', %s)" % (self.count, self.count, ", ".join(map(str, shape))))
        return "self.w%d" % self.count

    def product(self):
        columns, flipped = self.rng.choice(EXTENTS), self.rng.random() < 0.5
        rows, inner = self.shape
        name = self.weight(*((columns, inner) if flipped else (inner, columns)))
        left, inner_cut, right = self.cuts((rows, inner, columns))
        second = (right, inner_cut) if flipped else (inner_cut, right)
        self.operator("P.MatMul(transpose_b=%s)" % flipped, ((left, inner_cut), second), "x, " + name)
        self.shape = (rows, columns)

    def with_weight(self):
        kind = self.rng.choice(("Add", "Mul", "Sub"))
        if self.rng.random() < 0.5:
            name, cuts = self.weight(self.shape[1]), self.cuts(self.shape)
            self.operator("P.%s()" % kind, (cuts, cuts[1:]), "x, " + name)
        else:
            name, cuts = self.weight(*self.shape), self.cuts(self.shape)
            self.operator("P.%s()" % kind, (cuts, cuts), "x, " + name)

    def activation(self):
        self.operator("P.%s()" % self.rng.choice(("ReLU", "GeLU", "Tanh", "Sigmoid", "Neg", "Square")), (self.cuts(self.shape),), "x")

    def softmax(self):
        self.operator("P.Softmax()", (self.cuts(self.shape, whole=(1,)),), "x")

    def transpose(self):
        self.operator("P.Transpose()", (self.cuts(self.shape),), "x, (1, 0)")
        self.shape = self.shape[::-1]

    def reshape(self):
        rows, columns = self.shape
        self.shape = (rows * 2, columns // 2) if columns > 16 else (rows // 2, columns * 2) if rows > 16 else self.shape
        self.body.append("x = ops.reshape(x, %r)" % (self.shape,))

    def branches(self):
        """Two products with one weight, added."""
        rows, inner = self.shape
        name = self.weight(inner, inner)
        self.body.append("first = x")
        cuts = self.cuts((rows, inner))
        self.operator("P.MatMul()", ((cuts[0], 1), (1, cuts[1])), "x, " + name)
        self.body.append("second = x")
        self.operator("P.MatMul()", ((cuts[0], cuts[1]), (cuts[1], 1)), "first, " + name)
        self.operator("P.Add()", (cuts, cuts), "x, second")


def network(number, rng):
    """Source of one class and its test."""
    writer = Writer(rng)
    given = writer.shape
    writer.product()
    steps = (writer.product, writer.with_weight, writer.activation, writer.softmax, writer.transpose, writer.reshape)
    for _ in range(rng.randint(2, 6)):
        rng.choice(steps)()
    if number % 4 == 3:
        writer.branches()
    writer.product()
    writer.body.append("return ops.ReduceSum()(x)" if rng.random() < 0.5 else "return ops.ReduceMean()(x, (0, 1))")
    batch = rng.choice(("full_batch", "data_parallel"))
    shape = given if batch == "full_batch" else (max(1, given[0] // DEVICES), given[1])
    settings = {"parallel_mode": "semi_auto_parallel"} if rng.random() < 0.6 else {
        "parallel_mode": "auto_parallel", "search_mode": "sharding_propagation"}
    lines = ["", "", "class Net%d(nn.Cell):" % number, "    def __init__(self):", "        super().__init__()"]
    lines += ["        " + line for line in writer.init] + ["", "    def construct(self, x):"] + ["        " + line for line in writer.body]
    lines += ["", "", "def test_random_%d():" % number,
              "    compile_step(Net%d(), %r, dataset_strategy=%r, %s)" % (
                  number, shape, batch, ", ".join("%s=%r" % one for one in settings.items()))]
    return "\n".join(lines)


def source(seed, count):
    rng = random.Random(seed)
    return HEAD + "\n".join(network(number, rng) for number in range(count)) + "\n"
