"""Level O1: Convolutions with batch normalisation, data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B = 8


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 32, 3, has_bias=False), nn.BatchNorm2d(32)
        self.c2, self.b2 = nn.Conv2d(32, 64, 3, stride=2), nn.BatchNorm2d(64)
        self.pool, self.flat, self.fc = nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64 * 8 * 8, 10)
        self.relu = nn.ReLU()

    def construct(self, x):
        x = self.relu(self.b1(self.c1(x)))
        x = self.pool(self.relu(self.b2(self.c2(x))))
        return self.fc(self.flat(x))


def rows():
    for _ in range(2):
        yield np.ones([B, 3, 32, 32]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
