"""Binary cross entropy with logits, L1 and Smooth L1 losses together, Adagrad."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 64, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 64), nn.Dense(64, 8)
        self.bce, self.l1, self.smooth = nn.BCEWithLogitsLoss(), nn.L1Loss(), nn.SmoothL1Loss(reduction="mean")

    def construct(self, x, y):
        h = ops.leaky_relu(self.a(x), 0.1)
        z = self.b(h)
        return self.bce(z, y) + 0.5 * self.l1(z, y) + 0.1 * self.smooth(z, y)


net = Net()
opt = nn.Adagrad(net.trainable_params(), learning_rate=1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)), Tensor(np.ones([B, 8]).astype(np.float32)))
print('done')
