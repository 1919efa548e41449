"""Memory bank: parameter updated by scatter_update and scatter_nd_update, queue pointer by assign_add, info NCE loss; momentum encoder."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, D, K = 16, 64, 256


class Enc(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(128, 128), nn.ReLU(), nn.Dense(128, D))

    def construct(self, x):
        return ops.L2Normalize(-1)(self.body(x))


class Moco(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k = Enc(), Enc()
        for p in self.k.get_parameters():
            p.requires_grad = False
        self.queue = Parameter(initializer("normal", [K, D], ms.float32), name="queue", requires_grad=False)
        self.pos = Tensor(np.arange(B), ms.int32)

    def construct(self, a, b):
        q = self.q(a)
        k = ops.stop_gradient(self.k(b))
        pos = (q * k).sum(-1, keepdims=True)
        neg = ops.matmul(q, self.queue.T)
        logits = ops.concat((pos, neg), 1) / 0.07
        loss = ops.cross_entropy(logits, ops.zeros((B,), ms.int32))
        return ops.depend(loss, ops.scatter_update(self.queue, self.pos, k))


net = Moco()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.03, 0.9))
step.set_train()
x = Tensor(np.ones([B, 128]), ms.float32)
step(x, x)
step(x, x)
print('done')
