"""Experts by ops: softmax router, TopK, one-hot masks, all to all by a change of layout; Adam."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
T, H, F, E, C, DP = 64, 128, 256, 8, 16, 8


class Moe(nn.Cell):
    def __init__(self):
        super().__init__()
        self.router = Parameter(initializer("normal", [H, E]), name="router")
        self.up, self.down = Parameter(initializer("normal", [E, H, F]), name="up"), Parameter(initializer("normal", [E, F, H]), name="down")
        self.mm = ops.BatchMatMul().shard(((DP, 1, 1), (1, 1)))
        self.score, self.soft = ops.MatMul().shard(((DP, 1), (1, 1))), ops.Softmax().shard(((DP, 1),))
        self.top, self.hot = ops.TopK().shard(((DP, 1),)), ops.OneHot().shard(((DP, 1, 1), (), ()))
        self.expand, self.mul = ops.ExpandDims().shard(((DP, 1),)), ops.Mul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.sum = ops.ReduceSum().shard(((DP, 1, 1),))
        self.turn = ops.Transpose().shard(((DP, 1),))
        self.send = ops.MatMul().shard(((1, DP), (DP, 1)))
        self.ones = Tensor(np.ones([E * C, T]) / T, ms.float32)
        self.first, self.second = ops.BatchMatMul().shard(((DP, 1, 1), (DP, 1, 1))), ops.BatchMatMul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.act, self.reshape = ops.ReLU().shard(((DP, 1, 1),)), ops.Reshape()
        self.turn3 = ops.Transpose().shard(((DP, 1, 1),))
        self.back = ops.MatMul().shard(((DP, 1), (1, 1)))
        self.back_mask = Tensor(np.ones([T, E * C]) / C, ms.float32)
        self.weigh, self.add = ops.Mul().shard(((DP, 1), (DP, 1))), ops.Add().shard(((DP, 1), (DP, 1)))
        self.keep = ops.ReduceSum(keep_dims=True).shard(((DP, 1),))

    def construct(self, x):
        p = self.soft(self.score(x, self.router))
        values, chosen = self.top(p, 2)
        hot = self.hot(chosen, E, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        weights = self.sum(self.mul(hot, self.expand(values, -1)), 1)
        sent = self.reshape(self.send(self.ones, x), (E, C, H))
        y = self.second(self.act(self.first(sent, self.up)), self.down)
        y = self.back(self.back_mask, self.reshape(y, (E * C, H)))
        return self.add(x, self.weigh(y, self.keep(weights, 1)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Moe(), Moe()])
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield (np.ones([T, H]).astype(np.float32),)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
