"""Fused kernels: convolutions, data parallel, Momentum."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16)
        self.c2, self.b2 = nn.Conv2d(16, 32, 3, 2), nn.BatchNorm2d(32)
        self.pool, self.flat, self.fc = nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(32 * 4 * 4, 10)
        self.act = nn.ReLU6()

    def construct(self, x):
        x = self.act(self.b1(self.c1(x)))
        x = self.pool(self.act(self.b2(self.c2(x))))
        return self.fc(self.flat(x))


def rows():
    for _ in range(2):
        yield np.ones([16, 3, 16, 16], np.float32), np.ones([16], np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=1e-4)
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
