"""StridedSlice, Stack, Concat, Split, Tile along uncut dimensions."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(initializer("normal", [96, 96], ms.float32), name="w")
        self.v = Parameter(initializer("normal", [1, 96], ms.float32), name="v")
        self.mm = ops.MatMul().shard(((4, 1), (1, 2)))
        self.split = ops.Split(1, 3).shard(((8, 1),))
        self.stack = ops.Stack(axis=1).shard(((8, 1), (8, 1), (8, 1)))
        self.join = ops.Concat(axis=-1).shard(((8, 1, 1), (8, 1, 1)))
        self.cut = ops.StridedSlice().shard(((8, 1, 1),))
        self.tile, self.add = ops.Tile().shard(((1, 1),)), ops.Add().shard(((8, 1), (8, 1)))
        self.sum = ops.ReduceSum().shard(((8, 1, 1),))
        self.relu = ops.ReLU().shard(((8, 1, 1),))

    def construct(self, x):
        y = self.add(self.mm(x, self.w), self.tile(self.v, (64, 1)))
        a, b, c = self.split(y)
        z = self.stack((c, a, b))
        z = self.join((z, self.relu(z)))
        return self.sum(self.cut(z, (0, 0, 16), (64, 2, 48), (1, 1, 1)))


net = Net()
opt = nn.SGD(net.trainable_params(), 0.1)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([64, 96]), ms.float32))
print('done')
