"""Slices, joins, stacks, selects, powers, clipping of values; data parallel."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 16, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(initializer("normal", [H, 2 * H], ms.float32), name="w")
        self.v = Parameter(initializer("normal", [H], ms.float32), name="v")

    def construct(self, x):
        y = ops.matmul(x, self.w)
        a, b = y[:, :H], y[:, H:]
        z = ops.concat((ops.sigmoid(a) * b, ops.tanh(b)), 1)
        z = ops.select(z > 0, z, ops.exp(z) - 1.0)
        z = ops.stack((z[:, ::2], z[:, 1::2]), 0)
        z = ops.clip_by_value(z, -1.0, 1.0) ** 2
        return ops.reduce_sum(ops.transpose(z, (1, 0, 2)) * ops.rsqrt(ops.abs(self.v) + 1e-6))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
