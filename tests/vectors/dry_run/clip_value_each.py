"""Each gradient clipped by value; SGD with dampening."""
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

class Step(nn.Cell):
    def __init__(self, net, opt):
        super().__init__(auto_prefix=False)
        self.net, self.opt, self.weights = net, opt, opt.parameters
        self.grad = ops.GradOperation(get_by_list=True)
        self.reduce = nn.DistributedGradReducer(self.weights)
        self.map = ops.HyperMap()

    def construct(self, x, y):
        loss = self.net(x, y)
        grads = self.reduce(self.grad(self.net, self.weights)(x, y))
        grads = self.map(ops.partial(clip), grads)
        return ops.depend(loss, self.opt(grads))


clip = ops.MultitypeFuncGraph("clip")


@clip.register("Tensor")
def _clip(g):
    return ops.clip_by_value(g, Tensor(-1.0, ms.float32), Tensor(1.0, ms.float32))


net = nn.WithLossCell(nn.SequentialCell(nn.Dense(64, 128), nn.Tanh(), nn.Dense(128, 4)), nn.L1Loss())
opt = nn.SGD(net.trainable_params(), 0.1, momentum=0.9, dampening=0.1)
step = Step(net, opt)
step.set_train()
step(Tensor(np.ones([16, 64]), ms.float32), Tensor(np.ones([16, 4]), ms.float32))
print('done')
