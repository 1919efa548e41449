"""LeNet: the first network of every tutorial; data parallel."""
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
B = 32


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def rows():
    for _ in range(3):
        yield np.ones([1, 32, 32]).astype(np.float32), np.array(1).astype(np.int32)


net = LeNet()
data = ds.GeneratorDataset(lambda: (r for _ in range(32) for r in rows()), ["x", "y"]).batch(B)
opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt).train(1, data, dataset_sink_mode=False)
print('done')
