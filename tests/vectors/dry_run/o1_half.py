"""Level O1: Master weights float32, products float16, softmax and norms float32."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, NH, DP, MP = 4, 64, 256, 8, 2, 4


class Norm(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        return y


class Linear(nn.Cell):
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [i, o], ms.float32), name="weight")
        self.product = ops.MatMul().shard(((DP, 1), (1, MP)) if column else ((DP, MP), (MP, 1)))
        self.cast = ops.Cast()

    def construct(self, x):
        return self.product(self.cast(x, ms.float16), self.cast(self.weight, ms.float16))


class Attention(nn.Cell):
    """Softmax attention of NH heads over S positions; tokens come as rows."""
    def __init__(self, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v = Linear(h, h, True), Linear(h, h, True), Linear(h, h, True)
        self.out = Linear(h, h, False)
        self.reshape = ops.Reshape()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))

    def heads(self, x):
        return self.turn(self.reshape(x, (B, S, NH, self.h // NH)), (0, 2, 1, 3))

    def construct(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        p = self.scale(self.score(q, k), ops.cast((self.h // NH) ** -0.5, ms.float16))
        p = ops.cast(self.soft(ops.cast(p, ms.float32)), ms.float16)
        y = self.back(self.mix(p, v), (0, 2, 1, 3))
        return self.out(self.reshape(y, (B * S, self.h)))


class Layer(nn.Cell):
    """Attention and feed-forward with norms in front."""
    def __init__(self, h, f):
        super().__init__()
        self.n1, self.attention, self.n2 = Norm(h), Attention(h), Norm(h)
        self.up, self.down = Linear(h, f, True), Linear(f, h, False)
        self.act = ops.GeLU().shard(((DP, MP),))
        self.add1, self.add2 = ops.Add().shard(((DP, 1), (DP, 1))), ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        x = self.add1(x, ops.cast(self.attention(self.n1(x)), ms.float32))
        return self.add2(x, ops.cast(self.down(self.act(self.up(self.n2(x)))), ms.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H, 4 * H) for _ in range(2)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B * S, H]).astype(np.float32)))
print('done')
