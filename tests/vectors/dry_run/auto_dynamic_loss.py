"""dynamic_programming, a residual block and a cross entropy with labels."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="dynamic_programming", dataset_strategy="data_parallel")
B, H, F, C = 64, 256, 512, 32


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Dense(H, F), nn.Dense(F, H), nn.Dense(H, C)
        self.act, self.loss = nn.ReLU(), nn.SoftmaxCrossEntropyWithLogits(reduction="mean")

    def construct(self, x, label):
        return self.loss(self.head(x + self.b(self.act(self.a(x)))), label)


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)), Tensor(np.ones([B, C]).astype(np.float32)))
print("done")
