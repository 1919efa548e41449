"""Llama in float16, its optimizer sharded, layers recomputed; 16 ranks."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0})
B, S, H, F, N, K, V, L, DP, MP, HALF = 8, 32, 256, 512, 8, 8, 512, 2, 8, 2, ms.float16


class Silu(nn.Cell):
    def __init__(self):
        super().__init__()
        self.sigmoid, self.mul = ops.Sigmoid().shard(((DP, MP),)), ops.Mul().shard(((DP, MP), (DP, MP)))

    def construct(self, x):
        return self.mul(x, self.sigmoid(x))


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
        self.g = Parameter(initializer("ones", [H], ms.float32), name="g")
        self.norm, self.cast = ops.RmsNorm(1e-6).shard(((DP, 1), (1,))), ops.Cast()

    def construct(self, x):
        return self.cast(self.norm(self.cast(x, ms.float32), self.g)[0], HALF)


class Layer(nn.Cell):
    """Rotary places, fewer keys than queries, gated feed-forward."""
    def __init__(self):
        super().__init__()
        d = H // N
        self.q, self.k, self.v = Linear(H, H, False, False, HALF), Linear(H, K * d, False, False, HALF), Linear(H, K * d, False, False, HALF)
        self.o, self.gate, self.up, self.down = Linear(H, H, True, False, HALF), Linear(H, F, False, False, HALF), Linear(H, F, False, False, HALF), Linear(F, H, True, False, HALF)
        self.n1, self.n2 = Norm(), Norm()
        self.turn, self.back = ops.Transpose().shard(((DP, 1, MP, 1),)), ops.Transpose().shard(((DP, MP, 1, 1),))
        self.mul, self.plus = ops.Mul().shard(((DP, MP, 1, 1), (1, 1, 1, 1))), ops.Add().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.left, self.right = ops.StridedSlice().shard(((DP, MP, 1, 1),)), ops.StridedSlice().shard(((DP, MP, 1, 1),))
        self.neg, self.join = ops.Neg().shard(((DP, MP, 1, 1),)), ops.Concat(-1).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.tile = ops.Tile().shard(((DP, MP, 1, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale, self.mask = ops.Mul().shard(((DP, MP, 1, 1), ())), ops.Add().shard(((DP, MP, 1, 1), (1, 1, 1, 1)))
        self.soft, self.silu, self.times = ops.Softmax().shard(((DP, MP, 1, 1),)), Silu(), ops.Mul().shard(((DP, MP), (DP, MP)))
        self.add, self.reshape, self.cast = ops.Add().shard(((DP, 1), (DP, 1))), ops.Reshape(), ops.Cast()

    def heads(self, x, n):
        return self.turn(self.reshape(x, (-1, S, n, H // N)), (0, 2, 1, 3))

    def rotate(self, x, cos, sin):
        b, n, s, d = x.shape
        a = self.left(x, (0, 0, 0, 0), (b, n, s, d // 2), (1, 1, 1, 1))
        z = self.right(x, (0, 0, 0, d // 2), (b, n, s, d), (1, 1, 1, 1))
        return self.plus(self.mul(x, cos), self.mul(self.join((self.neg(z), a)), sin))

    def grown(self, x):
        x = self.reshape(x, (-1, K, 1, S, H // N))
        return self.reshape(self.tile(x, (1, 1, N // K, 1, 1)), (-1, N, S, H // N))

    def construct(self, x, cos, sin, mask):
        h = self.n1(x)
        q = self.rotate(self.heads(self.q(h), N), cos, sin)
        k = self.grown(self.rotate(self.heads(self.k(h), K), cos, sin))
        v = self.grown(self.heads(self.v(h), K))
        p = self.soft(self.mask(self.cast(self.scale(self.score(q, k), Tensor(0.125, HALF)), ms.float32), mask))
        y = self.reshape(self.back(self.mix(self.cast(p, HALF), v), (0, 2, 1, 3)), (-1, H))
        x = self.add(x, self.o(y))
        h = self.n2(x)
        return self.add(x, self.down(self.times(self.silu(self.gate(h)), self.up(h))))


class Llama(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.head = Parameter(initializer("normal", [V, H], HALF), name="head")
        self.look = ops.Gather().shard(((MP, 1), (DP, 1)))
        self.layers = nn.CellList([Layer() for _ in range(L)])
        self.norm = Norm()
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.hot, self.soft = ops.OneHot().shard(((DP, MP), (), ())), ops.LogSoftmax().shard(((DP, 1),))
        self.mul, self.sum = ops.Mul().shard(((DP, MP), (DP, MP))), ops.ReduceSum().shard(((DP, MP),))
        self.neg, self.mean, self.cast, self.reshape = ops.Neg().shard(((DP,),)), ops.ReduceMean().shard(((DP,),)), ops.Cast(), ops.Reshape()
        angle = np.outer(np.arange(S), 1 / 10000 ** (np.arange(0, H // N, 2) / (H // N)))
        angle = np.concatenate([angle, angle], -1).reshape(1, 1, S, H // N)
        self.cos, self.sin = Tensor(np.cos(angle), HALF), Tensor(np.sin(angle), HALF)
        self.hidden = Tensor(np.triu(np.full([S, S], -1e4), 1).reshape(1, 1, S, S), ms.float32)
        self.on, self.off = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, ids, labels):
        x = self.cast(self.reshape(self.look(self.table, ids, 0), (-1, H)), HALF)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin, self.hidden)
        y = self.soft(self.cast(self.product(self.norm(x), self.head), ms.float32))
        hot = self.hot(self.reshape(labels, (-1,)), V, self.on, self.off)
        return self.mean(self.neg(self.sum(self.mul(y, hot), -1)))


net = Llama()
for layer in net.layers:
    layer.recompute()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3, weight_decay=0.1)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
i = Tensor(np.ones([B, S]), ms.int32)
step(i, i)
print('done')
