"""Convolutions by groups with bias, GroupNorm, average pool, data parallel, AdamWeightDecay."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B = 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 32, 5, stride=2, has_bias=True, pad_mode="pad", padding=2)
        self.c2 = nn.Conv2d(32, 32, 3, group=32)
        self.norm, self.pool, self.act = nn.GroupNorm(8, 32), nn.AvgPool2d(2, 2), nn.ReLU6()
        self.head = nn.Dense(32 * 8 * 8, 10)

    def construct(self, x):
        x = self.act(self.norm(self.c2(self.c1(x))))
        return ops.ReduceMean()(self.head(ops.reshape(self.pool(x), (B, -1))))


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, 3, 32, 32]).astype(np.float32)))
print('done')
