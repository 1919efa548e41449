"""Half precision by Model(amp_level="O2") with a fixed loss scale; data parallel."""
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
B = 16


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Dense(64, 256), nn.LayerNorm([256]), nn.Dense(256, 64)
        self.act, self.head = nn.GELU(), nn.Dense(64, 10)

    def construct(self, x):
        return self.head(self.b(self.norm(self.act(self.a(x)))))


def rows():
    for _ in range(2):
        yield np.ones([B, 64]).astype(np.float32), np.zeros([B]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=1024.0)
manager = ms.amp.FixedLossScaleManager(1024.0, False)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt, loss_scale_manager=manager, amp_level="O2").train(1, data, dataset_sink_mode=False)
print('done')
