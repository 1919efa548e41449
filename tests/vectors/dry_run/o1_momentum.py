"""Level O1: Optimizer of the name, with 2 layers of norm, product, bias."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, DP, MP = 64, 512, 8, 1


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
    """Product with a transposed weight and a bias; cut by columns or by rows of the result."""
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [o, i], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)) if column else ((DP, MP), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)) if column else ((DP, 1), (1,)))

    def construct(self, x):
        return self.plus(self.product(x, self.weight), self.bias)


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b = Norm(H), Linear(H, 4 * H, True), Linear(4 * H, H, False)
        self.act = ops.Tanh().shard(((DP, MP),))

    def construct(self, x):
        return self.b(self.act(self.a(self.norm(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


net = Net()
opt = nn.Momentum(net.trainable_params(), nn.cosine_decay_lr(0.0, 0.1, 10, 5, 2), 0.9, weight_decay=1e-4, use_nesterov=True)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
