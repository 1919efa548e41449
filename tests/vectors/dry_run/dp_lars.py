"""Six ranks: convolutions by groups, adaptive averages, LARS over Momentum."""
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


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 24, 3, stride=2, has_bias=False)
        self.bn, self.act = nn.BatchNorm2d(24), nn.ReLU6()
        self.conv2 = nn.Conv2d(24, 24, 3, group=24)
        self.point = nn.Conv2d(24, 40, 1)
        self.pool, self.flat, self.fc = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(40, 10)

    def construct(self, x):
        x = self.act(self.bn(self.conv(x)))
        x = self.point(self.conv2(x))
        return self.fc(self.flat(self.pool(x)))


def rows():
    for _ in range(2):
        yield np.ones([12, 3, 32, 32]).astype(np.float32), np.ones([12]).astype(np.int32)


net = Net()
opt = nn.LARS(nn.Momentum(net.trainable_params(), 0.1, 0.9), epsilon=1e-8, coefficient=0.02)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, optimizer=opt, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')).train(1, data, dataset_sink_mode=False)
print('done')
