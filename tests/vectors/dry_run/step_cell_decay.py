"""A Cell of one's own that asks for value and gradients, data parallel, weight decay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='data_parallel', gradients_mean=True)


class Step(nn.Cell):
    def __init__(self, net, opt):
        super().__init__()
        self.net, self.opt = net, opt
        self.grad = ops.value_and_grad(net, None, opt.parameters)
        self.reducer = nn.DistributedGradReducer(opt.parameters)

    def construct(self, x, y):
        loss, grads = self.grad(x, y)
        return ops.depend(loss, self.opt(self.reducer(grads)))


net = nn.WithLossCell(nn.SequentialCell(nn.Dense(64, 256), nn.GELU(), nn.Dense(256, 12)), nn.MSELoss())
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=1e-3)
step = Step(net, opt)
step.set_train()
step(Tensor(np.ones([16, 64]).astype(np.float32)), Tensor(np.ones([16, 12]).astype(np.float32)))
print('done')
