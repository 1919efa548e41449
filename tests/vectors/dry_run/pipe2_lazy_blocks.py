"""Lazily inlined stages of recomputed attention with dropout, sharded optimizer."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0}, pipeline_stages=2)
B, S, NH, H, F, DP, MP = 8, 32, 4, 64, 128, 2, 2


class Linear(nn.Cell):
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [o, i], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)) if column else ((DP, MP), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)) if column else ((DP, 1), (1,)))

    def construct(self, x):
        return self.plus(self.product(x, self.weight), self.bias)


class Norm(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        return y


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(H), Norm(H)
        self.q, self.k, self.v, self.o = Linear(H, H, True), Linear(H, H, True), Linear(H, H, True), Linear(H, H, False)
        self.a, self.b = Linear(H, F, True), Linear(F, H, False)
        self.reshape = ops.Reshape()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.drop = ops.Dropout(keep_prob=0.9).shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.add1, self.add2 = ops.Add().shard(((DP, 1), (DP, 1))), ops.Add().shard(((DP, 1), (DP, 1)))
        self.gelu = ops.GeLU().shard(((DP, MP),))

    def heads(self, x):
        return self.turn(self.reshape(x, (-1, S, NH, H // NH)), (0, 2, 1, 3))

    def construct(self, x):
        y = self.norm1(x)
        s = self.scale(self.score(self.heads(self.q(y)), self.heads(self.k(y))), (H // NH) ** -0.5)
        p, _ = self.drop(self.soft(s))
        a = self.reshape(self.back(self.mix(p, self.heads(self.v(y))), (0, 2, 1, 3)), (-1, H))
        x = self.add1(x, self.o(a))
        return self.add2(x, self.b(self.gelu(self.a(self.norm2(x)))))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block() for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i // 2
        for c in self.blocks:
            c.recompute()
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B * S, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
