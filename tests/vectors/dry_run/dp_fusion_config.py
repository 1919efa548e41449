"""Six dense layers, AllReduces fused by all_reduce_fusion_config, AdamWeightDecay, L1Loss."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, all_reduce_fusion_config=[4, 9])


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(256, 256, activation='gelu') for _ in range(5)])
        self.last = nn.Dense(256, 8)

    def construct(self, x):
        for c in self.layers:
            x = c(x)
        return self.last(x)


def rows():
    for _ in range(2):
        yield np.ones([32, 256]).astype(np.float32), np.ones([32, 8]).astype(np.float32)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.L1Loss(), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
