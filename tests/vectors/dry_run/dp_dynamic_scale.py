"""DynamicLossScaleManager of Model, one thread."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_context(runtime_num_threads=1)
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

from mindspore.train import DynamicLossScaleManager


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.relu = nn.Dense(256, 512).to_float(ms.float16), nn.Dense(512, 16).to_float(ms.float16), nn.ReLU()

    def construct(self, x):
        return ops.cast(self.b(self.relu(self.a(x))), ms.float32)


def rows():
    for _ in range(2):
        yield np.ones([32, 256], np.float32), np.ones([32], np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt, loss_scale_manager=DynamicLossScaleManager(2 ** 16, 2, 1000)).train(1, data, dataset_sink_mode=False)
print('done')
