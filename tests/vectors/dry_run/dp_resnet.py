"""Bottlenecks of a ResNet, global pool, Momentum with weight decay for some, sink mode."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B = 8


class Bottleneck(nn.Cell):
    def __init__(self, i, m, o, stride):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(i, m, 1), nn.BatchNorm2d(m)
        self.c2, self.n2 = nn.Conv2d(m, m, 3, stride=stride), nn.BatchNorm2d(m)
        self.c3, self.n3 = nn.Conv2d(m, o, 1), nn.BatchNorm2d(o)
        self.cs, self.ns = nn.Conv2d(i, o, 1, stride=stride), nn.BatchNorm2d(o)
        self.relu = nn.ReLU()

    def construct(self, x):
        y = self.relu(self.n1(self.c1(x)))
        y = self.n3(self.c3(self.relu(self.n2(self.c2(y)))))
        return self.relu(y + self.ns(self.cs(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.front, self.norm, self.pool = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.MaxPool2d(3, 2, pad_mode="same")
        self.a, self.b = Bottleneck(16, 8, 32, 1), Bottleneck(32, 16, 64, 2)
        self.head, self.relu = nn.Dense(64, 10), nn.ReLU()

    def construct(self, x):
        x = self.pool(self.relu(self.norm(self.front(x))))
        x = ops.mean(self.b(self.a(x)), (2, 3))
        return self.head(x)


def rows():
    for _ in range(2):
        yield np.ones([B, 3, 32, 32]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
decayed = [p for p in net.trainable_params() if 'gamma' not in p.name and 'beta' not in p.name and 'bias' not in p.name]
rest = [p for p in net.trainable_params() if 'gamma' in p.name or 'beta' in p.name or 'bias' in p.name]
opt = nn.Momentum([{'params': decayed, 'weight_decay': 1e-4}, {'params': rest}], 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, data, dataset_sink_mode=True)
print('done')
