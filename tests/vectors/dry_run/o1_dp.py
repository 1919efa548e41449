"""Level O1 in data parallel mode: dense layers, Adam."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n, self.act = nn.Dense(256, 512), nn.Dense(512, 16), nn.LayerNorm((512,)), nn.GELU()

    def construct(self, x):
        return self.b(self.act(self.n(self.a(x))))


def rows():
    for _ in range(2):
        yield np.ones([64, 256]).astype(np.float32), np.ones([64]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean'), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
