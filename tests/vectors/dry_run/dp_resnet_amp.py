"""Residual blocks, amp O2 by build_train_network with a fixed scale; Momentum; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore import amp
from mindspore.amp import FixedLossScaleManager

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)


class Basic(nn.Cell):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, stride=stride, pad_mode="pad", padding=1), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3, pad_mode="pad", padding=1), nn.BatchNorm2d(o)
        self.relu = nn.ReLU()
        self.down = None if stride == 1 and i == o else nn.SequentialCell([nn.Conv2d(i, o, 1, stride=stride), nn.BatchNorm2d(o)])

    def construct(self, x):
        y = self.b2(self.c2(self.relu(self.b1(self.c1(x)))))
        if self.down is not None:
            x = self.down(x)
        return self.relu(x + y)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 32, 7, stride=2, pad_mode="pad", padding=3), nn.BatchNorm2d(32)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same")
        self.layers = nn.SequentialCell(Basic(32, 32, 1), Basic(32, 64, 2), Basic(64, 128, 2))
        self.avg, self.flat, self.fc = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(128, 10)

    def construct(self, x):
        return self.fc(self.flat(self.avg(self.layers(self.pool(self.relu(self.norm(self.stem(x))))))))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=1e-4)
step = amp.build_train_network(net, opt, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), level="O2", loss_scale_manager=FixedLossScaleManager(1024, False))
step.set_train()
step(Tensor(np.ones([8, 3, 64, 64]), ms.float32), Tensor(np.ones([8]), ms.int32))
print('done')
