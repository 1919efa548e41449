"""Interleaved stages, AdamWeightDecay, level 1."""
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
B, H, F, DP, MP = 128, 256, 512, 2, 2


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
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i % 2
            c.pipeline_segment = i // 2
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = Pipeline(Net(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.pipeline(stages=2, interleave=True)
parallel.hsdp(threshold=0)
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
