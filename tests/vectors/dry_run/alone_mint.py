"""mint layers on one of eight ranks, stand-alone, AdamWeightDecay."""
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
from mindspore import mint
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="stand_alone")
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = mint.nn.Linear(H, 512), mint.nn.Linear(512, H)

    def construct(self, x):
        return mint.mean(mint.square(self.b(mint.nn.functional.silu(self.a(x)))))


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
