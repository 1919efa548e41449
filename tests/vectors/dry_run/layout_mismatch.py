"""Neighbours with different cuts: redistributions between all operators."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F = 64, 256, 512


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1 = Parameter(initializer("normal", [H, F], ms.float32), name="w1")
        self.w2 = Parameter(initializer("normal", [F, H], ms.float32), name="w2")
        self.first = ops.MatMul().shard(((8, 1), (1, 1)))
        self.act = ops.GeLU().shard(((1, 8),))
        self.norm = ops.Softmax().shard(((4, 1),))
        self.second = ops.MatMul().shard(((2, 4), (4, 1)))
        self.scale = ops.Mul().shard(((4, 2), ()))
        self.mean = ops.ReduceMean().shard(((1, 8),))

    def construct(self, x):
        x = self.norm(self.act(self.first(x, self.w1)))
        return self.mean(self.scale(self.second(x, self.w2), 0.5))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
