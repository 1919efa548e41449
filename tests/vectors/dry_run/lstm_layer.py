"""nn.LSTM of the framework, two layers, bidirectional, last state to classes; Adam."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, T, H = 8, 6, 32


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(H, 48, num_layers=2, has_bias=True, batch_first=True, bidirectional=True)
        self.out = nn.Dense(96, 5)
        self.h = Tensor(np.zeros([4, B, 48]), ms.float32)

    def construct(self, x, y):
        z, _ = self.rnn(x, (self.h, self.h))
        return ops.cross_entropy(self.out(z[:, -1]), y)


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, T, H]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
