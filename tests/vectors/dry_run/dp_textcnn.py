"""A text classifier: table, convolutions of three widths, pooled and joined, Adam; data parallel."""
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
B, S, V, E, C = 16, 32, 1000, 64, 24


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(V, E)
        self.convs = nn.CellList([nn.Conv2d(1, C, (k, E), pad_mode="valid", has_bias=True) for k in (3, 4, 5)])
        self.drop, self.head = nn.Dropout(p=0.5), nn.Dense(3 * C, 2)

    def construct(self, ids):
        x = ops.expand_dims(self.table(ids), 1)
        pooled = ()
        for conv in self.convs:
            pooled += (ops.ReduceMax()(ops.relu(conv(x)), (2, 3)),)
        return self.head(self.drop(ops.concat(pooled, 1)))


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.zeros([B]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3, weight_decay=1e-4)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt).train(1, data, dataset_sink_mode=False)
print('done')
