"""Level O1, data parallel, LayerNorm and softmax, AdamWeightDecay."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O1"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Dense(H, 512), nn.LayerNorm((512,)), nn.Dense(512, 64)

    def construct(self, x):
        return ops.ReduceMean()(ops.square(ops.softmax(self.b(ops.relu(self.norm(self.a(x)))))))


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
