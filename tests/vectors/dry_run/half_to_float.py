"""to_float(float16) on Dense layers, data parallel, loss scale in the optimizer."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(H, 1024).to_float(ms.float16), nn.Dense(1024, H).to_float(ms.float16)
        self.norm, self.act = nn.LayerNorm((H,)), nn.GELU()

    def construct(self, x):
        return ops.ReduceMean()(self.norm(ops.cast(self.b(self.act(self.a(x))), ms.float32)))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=256.0)
step = nn.TrainOneStepCell(net, opt, sens=256.0)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
