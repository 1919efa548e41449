"""Convolution net with sharded optimizer states, group norm, depthwise and dilated convolutions; semi_auto."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", enable_parallel_optimizer=True, gradients_mean=True, parallel_optimizer_config={"parallel_optimizer_threshold": 1})
B = 16


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1, self.g1 = nn.Conv2d(3, 32, 3), nn.GroupNorm(8, 32)
        self.c2 = nn.Conv2d(32, 32, 3, group=32)
        self.c3 = nn.Conv2d(32, 64, 3, pad_mode="pad", padding=2, dilation=2)
        self.pool, self.fc = ops.AdaptiveAvgPool2D(1), nn.Dense(64, 16)

    def construct(self, x, y):
        x = ops.relu(self.g1(self.c1(x)))
        x = ops.hardswish(self.c3(self.c2(x)))
        x = self.pool(x).reshape(-1, 64)
        return ops.reduce_mean(nn.SoftmaxCrossEntropyWithLogits()(self.fc(x), y))


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, 3, 16, 16]), ms.float32), Tensor(np.ones([B, 16]), ms.float32))
print('done')
