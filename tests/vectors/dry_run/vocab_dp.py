"""A table by ops.Gather with its rows cut, LayerNorm, sums; semi-automatic."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, V, DP, MP = 8, 16, 256, 8192, 4, 2


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.look = ops.Gather().shard(((MP, 1), (DP, 1)))
        self.gamma = Parameter(initializer("ones", [H], ms.float32), name="gamma")
        self.norm = ops.RmsNorm().shard(((DP, 1, 1), (1,)))
        self.mean = ops.ReduceMean().shard(((DP, 1, 1),))

    def construct(self, ids):
        return self.mean(self.norm(self.look(self.table, ids, 0), self.gamma)[0])


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, S]).astype(np.int32)))
print('done')
