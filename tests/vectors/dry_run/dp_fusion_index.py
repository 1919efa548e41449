"""all_reduce_fusion_config in data parallel mode, Adam, biases."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, all_reduce_fusion_config=[2, 4])
B, H = 32, 512


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Dense(H, 256), nn.Dense(256, 256), nn.Dense(256, 16)
        self.act = nn.Tanh()

    def construct(self, x):
        return ops.ReduceSum()(self.c(self.act(self.b(self.act(self.a(x))))))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
