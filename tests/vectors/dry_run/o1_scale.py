"""Level O1: FixedLossScaleManager of Model, float16."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.train import Model
from mindspore.train import FixedLossScaleManager
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.relu = nn.Dense(H, 512).to_float(ms.float16), nn.Dense(512, 16).to_float(ms.float16), nn.ReLU()

    def construct(self, x):
        return ops.cast(self.b(self.relu(self.a(x))), ms.float32)


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=1024.0)
data = ds.GeneratorDataset(rows, ["x", "y"])
scale = FixedLossScaleManager(1024.0, drop_overflow_update=False)
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt, loss_scale_manager=scale).train(1, data, dataset_sink_mode=False)
print('done')
