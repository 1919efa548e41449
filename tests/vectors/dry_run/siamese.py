"""Siamese net with contrastive loss, cosine similarity, L2 normalisation, PReLU; Adagrad."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 128


class Tower(nn.Cell):
    def __init__(self):
        super().__init__()
        self.f1, self.f2 = nn.Dense(H, 256), nn.Dense(256, 64)
        self.act = nn.PReLU(256)
        self.norm = ops.L2Normalize(axis=1)

    def construct(self, x):
        return self.norm(self.f2(self.act(self.f1(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.tower = Tower()
        self.margin = 0.5

    def construct(self, a, b, y):
        u, v = self.tower(a), self.tower(b)
        d = ops.sqrt(ops.reduce_sum(ops.square(u - v), 1) + 1e-8)
        pos = y * ops.square(d)
        neg = (1 - y) * ops.square(ops.maximum(self.margin - d, Tensor(0.0, ms.float32)))
        return ops.reduce_mean(pos + neg)


net = Net()
step = nn.TrainOneStepCell(net, nn.Adagrad(net.trainable_params(), learning_rate=0.05))
step.set_train()
x = Tensor(np.ones([B, H]), ms.float32)
for _ in range(2):
    step(x, x, Tensor(np.ones([B]), ms.float32))
print('done')
