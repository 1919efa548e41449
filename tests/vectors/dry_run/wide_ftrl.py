"""FTRL with l1 over a cut table and a linear head."""
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

class Wide(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [4096, 32], ms.float32), name="table")
        self.w = Parameter(initializer("normal", [32, 8], ms.float32), name="w")
        self.gather = ops.Gather().shard(((8, 1), (1, 1)))
        self.sum = ops.ReduceSum().shard(((8, 1, 1),))
        self.mm = ops.MatMul().shard(((8, 1), (1, 1)))
        self.sig = ops.Sigmoid().shard(((8, 1),))
        self.mean = ops.ReduceMean().shard(((8, 1),))

    def construct(self, ids):
        return self.mean(self.sig(self.mm(self.sum(self.gather(self.table, ids, 0), 1), self.w)))


net = Wide()
opt = nn.FTRL(net.trainable_params(), learning_rate=0.05, l1=1e-3, l2=1e-4)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.zeros([64, 26]), ms.int32))
print('done')
