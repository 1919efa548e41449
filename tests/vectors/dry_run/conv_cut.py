"""Convolutions whose batch and channels are cut."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, DP, MP = 16, 4, 2


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1 = Parameter(initializer("normal", [64, 4, 3, 3], ms.float32), name="w1")
        self.w2 = Parameter(initializer("normal", [64, 64, 3, 3], ms.float32), name="w2")
        self.conv1 = ops.Conv2D(64, 3, pad_mode="same").shard(((DP, 1, 1, 1), (MP, 1, 1, 1)))
        self.conv2 = ops.Conv2D(64, 3, pad_mode="same", stride=2).shard(((DP, MP, 1, 1), (1, MP, 1, 1)))
        self.relu1 = ops.ReLU().shard(((DP, MP, 1, 1),))
        self.relu2 = ops.ReLU().shard(((DP, 1, 1, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1, 1, 1),))

    def construct(self, x):
        return self.mean(self.relu2(self.conv2(self.relu1(self.conv1(x, self.w1)), self.w2)))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, 4, 16, 16]).astype(np.float32)))
print('done')
