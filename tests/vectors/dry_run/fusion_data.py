"""comm_fusion in data parallel mode by size."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, comm_fusion={'allreduce': {'mode': 'size', 'config': 1}})
B, H = 32, 512


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Dense(H, 512), nn.Dense(512, 512), nn.Dense(512, 16)
        self.act = nn.ReLU()

    def construct(self, x):
        return ops.ReduceMean()(self.c(self.act(self.b(self.act(self.a(x))))))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
