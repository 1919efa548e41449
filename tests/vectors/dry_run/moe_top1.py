"""Each token goes to its best expert by OneHot, 4 experts on 4 ranks."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
T, H, F, E, DP = 64, 128, 256, 4, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.router = Parameter(initializer("normal", [H, E], ms.float32), name="router")
        self.up = Parameter(initializer("normal", [E, H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [E, F, H], ms.float32), name="down")
        self.route, self.soft = ops.MatMul().shard(((DP, 1), (1, 1))), ops.Softmax().shard(((DP, 1),))
        self.best = ops.ArgMaxWithValue(axis=-1).shard(((DP, 1),))
        self.onehot = ops.OneHot().shard(((DP, 1), (), ()))
        self.turn = ops.Transpose().shard(((DP, 1),))
        self.wide, self.mask = ops.ExpandDims().shard(((1, DP),)), ops.Mul().shard(((E, 1, 1), (1, 1, 1)))
        self.first = ops.BatchMatMul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.act = ops.ReLU().shard(((DP, 1, 1),))
        self.second = ops.BatchMatMul().shard(((DP, 1, 1), (DP, 1, 1)))
        self.sum, self.mean = ops.ReduceSum().shard(((DP, 1, 1),)), ops.ReduceMean().shard(((DP, 1),))
        self.expand = ops.ExpandDims().shard(((1, 1),))
        self.on, self.off = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, x):
        gate = self.soft(self.route(x, self.router))
        index, _ = self.best(gate)
        chosen = self.wide(self.turn(self.onehot(index, E, self.on, self.off), (1, 0)), 2)
        y = self.mask(chosen, self.expand(x, 0))
        y = self.second(self.act(self.first(y, self.up)), self.down)
        return self.mean(self.sum(y, 0))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([T, H]).astype(np.float32)))
print('done')
