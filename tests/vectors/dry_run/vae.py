"""Variational auto encoder: reparameterised with standard normal, KL term, binary cross entropy; Adam, fixed loss scale manager in Model."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H, Z = 16, 784, 20


class Vae(nn.Cell):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.var = nn.Dense(H, 400), nn.Dense(400, Z), nn.Dense(400, Z)
        self.d1, self.d2 = nn.Dense(Z, 400), nn.Dense(400, H)
        self.normal = ops.StandardNormal()
        self.bce = nn.BCELoss(reduction="sum")

    def construct(self, x):
        h = ops.relu(self.enc(x))
        mu, logvar = self.mu(h), self.var(h)
        z = mu + ops.exp(0.5 * logvar) * self.normal((B, Z))
        y = ops.sigmoid(self.d2(ops.relu(self.d1(z))))
        kl = -0.5 * ops.reduce_sum(1 + logvar - ops.square(mu) - ops.exp(logvar))
        return self.bce(y, x) + kl


net = Vae()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32))
print('done')
