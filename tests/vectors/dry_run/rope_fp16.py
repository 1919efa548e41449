"""Rotated queries and keys, gated feed-forward layer, RMS norm; half precision inside, cut heads."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, N, F, DP, MP = 4, 64, 256, 8, 512, 2, 4
D = H // N


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = [Parameter(initializer("normal", [H, H], ms.float32), name=n) for n in ("q", "k", "v", "o")]
        self.q, self.k, self.v, self.o = self.w
        self.gate = Parameter(initializer("normal", [H, F], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.cast, self.reshape = ops.Cast(), ops.Reshape()
        self.norm = ops.RmsNorm(1e-6).shard(((DP, 1), (1,)))
        self.columns = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.rows = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.turn, self.back = ops.Transpose().shard(((DP, 1, MP, 1),)), ops.Transpose().shard(((DP, MP, 1, 1),))
        self.cos = Tensor(np.ones([S, D]), ms.float16)
        self.sin = Tensor(np.ones([S, D]), ms.float16)
        self.mul = ops.Mul().shard(((DP, MP, 1, 1), (1, 1)))
        self.plus = ops.Add().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.split = ops.Split(axis=3, output_num=2).shard(((DP, MP, 1, 1),))
        self.join = ops.Concat(axis=3).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.neg = ops.Neg().shard(((DP, MP, 1, 1),))
        self.scores = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.silu, self.times = ops.Sigmoid().shard(((DP, MP),)), ops.Mul().shard(((DP, MP), (DP, MP)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def rotate(self, x):
        a, b = self.split(x)
        return self.plus(self.mul(x, self.cos), self.mul(self.join((self.neg(b), a)), self.sin))

    def heads(self, x, w):
        y = self.columns(x, self.cast(w, ms.float16))
        return self.turn(self.reshape(y, (B, S, N, D)), (0, 2, 1, 3))

    def construct(self, x):
        y = self.cast(self.norm(x, self.gamma)[0], ms.float16)
        q, k, v = self.rotate(self.heads(y, self.q)), self.rotate(self.heads(y, self.k)), self.heads(y, self.v)
        p = self.cast(self.soft(self.cast(self.scores(q, k), ms.float32)), ms.float16)
        y = self.reshape(self.back(self.mix(p, v), (0, 2, 1, 3)), (B * S, H))
        x = self.add(x, self.cast(self.rows(y, self.cast(self.o, ms.float16)), ms.float32))
        y = self.cast(x, ms.float16)
        y = self.times(self.silu(self.columns(y, self.cast(self.gate, ms.float16))), self.columns(y, self.cast(self.up, ms.float16)))
        return self.add(x, self.cast(self.rows(y, self.cast(self.down, ms.float16)), ms.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(), Block()])
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.mean(x)


def rows():
    for _ in range(2):
        yield (np.ones([B * S, H]).astype(np.float32),)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
