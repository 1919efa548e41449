"""nn.MultiheadAttention and nn.TransformerEncoderLayer of the framework; mean loss; Adam."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
T, B, H = 16, 4, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(H, 4, 256, dropout=0.0, batch_first=True), 2)
        self.out = nn.Dense(H, 10)

    def construct(self, x, y):
        return ops.cross_entropy(self.out(self.enc(x).mean(1)), y)


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, T, H]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
