"""A small VGG with batch norm, data parallel, Momentum with decay."""
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
        self.c1, self.b1 = nn.Conv2d(3, 32, 3, pad_mode='same'), nn.BatchNorm2d(32)
        self.c2, self.b2 = nn.Conv2d(32, 64, 3, padding=1, pad_mode='pad', has_bias=True), nn.BatchNorm2d(64)
        self.relu, self.pool, self.flat = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2, self.drop = nn.Dense(64 * 64, 128), nn.Dense(128, 10), nn.Dropout(p=0.5)

    def construct(self, x):
        x = self.pool(self.relu(self.b1(self.c1(x))))
        x = self.pool(self.relu(self.b2(self.c2(x))))
        return self.fc2(self.drop(self.relu(self.fc1(self.flat(x)))))


def rows():
    for _ in range(2):
        yield np.ones([16, 3, 32, 32]).astype(np.float32), np.ones([16]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=1e-4)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean'), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
