"""Convolutions down and up again, sigmoid, mean squared error, RMSProp; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B = 8


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 16, 3, stride=2), nn.Conv2d(16, 32, 3, stride=2)
        self.up1, self.up2 = nn.Conv2dTranspose(32, 16, 3, stride=2), nn.Conv2dTranspose(16, 1, 3, stride=2)
        self.act, self.out = nn.LeakyReLU(), nn.Sigmoid()

    def construct(self, x):
        return self.out(self.up2(self.act(self.up1(self.act(self.down2(self.act(self.down1(x))))))))


def rows():
    for _ in range(2):
        yield np.ones([B, 1, 32, 32]).astype(np.float32), np.ones([B, 1, 32, 32]).astype(np.float32)


net = Net()
opt = nn.RMSProp(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, nn.MSELoss(), opt).train(1, data, dataset_sink_mode=False)
print('done')
