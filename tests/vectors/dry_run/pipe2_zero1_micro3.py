"""Two stages by AutoParallel and Pipeline, level 1 shards the optimizer, three micro batches, data cut by ranks."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import Pipeline, GradAccumulation

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
B, H, F, DP, MP = 32, 256, 512, 2, 2


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.g, self.b = Parameter(initializer("ones", [H]), name="g"), Parameter(initializer("zeros", [H]), name="b")
        self.up, self.down = Parameter(initializer("normal", [H, F]), name="up"), Parameter(initializer("normal", [F, H]), name="down")
        self.bias = Parameter(initializer("zeros", [F]), name="bias")
        self.norm = ops.LayerNorm(-1, -1).shard(((DP, 1), (1,), (1,)))
        self.m1, self.m2 = ops.MatMul().shard(((DP, 1), (1, MP))), ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.plus, self.act, self.add = ops.Add().shard(((DP, MP), (MP,))), ops.GeLU().shard(((DP, MP),)), ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        y = self.norm(x, self.g, self.b)[0]
        return self.add(x, self.m2(self.act(self.plus(self.m1(y, self.up), self.bias)), self.down))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer() for _ in range(4)])
        for i, layer in enumerate(self.layers):
            layer.pipeline_stage = i // 2
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([48, H]).astype(np.float32)


net = Pipeline(Net(), 3)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
parallel = AutoParallel(net, parallel_mode="semi_auto")
parallel.dataset_strategy("data_parallel")
parallel.pipeline(stages=2)
parallel.hsdp(threshold=0, optimizer_level="level1")
Model(parallel, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
