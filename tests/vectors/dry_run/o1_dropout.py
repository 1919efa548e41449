"""Level O1: Dropout on attention weights and behind the layer, by nn.Dropout; data parallel."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, S, H, NH = 4, 64, 256, 8


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Dense(H, H), nn.Dense(H, H), nn.Dense(H, H), nn.Dense(H, H)
        self.d1, self.d2 = nn.Dropout(p=0.1), nn.Dropout(p=0.1)
        self.soft = nn.Softmax()
        self.mm, self.mt = ops.BatchMatMul(), ops.BatchMatMul(transpose_b=True)

    def heads(self, x):
        return ops.transpose(ops.reshape(x, (B, S, NH, H // NH)), (0, 2, 1, 3))

    def construct(self, x):
        p = self.d1(self.soft(self.mt(self.heads(self.q(x)), self.heads(self.k(x))) * (H // NH) ** -0.5))
        y = ops.transpose(self.mm(p, self.heads(self.v(x))), (0, 2, 1, 3))
        return ops.ReduceMean()(self.d2(self.o(ops.reshape(y, (B, S, H)))) + x)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, S, H]).astype(np.float32)))
print('done')
