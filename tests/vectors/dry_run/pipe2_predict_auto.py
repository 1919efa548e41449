"""AutoParallel, two stages, prediction: a result that is cut by columns is sent to all."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()

B, H, F, DP, MP = 32, 64, 192, 1, 2


class Layer(nn.Cell):
    """Gated product: two projections, one through SiLU, their product, a projection back."""
    def __init__(self):
        super().__init__()
        self.gate = Parameter(initializer("normal", [H, F], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.m1 = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.m2 = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.m3 = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.sig = ops.Sigmoid().shard(((DP, MP),))
        self.mul = ops.Mul().shard(((DP, MP), (DP, MP)))
        self.mul2 = ops.Mul().shard(((DP, MP), (DP, MP)))
        self.scale = ops.Mul().shard(((DP, 1), (1,)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        y = self.scale(x, self.gamma)
        g = self.m1(y, self.gate)
        h = self.mul2(self.mul(g, self.sig(g)), self.m2(y, self.up))
        return self.add(x, self.m3(h, self.down))


class Head(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(initializer("normal", [32, H], ms.float32), name="w")
        self.b = Parameter(initializer("zeros", [32], ms.float32), name="b")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.bias = ops.BiasAdd().shard(((DP, MP), (MP,)))

    def construct(self, x):
        return self.bias(self.product(x, self.w), self.b)


from mindspore.parallel.auto_parallel import AutoParallel


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer() for _ in range(3)])
        for i, c in enumerate(self.layers):
            c.pipeline_stage = min(i, 1)
        self.head = Head()
        self.head.pipeline_stage = 1

    def construct(self, x):
        for c in self.layers:
            x = c(x)
        return self.head(x)


net = Net()
net.set_train(False)
net = AutoParallel(net, parallel_mode="semi_auto")
net.dataset_strategy("full_batch")
net.pipeline(stages=2, output_broadcast=True)
net(Tensor(np.ones([B, H]), ms.float32))
print("done")
