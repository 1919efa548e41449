"""Accumulation with recomputed layers, linear layers with bias and norm."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, DP, MP = 64, 256, 1024, 4, 2


class Linear(nn.Cell):
    """Product with a transposed weight and a bias; cut by columns or by rows of the result."""
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [o, i], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)) if column else ((DP, MP), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)) if column else ((DP, 1), (1,)))

    def construct(self, x):
        return self.plus(self.product(x, self.weight), self.bias)


class Ffn(nn.Cell):
    """Normalized, then two linear layers; the input is added."""
    def __init__(self, h, f):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(1, 1).shard(((DP, 1), (1,), (1,)))
        self.a, self.b = Linear(h, f, True), Linear(f, h, False)
        self.tanh = ops.Tanh().shard(((DP, MP),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        return self.add(x, self.b(self.tanh(self.a(self.norm(x, self.gamma, self.beta)[0]))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(3)])
        for i, c in enumerate(self.blocks):
            c.recompute()
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.GradAccumulationCell(Net(), 2)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
