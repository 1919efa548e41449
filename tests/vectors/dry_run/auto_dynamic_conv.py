"""dynamic_programming, convolutions, pooling and a Flatten."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="dynamic_programming", full_batch=True)
B = 32


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16)
        self.pool, self.conv2 = nn.MaxPool2d(2, 2), nn.Conv2d(16, 32, 3)
        self.flat, self.head = nn.Flatten(), nn.Dense(32 * 8 * 8, 64)

    def construct(self, x):
        x = self.pool(ops.relu(self.norm(self.conv1(x))))
        return ops.ReduceMean()(self.head(self.flat(ops.relu(self.conv2(x)))))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(np.ones([B, 3, 16, 16]).astype(np.float32)))
print("done")
