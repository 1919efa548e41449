"""Encoder and decoder with cross attention, relative places as a bias, RmsNorm; Adam; semi-automatic, float16 products."""
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
B, S, T, H, N, DP, MP = 4, 32, 16, 128, 4, 2, 4


class Linear(nn.Cell):
    """Weight [out, in]; cut by columns or rows of the product."""
    def __init__(self, i, o, rows, bias=True, dtype=ms.float32):
        super().__init__()
        self.w = Parameter(initializer("normal", [o, i], dtype), name="w")
        self.b = Parameter(initializer("zeros", [o], dtype), name="b") if bias else None
        self.mm = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)) if rows else ((DP, 1), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (1,)) if rows else ((DP, MP), (MP,)))

    def construct(self, x):
        x = self.mm(x, self.w)
        return x if self.b is None else self.add(x, self.b)


class Norm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.g = Parameter(initializer("ones", [H]), name="g")
        self.norm, self.cast = ops.RmsNorm(1e-6).shard(((DP, 1), (1,))), ops.Cast()

    def construct(self, x):
        return self.cast(self.norm(x, self.g)[0], ms.float16)


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = [Linear(H, H, r, False, ms.float16) for r in (False, False, False, True)]
        self.turn, self.back = ops.Transpose().shard(((DP, 1, MP, 1),)), ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.bias, self.soft = ops.Add().shard(((DP, MP, 1, 1), (1, MP, 1, 1))), ops.Softmax().shard(((DP, MP, 1, 1),))
        self.reshape, self.cast = ops.Reshape(), ops.Cast()

    def heads(self, x):
        return self.turn(self.reshape(x, (B, -1, N, H // N)), (0, 2, 1, 3))

    def construct(self, x, memory, bias):
        s = self.cast(self.score(self.heads(self.q(x)), self.heads(self.k(memory))), ms.float32)
        p = self.cast(self.soft(self.bias(s, bias)), ms.float16)
        y = self.back(self.mix(p, self.heads(self.v(memory))), (0, 2, 1, 3))
        return self.cast(self.o(self.reshape(y, (-1, H))), ms.float32)


class Ffn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up, self.down = Linear(H, 4 * H, False, False, ms.float16), Linear(4 * H, H, True, False, ms.float16)
        self.relu, self.cast = ops.ReLU().shard(((DP, MP),)), ops.Cast()

    def construct(self, x):
        return self.cast(self.down(self.relu(self.up(x))), ms.float32)


class T5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ea, self.ef, self.da, self.dc, self.df = Attention(), Ffn(), Attention(), Attention(), Ffn()
        self.n = nn.CellList([Norm() for _ in range(6)])
        self.b1 = Parameter(initializer("normal", [1, N, S, S]), name="b1")
        self.b2 = Parameter(initializer("normal", [1, N, T, T]), name="b2")
        self.b3 = Parameter(initializer("normal", [1, N, T, S]), name="b3")
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x, y):
        h = self.n[0](x)
        x = self.add(x, self.ea(h, h, self.b1))
        x = self.add(x, self.ef(self.n[1](x)))
        m = self.n[2](x)
        h = self.n[3](y)
        y = self.add(y, self.da(h, h, self.b2))
        y = self.add(y, self.dc(self.n[4](y), m, self.b3))
        y = self.add(y, self.df(self.n[5](y)))
        return self.mean(self.square(y))


net = T5()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B * S, H]), ms.float32), Tensor(np.ones([B * T, H]), ms.float32))
print('done')
