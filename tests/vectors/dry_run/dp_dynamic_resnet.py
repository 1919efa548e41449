"""Residual network, amp O2 and DynamicLossScaleManager by Model; Momentum; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.amp import DynamicLossScaleManager

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_context(runtime_num_threads=1)
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)


class Basic(nn.Cell):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, stride=stride), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3), nn.BatchNorm2d(o)
        self.relu = nn.ReLU()
        self.down = None if stride == 1 and i == o else nn.SequentialCell([nn.Conv2d(i, o, 1, stride=stride), nn.BatchNorm2d(o)])

    def construct(self, x):
        y = self.b2(self.c2(self.relu(self.b1(self.c1(x)))))
        if self.down is not None:
            x = self.down(x)
        return self.relu(x + y)


class Resnet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU())
        self.layers = nn.SequentialCell(Basic(32, 32, 1), Basic(32, 64, 2))
        self.flat, self.fc = nn.Flatten(), nn.Dense(64, 10)

    def construct(self, x):
        x = self.layers(self.stem(x))
        return self.fc(ops.mean(x, (2, 3)))


def rows():
    for _ in range(2):
        yield np.ones([8, 3, 32, 32]).astype(np.float32), np.ones([8]).astype(np.int32)


net = Resnet()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss_fn=loss, optimizer=opt, amp_level="O2", loss_scale_manager=DynamicLossScaleManager(1024, 2, 1000))
model.train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
