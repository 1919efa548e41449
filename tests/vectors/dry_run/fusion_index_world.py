"""Fused by index in the world group: every weight whole, the batch cut by sixteen."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", comm_fusion={"allreduce": {"mode": "index", "config": [2, 5]}})


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.ParameterTuple([Parameter(initializer("normal", [128, 128], ms.float32), name="w%d" % i) for i in range(7)])
        self.mm, self.act = ops.MatMul().shard(((16, 1), (1, 1))), ops.Tanh().shard(((16, 1),))
        self.mean = ops.ReduceMean().shard(((16, 1),))

    def construct(self, x):
        for w in self.w:
            x = self.act(self.mm(x, w))
        return self.mean(x)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, use_nesterov=True)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([8, 128]), ms.float32))
print('done')
