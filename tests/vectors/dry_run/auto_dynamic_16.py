"""Strategies are searched by dynamic_programming for 16 ranks, Adam."""
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
ms.set_auto_parallel_context(parallel_mode='auto_parallel', search_mode='dynamic_programming', full_batch=True)
B, H, F = 128, 256, 1024


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.first, self.second, self.act = ops.MatMul(), ops.MatMul(), ops.GeLU()

    def construct(self, x):
        return self.second(self.act(self.first(x, self.up)), self.down)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(3)])
        self.mean = ops.ReduceMean()

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(x)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
