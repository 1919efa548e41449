"""Level 2, groups of two of eight replicas."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import Pipeline, GradAccumulation, MicroBatchInterleaved
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
B, H, F, DP, MP = 128, 256, 512, 8, 2


class Ffn(nn.Cell):
    def __init__(self, h, f):
        super().__init__()
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        return self.add(x, self.second(self.act(self.first(x, self.up)), self.down))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(3)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.hsdp(shard_size=2, threshold=0, optimizer_level='level2')
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
