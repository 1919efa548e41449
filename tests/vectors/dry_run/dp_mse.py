"""nn.MSELoss by WithLossCell, RMSProp, two data sets' columns."""
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 64, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 256, activation="sigmoid"), nn.Dense(256, 1)

    def construct(self, x):
        return self.b(self.a(x))


net = nn.WithLossCell(Net(), nn.MSELoss())
opt = nn.RMSProp(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)), Tensor(np.ones([B, 1]).astype(np.float32)))
print('done')
