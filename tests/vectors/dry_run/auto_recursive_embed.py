"""recursive_programming, a table that a Gather and a MatMul share, labels by OneHot."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="recursive_programming", full_batch=True)
V, B, S, H = 512, 16, 32, 128


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.gather, self.matmul = ops.Gather(), ops.MatMul(transpose_b=True)
        self.mix = nn.Dense(H, H, activation="relu")
        self.norm = nn.LayerNorm((H,))
        self.onehot, self.on, self.off = ops.OneHot(), Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, ids, label):
        x = ops.reshape(self.gather(self.table, ids, 0), (-1, H))
        x = self.norm(x + self.mix(x))
        logits = self.matmul(x, self.table)
        target = self.onehot(ops.reshape(label, (-1,)), V, self.on, self.off)
        return ops.ReduceMean()(ops.log_softmax(logits, -1) * target)


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
ids, label = (Tensor(np.ones([B, S]).astype(np.int32)) for _ in range(2))
step(ids, label)
print("done")
