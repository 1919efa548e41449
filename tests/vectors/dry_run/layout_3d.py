"""Products cut along all three dimensions."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F = 64, 256, 512


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.first = ops.MatMul().shard(((2, 2), (2, 2)))
        self.act = ops.GeLU().shard(((2, 2),))
        self.second = ops.MatMul().shard(((2, 2), (2, 2)))

    def construct(self, x):
        return self.second(self.act(self.first(x, self.up)), self.down)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.mean = ops.ReduceMean().shard(((2, 2),))

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
