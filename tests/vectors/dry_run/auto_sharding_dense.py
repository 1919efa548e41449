"""Strategies spread from two products (sharding_propagation): a layer with bias, norm, attention-like product; AdamWeightDecay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="sharding_propagation", full_batch=True)
B, H, F = 64, 256, 1024


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((H,))
        self.up, self.down = nn.Dense(H, F), nn.Dense(F, H)
        self.up.matmul.shard(((2, 1), (4, 1)))
        self.down.matmul.shard(((2, 4), (1, 4)))
        self.act = ops.GeLU()

    def construct(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.CellList([Layer(), Layer()]), nn.Dense(H, 64)

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
