"""Embedding table used by the first and the last of four stages."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=4)
B, S, H, F, V, DP, MP = 16, 32, 128, 512, 2048, 2, 2


class Ffn(nn.Cell):
    """Two products with GeLU between them; the input is added."""
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


class Front(nn.Cell):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.look = ops.Gather().shard(((1, 1), (DP, 1)))
        self.reshape = ops.Reshape()
        self.layer = Ffn(H, F)

    def construct(self, ids):
        return self.layer(self.reshape(self.look(self.table, ids, 0), (-1, H)))


class Back(nn.Cell):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.layer = Ffn(H, F)
        self.head = ops.MatMul(transpose_b=True).shard(((DP, 1), (1, 1)))
        self.soft = ops.LogSoftmax().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        return self.mean(self.soft(self.head(self.layer(x), self.table)))


class Net(nn.Cell):
    """The table of the first stage is the head of the last one."""
    def __init__(self):
        super().__init__()
        table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.front, self.back = Front(table), Back(table)
        self.front.pipeline_stage = 0
        self.back.pipeline_stage = 3
        self.one, self.two = Ffn(H, F), Ffn(H, F)
        self.one.pipeline_stage, self.two.pipeline_stage = 1, 2

    def construct(self, ids):
        return self.back(self.two(self.one(self.front(ids))))


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["ids"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
