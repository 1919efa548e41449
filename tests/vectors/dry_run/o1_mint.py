"""Level O1: mint operators in data parallel mode."""
import numpy as np
import mindspore as ms
from mindspore import nn, Tensor
from mindspore import mint
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = mint.nn.Linear(H, 512), mint.nn.LayerNorm([512]), mint.nn.Linear(512, 16, bias=False)

    def construct(self, x):
        y = mint.nn.functional.gelu(self.norm(self.a(x)))
        y = mint.nn.functional.softmax(self.b(y), dim=-1)
        return mint.mean(mint.sum(mint.mul(y, y), dim=-1))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
