"""Dropout on slices that several ranks compute: each operator gets a seed of its own."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import GradAccumulation, Pipeline

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True)
B, H, F, DP, MP = 128, 256, 1024, 4, 2


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.first, self.second = ops.MatMul().shard(((DP, 1), (1, MP))), ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.drop1, self.drop2 = ops.Dropout(keep_prob=0.9).shard(((DP, MP),)), ops.Dropout(keep_prob=0.8).shard(((DP, 1),))

    def construct(self, x):
        y, _ = self.drop1(self.first(x, self.up))
        y, _ = self.drop2(self.second(y, self.down))
        return y


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(3)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
