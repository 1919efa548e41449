"""masked_fill, tril, Select, Pad, cumsum and a stopped gradient."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Dense(64, 64), nn.Dense(64, 64)
        self.mask = Tensor(np.tril(np.ones([32, 32])), ms.bool_)
        self.pad = nn.Pad(((0, 0), (1, 1), (0, 0)))

    def construct(self, x):
        s = ops.bmm(self.q(x), ops.transpose(self.k(x), (0, 2, 1)))
        s = ops.masked_fill(s, ops.logical_not(self.mask), -1e4)
        p = ops.Softmax(-1)(s)
        y = self.pad(ops.bmm(p, x))
        y = ops.cumsum(y, 1)
        return ops.ReduceMean()(ops.select(y > 1, y, ops.stop_gradient(y * 2)))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3, use_amsgrad=True)

step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([4, 32, 64]), ms.float32))
print('done')
