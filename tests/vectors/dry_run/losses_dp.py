"""Six losses of one network, summed; data parallel without a mean."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel")
B, H = 16, 64


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(H, H, activation="tanh")
        self.l1, self.smooth, self.mse = nn.L1Loss(), nn.SmoothL1Loss(), nn.MSELoss()
        self.bce, self.huber, self.kl = nn.BCEWithLogitsLoss(), nn.HuberLoss(), nn.KLDivLoss()

    def construct(self, x, y):
        z = self.fc(x)
        first = self.l1(z, y) + self.smooth(z, y) + self.mse(z, y)
        return first + self.bce(z, y) + self.huber(z, y) + self.kl(ops.log_softmax(z), y)


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32), np.ones([B, H]).astype(np.float32)


net = Net()
opt = nn.SGD(net.trainable_params(), 0.1, momentum=0.9)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
