"""Two encoder layers, heads cut by four, dropout, Lamb with a warming rate."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)

from mindspore.nn.learning_rate_schedule import LearningRateSchedule, PolynomialDecayLR, WarmUpLR
B, S, H, N, DP, MP = 4, 64, 256, 8, 2, 4


class Rate(LearningRateSchedule):
    def __init__(self):
        super().__init__()
        self.warm, self.decay = WarmUpLR(1e-3, 100), PolynomialDecayLR(1e-3, 1e-5, 1000, 1.0)
        self.greater, self.one, self.cast = ops.Greater(), Tensor(np.array([1.0]).astype(np.float32)), ops.Cast()
        self.steps = Tensor(np.array([100]).astype(np.float32))

    def construct(self, step):
        warming = self.cast(self.greater(self.steps, step), ms.float32)
        return (self.one - warming) * self.decay(step) + warming * self.warm(step)


class Linear(nn.Cell):
    def __init__(self, i, o, columns):
        super().__init__()
        self.w = Parameter(initializer("normal", [i, o], ms.float32), name="w")
        self.b = Parameter(initializer("zeros", [o], ms.float32), name="b")
        self.mm = ops.MatMul().shard(((DP, 1), (1, MP)) if columns else ((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, MP), (MP,)) if columns else ((DP, 1), (1,)))

    def construct(self, x):
        return self.add(self.mm(x, self.w), self.b)


class Norm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.g = Parameter(initializer("ones", [H], ms.float32), name="g")
        self.b = Parameter(initializer("zeros", [H], ms.float32), name="b")
        self.norm = ops.LayerNorm(1, 1, 1e-6).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        return self.norm(x, self.g, self.b)[0]


class Encoder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = Linear(H, H, True), Linear(H, H, True), Linear(H, H, True), Linear(H, H, False)
        self.up, self.down, self.n1, self.n2 = Linear(H, 4 * H, True), Linear(4 * H, H, False), Norm(), Norm()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.mul = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.mask = ops.Add().shard(((DP, MP, 1, 1), (DP, 1, 1, 1)))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.drop1, self.drop2 = ops.Dropout(keep_prob=0.9).shard(((DP, MP, 1, 1),)), ops.Dropout(keep_prob=0.9).shard(((DP, 1),))
        self.gelu = ops.GeLU().shard(((DP, MP),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.reshape = ops.Reshape()

    def heads(self, x):
        return self.turn(self.reshape(x, (B, S, N, H // N)), (0, 2, 1, 3))

    def construct(self, x, mask):
        a = self.mask(self.mul(self.score(self.heads(self.q(x)), self.heads(self.k(x))), 0.176), mask)
        a, _ = self.drop1(self.soft(a))
        a = self.reshape(self.back(self.mix(a, self.heads(self.v(x))), (0, 2, 1, 3)), (B * S, H))
        a, _ = self.drop2(self.o(a))
        x = self.n1(self.add(x, a))
        return self.n2(self.add(x, self.down(self.gelu(self.up(x)))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Encoder() for _ in range(2)])
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.mean(self.square(x))


net = Net()
opt = nn.Lamb(net.trainable_params(), Rate(), weight_decay=0.01)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B * S, H]), ms.float32), Tensor(np.zeros([B, 1, S, S]), ms.float32))
print('done')
