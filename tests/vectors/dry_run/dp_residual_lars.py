"""Residual blocks, LARS over SGD, all gradients in one AllReduce."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, comm_fusion={"allreduce": {"mode": "auto", "config": None}})


class Residual(nn.Cell):
    def __init__(self, c):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(c, c, 3), nn.Conv2d(c, c, 3)
        self.b1, self.b2, self.relu = nn.BatchNorm2d(c), nn.BatchNorm2d(c), nn.ReLU()

    def construct(self, x):
        return self.relu(x + self.b2(self.c2(self.relu(self.b1(self.c1(x))))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 24, 7, 2, has_bias=True), nn.SequentialCell(*[Residual(24) for _ in range(2)])
        self.head, self.loss = nn.Dense(24, 12), nn.CrossEntropyLoss()

    def construct(self, x, y):
        x = self.blocks(self.stem(x))
        return self.loss(self.head(x.mean(axis=(2, 3))), y)


net = Net()
opt = nn.LARS(nn.SGD(net.trainable_params(), 0.1, momentum=0.9), epsilon=1e-5, lars_filter=lambda p: "bias" not in p.name)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([6, 3, 32, 32]), ms.float32), Tensor(np.ones([6]), ms.int32))
print('done')
