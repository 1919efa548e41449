"""Video net: 3-d convolutions, 3-d pools, batch norm 3d, global mean; SGD."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B = 2


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv3d(3, 16, 3), nn.BatchNorm3d(16)
        self.p1 = nn.MaxPool3d(2, 2)
        self.c2, self.p2 = nn.Conv3d(16, 32, 3, has_bias=True), nn.AvgPool3d(2, 2)
        self.fc = nn.Dense(32, 11)

    def construct(self, x, y):
        x = self.p1(ops.relu(self.n1(self.c1(x))))
        x = self.p2(ops.relu(self.c2(x)))
        return ops.cross_entropy(self.fc(x.mean((2, 3, 4))), y)


net = Net()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.01, momentum=0.9, nesterov=True))
step.set_train()
step(Tensor(np.ones([B, 3, 8, 32, 32]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
