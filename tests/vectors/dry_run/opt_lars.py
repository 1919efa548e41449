"""LARS around Momentum, data parallel."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 512), nn.Dense(512, H)
        self.relu = nn.ReLU()

    def construct(self, x):
        return ops.ReduceMean()(ops.square(self.b(self.relu(self.a(x)))))


net = Net()
opt = nn.LARS(nn.Momentum(net.trainable_params(), 0.1, 0.9), epsilon=1e-8, coefficient=0.02)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
