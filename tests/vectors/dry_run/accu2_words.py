"""Accumulation of two gradients over words by parallel.nn, Adam with warm-up."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.parallel.nn import Pipeline, GradAccumulation
from mindspore.parallel.auto_parallel import AutoParallel

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
B, S, H, NH, F, V, DP, MP = 8, 16, 128, 4, 256, 640, 2, 4


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


class Norm(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        return y


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
        return self.turn(self.reshape(x, (-1, S, NH, self.h // NH)), (0, 2, 1, 3))

    def construct(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        p = self.soft(self.scale(self.score(q, k), (self.h // NH) ** -0.5))
        y = self.back(self.mix(p, v), (0, 2, 1, 3))
        return self.out(self.reshape(y, (-1, self.h)))


class Layer(nn.Cell):
    """Attention and feed-forward with norms in front."""
    def __init__(self, h, f):
        super().__init__()
        self.n1, self.attention, self.n2 = Norm(h), Attention(h), Norm(h)
        self.up, self.down = Linear(h, f, True), Linear(f, h, False)
        self.act = ops.GeLU().shard(((DP, MP),))
        self.add1, self.add2 = ops.Add().shard(((DP, 1), (DP, 1))), ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        x = self.add1(x, self.attention(self.n1(x)))
        return self.add2(x, self.down(self.act(self.up(self.n2(x)))))


class Net(nn.Cell):
    """Words, layers, a head over the words, cross entropy by hand."""
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.head = Parameter(initializer("normal", [V, H], ms.float32), name="head")
        self.look = ops.Gather().shard(((1, 1), (DP, 1)))
        self.blocks = nn.CellList([Layer(H, F) for _ in range(2)])
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.hot = ops.OneHot().shard(((DP, 1), (), ()))
        self.loss = ops.SoftmaxCrossEntropyWithLogits().shard(((DP, 1), (DP, 1)))
        self.mean, self.reshape = ops.ReduceMean().shard(((DP,),)), ops.Reshape()

    def construct(self, ids, labels):
        x = self.reshape(self.look(self.table, ids, 0), (-1, H))
        for c in self.blocks:
            x = c(x)
        hot = self.hot(self.reshape(labels, (-1,)), V, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        loss, _ = self.loss(self.product(x, self.head), hot)
        return self.mean(loss)


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B, S]).astype(np.int32)


net = GradAccumulation(Net(), 2)
opt = nn.Adam(net.trainable_params(), nn.WarmUpLR(1e-3, 10))
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.hsdp(threshold=0)
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["ids", "labels"]), dataset_sink_mode=False)
print('done')
