"""Accumulation, level 2, halves and norms, shared graph."""
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
B, H, F, DP, MP = 128, 256, 512, 4, 2


class Layer(nn.Cell):
    """Norm in float32, products in half precision with biases."""
    def __init__(self, h, f, half=ms.float16):
        super().__init__()
        self.half = half
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.bias = Parameter(initializer("zeros", [f], ms.float32), name="bias")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-5).shard(((DP, 1), (1,), (1,)))
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.cast = ops.Cast()

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        y = self.first(self.cast(y, self.half), self.cast(self.up, self.half))
        y = self.act(self.plus(y, self.cast(self.bias, self.half)))
        y = self.second(y, self.cast(self.down, self.half))
        return self.add(x, self.cast(y, ms.float32))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H, F) for _ in range(3)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = GradAccumulation(Net(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("full_batch")
parallel.hsdp(threshold=0, optimizer_level='level2')
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
