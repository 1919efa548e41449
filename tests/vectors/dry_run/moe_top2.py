"""Experts chosen twice per token by TopK, dispatched by products with masks; expert dimension cut."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
T, H, F, E, DP, EP = 64, 128, 256, 8, 8, 8


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gate = Parameter(initializer("normal", [H, E], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [E, H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [E, F, H], ms.float32), name="down")
        self.score, self.soft = ops.MatMul().shard(((DP, 1), (1, 1))), ops.Softmax().shard(((DP, 1),))
        self.top = ops.TopK().shard(((DP, 1),))
        self.hot = ops.OneHot().shard(((DP, 1, 1), (), ()))
        self.weigh = ops.Mul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.sum = ops.ReduceSum().shard(((DP, 1, 1),))
        self.turn = ops.Transpose().shard(((DP, 1),))
        self.spread = ops.Mul().shard(((EP, 1, 1), (1, 1)))
        self.first = ops.BatchMatMul().shard(((EP, 1, 1), (EP, 1, 1)))
        self.act = ops.GeLU().shard(((EP, 1, 1),))
        self.second = ops.BatchMatMul().shard(((EP, 1, 1), (EP, 1, 1)))
        self.join = ops.ReduceSum().shard(((EP, 1, 1),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))
        self.expand = ops.ExpandDims().shard(((DP, 1),))
        self.expand_experts = ops.ExpandDims().shard(((EP, 1),))

    def construct(self, x):
        p = self.soft(self.score(x, self.gate))
        values, chosen = self.top(p, 2)
        hot = self.hot(chosen, E, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        weights = self.sum(self.weigh(hot, self.expand(values, -1)), 1)
        to = self.spread(self.expand_experts(self.turn(weights, (1, 0)), -1), x)
        y = self.join(self.second(self.act(self.first(to, self.up)), self.down), 0)
        return self.mean(self.square(self.add(x, y)))


def rows():
    for _ in range(2):
        yield (np.ones([T, H]).astype(np.float32),)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
