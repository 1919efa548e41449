"""Convolutions, average pooling, global mean, Adam, cross entropy."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 16, 5, stride=2, pad_mode='same', has_bias=True)
        self.c2 = nn.Conv2d(16, 32, 3, pad_mode='valid')
        self.pool, self.act, self.fc = nn.AvgPool2d(2, 2), nn.LeakyReLU(), nn.Dense(32, 20)

    def construct(self, x):
        x = self.pool(self.act(self.c1(x)))
        x = self.act(self.c2(x))
        return self.fc(ops.mean(x, (2, 3)))


def rows():
    for _ in range(2):
        yield np.ones([8, 3, 64, 64]).astype(np.float32), np.ones([8]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.CrossEntropyLoss(), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
