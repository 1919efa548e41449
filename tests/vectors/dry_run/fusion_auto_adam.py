"""comm_fusion auto, Adam, vectors and matrices in different groups."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, comm_fusion={'allreduce': {'mode': 'auto', 'config': None}})
B, S, H, NH, DP, MP = 4, 32, 128, 8, 2, 4


class Norm(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=-1, begin_params_axis=-1).shard(((DP, 1, 1), (1,), (1,)))

    def construct(self, x):
        return self.norm(x, self.gamma, self.beta)[0]


class Linear(nn.Cell):
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [i, o], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul().shard(((DP, 1), (1, MP)) if column else ((DP, MP), (MP, 1)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)) if column else ((DP, 1), (1,)))
        self.reshape = ops.Reshape()

    def construct(self, x):
        y = self.plus(self.product(self.reshape(x, (-1, x.shape[-1])), self.weight), self.bias)
        return self.reshape(y, x.shape[:-1] + (-1,))


class Attention(nn.Cell):
    """One product makes queries, keys and values; later positions are masked."""
    def __init__(self, h):
        super().__init__()
        self.qkv, self.out = Linear(h, 3 * h, True), Linear(h, h, False)
        self.reshape = ops.Reshape()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.split = ops.Split(3, 3).shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.mask = ops.Add().shard(((DP, MP, 1, 1), (1, 1, 1, 1)))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))

    def construct(self, x, mask):
        b, s, h = x.shape
        q, k, v = self.split(self.turn(self.reshape(self.qkv(x), (b, s, NH, 3 * h // NH)), (0, 2, 1, 3)))
        p = self.soft(self.mask(self.scale(self.score(q, k), (h // NH) ** -0.5), mask))
        return self.out(self.reshape(self.back(self.mix(p, v), (0, 2, 1, 3)), (b, s, h)))


class Layer(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.n1, self.attention, self.n2 = Norm(h), Attention(h), Norm(h)
        self.up, self.down = Linear(h, 4 * h, True), Linear(4 * h, h, False)
        self.act = ops.GeLU().shard(((DP, 1, MP),))
        self.add1, self.add2 = ops.Add().shard(((DP, 1, 1), (DP, 1, 1))), ops.Add().shard(((DP, 1, 1), (DP, 1, 1)))

    def construct(self, x, mask):
        x = self.add1(x, self.attention(self.n1(x), mask))
        return self.add2(x, self.down(self.act(self.up(self.n2(x)))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H) for _ in range(2)])
        self.mask = Tensor(np.triu(np.full([1, 1, S, S], -10000.0, np.float32), 1))
        self.mean = ops.ReduceMean().shard(((DP, 1, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x, self.mask)
        return self.mean(x)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, S, H]).astype(np.float32)))
print('done')
