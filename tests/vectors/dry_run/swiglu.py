"""Gated feed-forward with a joined weight, RmsNorm, semi-automatic, rows of three dimensions."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, F, DP, MP = 4, 32, 256, 512, 2, 4


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gate = Parameter(initializer("normal", [F, H], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [F, H], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [H, F], ms.float32), name="down")
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.norm = ops.RmsNorm().shard(((DP, 1, 1), (1,)))
        self.m1, self.m2 = [ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1))) for _ in range(2)]
        self.m3 = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)))
        self.sig, self.mul = ops.Sigmoid().shard(((DP, MP),)), ops.Mul().shard(((DP, MP), (DP, MP)))
        self.mul2 = ops.Mul().shard(((DP, MP), (DP, MP)))
        self.add = ops.Add().shard(((DP, 1, 1), (DP, 1, 1)))
        self.reshape = ops.Reshape()

    def construct(self, x):
        y = self.reshape(self.norm(x, self.gamma)[0], (B * S, H))
        g = self.m1(y, self.gate)
        y = self.m3(self.mul2(self.mul(g, self.sig(g)), self.m2(y, self.up)), self.down)
        return self.add(x, self.reshape(y, (B, S, H)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.sum = ops.ReduceSum().shard(((DP, 1, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.sum(x)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3, weight_decay=0.1)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, S, H]).astype(np.float32)))
print('done')
