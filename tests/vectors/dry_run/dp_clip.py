"""Each gradient is clipped by its own norm; the cell of a step is the user's, 4 ranks."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 16, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 512), nn.Dense(512, H)
        self.elu = nn.ELU()

    def construct(self, x):
        return ops.ReduceMean()(ops.abs(self.b(self.elu(self.a(x)))))


class Step(nn.Cell):
    def __init__(self, net, opt):
        super().__init__(auto_prefix=False)
        self.net, self.opt, self.weights = net, opt, opt.parameters
        self.grad = ops.GradOperation(get_by_list=True)
        self.reduce = nn.DistributedGradReducer(self.weights, True, 4)

    def construct(self, x):
        loss = self.net(x)
        grads = self.reduce(self.grad(self.net, self.weights)(x))
        clipped = ()
        for g in grads:
            clipped += (ops.clip_by_norm(g, 1.0),)
        return ops.depend(loss, self.opt(clipped))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = Step(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
