"""Centered RMSProp, convolutions, max pooling, Model without sink."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

class Block(nn.Cell):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv, self.bn, self.act = nn.Conv2d(i, o, 3, stride, pad_mode="pad", padding=1), nn.BatchNorm2d(o), nn.ReLU()

    def construct(self, x):
        return self.act(self.bn(self.conv(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(Block(3, 16, 1), nn.MaxPool2d(2, 2), Block(16, 32, 2), Block(32, 48, 1))
        self.head = nn.SequentialCell(nn.AvgPool2d(4, 4), nn.Flatten(), nn.Dense(48 * 2 * 2, 20))

    def construct(self, x):
        return self.head(self.body(x))


def rows():
    for _ in range(3):
        yield np.zeros([10, 3, 32, 32], np.float32), np.zeros([10], np.int32)


net = Net()
opt = nn.RMSProp(net.trainable_params(), 0.05, centered=True, momentum=0.9)
data = ds.GeneratorDataset(rows, ["image", "label"])
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt).train(1, data, dataset_sink_mode=False)
print('done')
