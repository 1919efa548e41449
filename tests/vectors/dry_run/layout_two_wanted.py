"""One result wanted in three layouts."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True)
B, H = 64, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = [Parameter(initializer("normal", [H, H], ms.float32), name="w%d" % i) for i in range(4)]
        self.a, self.b, self.c, self.d = self.w
        self.w = None
        self.m0 = ops.MatMul().shard(((2, 1), (1, 4)))
        self.m1 = ops.MatMul().shard(((2, 1), (1, 4)))
        self.m2 = ops.MatMul().shard(((8, 1), (1, 1)))
        self.m3 = ops.MatMul().shard(((1, 1), (1, 8)))
        self.tanh = ops.Tanh().shard(((2, 4),))
        self.add = ops.Add().shard(((2, 4), (2, 4)))
        self.mean = ops.ReduceMean().shard(((8, 1),))

    def construct(self, x):
        y = self.tanh(self.m0(x, self.a))
        z = self.add(self.m1(y, self.b), self.m2(y, self.c))
        return self.mean(self.add(z, self.m3(y, self.d)))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
