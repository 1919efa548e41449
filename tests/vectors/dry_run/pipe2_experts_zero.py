"""Experts, shared graph, sharded optimizer."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, enable_alltoall=True, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0})
B, H, F, E, EP, DP, MP = 128, 128, 256, 8, 4, 4, 2


class Experts(nn.Cell):
    """Tokens to E experts by a soft choice: every expert has its share of the tokens, AllToAll between."""
    def __init__(self, h, f):
        super().__init__()
        self.choose = Parameter(initializer("normal", [h, E], ms.float32), name="choose")
        self.up = Parameter(initializer("normal", [E, h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [E, f, h], ms.float32), name="down")
        self.gate = ops.MatMul().shard(((DP, 1), (1, 1)))
        self.soft = ops.Softmax().shard(((DP, 1),))
        self.spread = ops.BatchMatMul(transpose_a=True).shard(((DP, 1, 1), (DP, 1, 1)))
        self.first = ops.BatchMatMul().shard(((EP, 1, 1), (EP, 1, MP)))
        self.act = ops.ReLU().shard(((EP, 1, MP),))
        self.second = ops.BatchMatMul().shard(((EP, 1, MP), (EP, MP, 1)))
        self.fetch = ops.BatchMatMul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.turn = ops.Transpose().shard(((DP, 1, 1),))
        self.back = ops.Transpose().shard(((EP, 1, 1),))
        self.reshape = ops.Reshape()
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        gate = self.reshape(self.soft(self.gate(x, self.choose)), (DP, -1, E))
        y = self.spread(gate, self.reshape(x, (DP, -1, H)))
        y = self.turn(y, (1, 0, 2))
        y = self.second(self.act(self.first(y, self.up)), self.down)
        y = self.back(y, (1, 0, 2))
        return self.add(x, self.reshape(self.fetch(gate, y), (-1, H)))


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
        self.blocks = nn.CellList([Ffn(H, F), Experts(H, F), Ffn(H, F), Experts(H, F)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i // 2
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
