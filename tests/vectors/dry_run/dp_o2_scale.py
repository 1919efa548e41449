"""Residual blocks at level O2, loss scale, weight decay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='data_parallel', gradients_mean=True)


class Residual(nn.Cell):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(i, o, 3, stride=stride), nn.BatchNorm2d(o)
        self.c2, self.n2 = nn.Conv2d(o, o, 3), nn.BatchNorm2d(o)
        self.down = nn.SequentialCell(nn.Conv2d(i, o, 1, stride=stride), nn.BatchNorm2d(o))
        self.relu = nn.ReLU()

    def construct(self, x):
        y = self.n2(self.c2(self.relu(self.n1(self.c1(x)))))
        return self.relu(y + self.down(x))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 7, stride=2)
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        self.body = nn.SequentialCell(Residual(16, 16, 1), Residual(16, 32, 2))
        self.fc = nn.Dense(32, 10)

    def construct(self, x):
        x = self.body(self.pool(self.stem(x)))
        return self.fc(ops.ReduceMean()(x, (2, 3)))


def rows():
    for _ in range(2):
        yield np.ones([16, 3, 32, 32]).astype(np.float32), np.ones([16]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=1e-4, loss_scale=1024.0)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss, opt, amp_level="O2", keep_batchnorm_fp32=False, loss_scale_manager=ms.FixedLossScaleManager(1024.0, False))
model.train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
