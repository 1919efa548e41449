"""Convolutions cut by batch and channels, then a dense head, 16 ranks."""
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
        self.w1 = Parameter(initializer("normal", [32, 16, 3, 3], ms.float32), name="w1")
        self.w2 = Parameter(initializer("normal", [64, 32, 1, 1], ms.float32), name="w2")
        self.fc = Parameter(initializer("normal", [64, 10], ms.float32), name="fc")
        self.c1 = ops.Conv2D(32, 3, pad_mode="same").shard(((4, 1, 1, 1), (4, 1, 1, 1)))
        self.c2 = ops.Conv2D(64, 1).shard(((4, 4, 1, 1), (1, 4, 1, 1)))
        self.relu = ops.ReLU().shard(((4, 4, 1, 1),))
        self.pool = ops.MaxPool(kernel_size=2, strides=2).shard(((16, 1, 1, 1),))
        self.mean, self.mm = ops.ReduceMean().shard(((16, 1, 1, 1),)), ops.MatMul().shard(((16, 1), (1, 1)))
        self.sum = ops.ReduceSum().shard(((16, 1),))

    def construct(self, x):
        x = self.pool(self.c2(self.relu(self.c1(x, self.w1)), self.w2))
        return self.sum(self.mm(self.mean(x, (2, 3)), self.fc))


net = Net()
opt = nn.RMSProp(net.trainable_params(), 0.01)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([32, 16, 8, 8]), ms.float32))
print('done')
