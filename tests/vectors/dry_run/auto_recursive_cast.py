"""recursive_programming, a gated block in half precision with RmsNorm."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="recursive_programming", full_batch=True)
B, H, F = 128, 1024, 2048


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gate = Parameter(initializer("normal", [H, F], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [H, F], ms.float32), name="down")
        self.norm = Parameter(initializer("ones", [H], ms.float32), name="norm")
        self.matmul, self.turned, self.rms = ops.MatMul(), ops.MatMul(transpose_b=True), ops.RmsNorm()
        self.cast, self.silu = ops.Cast(), nn.SiLU()

    def half(self, x):
        return self.cast(x, ms.float16)

    def construct(self, x):
        y = self.half(self.rms(x, self.norm)[0])
        y = self.silu(self.matmul(y, self.half(self.gate))) * self.matmul(y, self.half(self.up))
        y = self.turned(y, self.half(self.down))
        return ops.ReduceMean()(ops.square(x + self.cast(y, ms.float32)))


net = Net()
step = nn.TrainOneStepCell(net, nn.AdamWeightDecay(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print("done")
