"""Depthwise separable convolutions, ReLU6, global average pool; data parallel."""
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


class Block(nn.Cell):
    """Expand, filter each channel alone, project, add."""
    def __init__(self, i, m):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(i, m, 1), nn.BatchNorm2d(m)
        self.c2, self.n2 = nn.Conv2d(m, m, 3, group=m, pad_mode="pad", padding=1), nn.BatchNorm2d(m)
        self.c3, self.n3 = nn.Conv2d(m, i, 1), nn.BatchNorm2d(i)
        self.act = nn.ReLU6()

    def construct(self, x):
        y = self.act(self.n1(self.c1(x)))
        return x + self.n3(self.c3(self.act(self.n2(self.c2(y)))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.front, self.norm, self.act = nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU6()
        self.blocks = nn.SequentialCell([Block(16, 64), Block(16, 64)])
        self.head = nn.Dense(16, 10)

    def construct(self, x):
        x = self.blocks(self.act(self.norm(self.front(x))))
        return self.head(ops.ReduceMean()(x, (2, 3)))


def rows():
    for _ in range(2):
        yield np.ones([B, 3, 32, 32]).astype(np.float32), np.zeros([B]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=4e-5)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt).train(1, data, dataset_sink_mode=False)
print('done')
