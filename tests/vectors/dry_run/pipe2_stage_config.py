"""Stages by stage_config, feed-forward widths differ."""
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
B, H, F, DP, MP = 64, 128, 256, 2, 2


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
        self.one, self.two, self.three = Ffn(H, F), Ffn(H, 2 * F), Ffn(H, F)
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        x = self.three(self.two(self.one(x)))
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = Pipeline(Net(), 4, stage_config={'one': 0, 'two': 1, 'three': 1})
opt = nn.SGD(net.trainable_params(), 0.1)
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.pipeline(stages=2)
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
