"""Reshape across cut dimensions, transposes, Adadelta."""
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
        self.w = Parameter(initializer("normal", [64, 192], ms.float32), name="w")
        self.v = Parameter(initializer("normal", [16, 48], ms.float32), name="v")
        self.m1 = ops.MatMul().shard(((2, 1), (1, 4)))
        self.m2 = ops.BatchMatMul().shard(((4, 2, 1), (4, 1, 1))) if False else ops.MatMul().shard(((8, 1), (1, 1)))
        self.turn = ops.Transpose().shard(((2, 1, 4),))
        self.exp, self.sum = ops.Exp().shard(((8, 1),)), ops.ReduceSum().shard(((8, 1),))
        self.reshape = ops.Reshape()

    def construct(self, x):
        y = self.reshape(self.m1(x, self.w), (32, 12, 16))
        y = self.reshape(self.turn(y, (1, 0, 2)), (-1, 16))
        return self.sum(self.exp(self.m2(y, self.v)))


net = Net()
opt = nn.Adadelta(net.trainable_params())

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([32, 64]), ms.float32))
print('done')
