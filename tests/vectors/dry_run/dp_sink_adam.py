"""Sink mode in data parallel mode, one step in a graph, Adam."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 64, 384


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 768), nn.Dense(768, 10)
        self.act = nn.GELU()

    def construct(self, x):
        return self.b(self.act(self.a(x)))


def rows():
    for _ in range(3):
        yield np.ones([B, H]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3, weight_decay=1e-4)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, data, dataset_sink_mode=True)
print('done')
