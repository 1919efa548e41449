"""Results of products are scattered by an output strategy; biases; dropout."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, DP, MP = 128, 256, 1024, 2, 4


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.b1 = Parameter(initializer("zeros", [F], ms.float32), name="b1")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.b2 = Parameter(initializer("zeros", [H], ms.float32), name="b2")
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [H], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP * MP, 1), (1,), (1,)))
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.plus1 = ops.Add().shard(((DP, MP), (MP,)))
        self.act = ops.ReLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)), ((DP * MP, 1),))
        self.plus2 = ops.Add().shard(((DP * MP, 1), (1,)))
        self.drop = ops.Dropout(keep_prob=0.8).shard(((DP * MP, 1),))
        self.add = ops.Add().shard(((DP * MP, 1), (DP * MP, 1)))

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        y = self.act(self.plus1(self.first(y, self.up), self.b1))
        y, _ = self.drop(self.plus2(self.second(y, self.down), self.b2))
        return self.add(x, y)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.mean = ops.ReduceMean().shard(((DP * MP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(x)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
