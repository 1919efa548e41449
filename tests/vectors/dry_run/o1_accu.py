"""Level O1: A small GPT whose gradients are summed over two micro batches, AdamWeightDecay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, N, V, DP, MP = 16, 32, 128, 4, 1024, 4, 2


class Linear(nn.Cell):
    """Product and bias; the weight is cut by columns or by rows."""
    def __init__(self, i, o, rows):
        super().__init__()
        self.weight = Parameter(initializer("normal", [i, o], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul().shard(((DP, MP), (MP, 1)) if rows else ((DP, 1), (1, MP)))
        self.plus = ops.Add().shard(((DP, 1), (1,)) if rows else ((DP, MP), (MP,)))

    def construct(self, x):
        return self.plus(self.product(x, self.weight), self.bias)


class Norm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [H], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        return self.norm(x, self.gamma, self.beta)[0]


class Block(nn.Cell):
    """Attention and a feed-forward layer, each behind a norm, each added."""
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = Norm(), Norm()
        self.q, self.k, self.v, self.o = Linear(H, H, False), Linear(H, H, False), Linear(H, H, False), Linear(H, H, True)
        self.up, self.down = Linear(H, 4 * H, False), Linear(4 * H, H, True)
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.scores = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.reshape = ops.Reshape()

    def heads(self, x):
        return self.turn(self.reshape(x, (-1, S, N, H // N)), (0, 2, 1, 3))

    def construct(self, x):
        y = self.n1(x)
        q, k, v = self.heads(self.q(y)), self.heads(self.k(y)), self.heads(self.v(y))
        p = self.soft(self.scale(self.scores(q, k), Tensor(0.125, ms.float32)))
        y = self.reshape(self.turn_back(self.mix(p, v)), (-1, H))
        x = self.add(x, self.o(y))
        return self.add(x, self.down(self.act(self.up(self.n2(x)))))

    def turn_back(self, x):
        return self.back(x, (0, 2, 1, 3))


class Front(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.place = Parameter(initializer("normal", [S, H], ms.float32), name="place")
        self.look = ops.Gather().shard(((1, 1), (DP, 1)))
        self.add = ops.Add().shard(((DP, 1, 1), (1, 1)))
        self.reshape = ops.Reshape()

    def construct(self, ids):
        return self.reshape(self.add(self.look(self.table, ids, 0), self.place), (-1, H))


class Head(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
        self.weight = Parameter(initializer("normal", [V, H], ms.float32), name="head")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.hot = ops.OneHot().shard(((DP, MP), (), ()))
        self.soft = ops.LogSoftmax().shard(((DP, 1),))
        self.mul = ops.Mul().shard(((DP, 1), (DP, 1)))
        self.sum = ops.ReduceSum().shard(((DP, 1),))
        self.neg = ops.Neg().shard(((DP,),))
        self.mean = ops.ReduceMean().shard(((DP,),))
        self.reshape = ops.Reshape()

    def construct(self, x, labels):
        logits = self.product(self.norm(x), self.weight)
        hot = self.hot(self.reshape(labels, (-1,)), V, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        return self.mean(self.neg(self.sum(self.mul(self.soft(logits), hot), -1)))


class Gpt(nn.Cell):
    def __init__(self):
        super().__init__()
        self.front, self.blocks, self.head = Front(), nn.CellList([Block() for _ in range(2)]), Head()

    def construct(self, ids, labels):
        x = self.front(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x, labels)


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B, S]).astype(np.int32)


from mindspore.parallel.nn import GradAccumulation

net = GradAccumulation(Gpt(), 2)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["ids", "labels"]), dataset_sink_mode=False)
print('done')
