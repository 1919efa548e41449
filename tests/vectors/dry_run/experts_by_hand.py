"""Mixture of experts by hand: top-2 gate, one-hot dispatch, batched experts cut over ranks, auxiliary loss; semi_auto."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
T, H, E, C = 256, 64, 8, 80


class Moe(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gate = Parameter(initializer("normal", [H, E], ms.float32), name="gate")
        self.up = Parameter(initializer("normal", [E, H, 128], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [E, 128, H], ms.float32), name="down")
        self.gmm = ops.MatMul().shard(((8, 1), (1, 1)))
        self.bmm1 = ops.BatchMatMul().shard(((8, 1, 1), (8, 1, 1)))
        self.bmm2 = ops.BatchMatMul().shard(((8, 1, 1), (8, 1, 1)))
        self.cumsum = ops.CumSum()
        self.topk = ops.TopK()
        self.gelu = ops.GeLU().shard(((8, 1, 1),))

    def construct(self, x):
        p = ops.softmax(self.gmm(x, self.gate), -1)
        v, i = self.topk(p, 2)
        mask = ops.one_hot(i, E, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        order = self.cumsum(mask.sum(1), 0) - 1.0
        keep = ops.cast(order < C, ms.float32)
        w = (mask * v.expand_dims(-1)).sum(1) * keep
        slot = ops.one_hot(ops.cast(order, ms.int32), C, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        d = slot * (w > 0).astype(ms.float32).expand_dims(-1)
        y = ops.matmul(d.transpose(1, 2, 0).reshape(-1, T), x).reshape(E, C, H)
        y = self.bmm2(self.gelu(self.bmm1(y, self.up)), self.down)
        c = (d * w.expand_dims(-1)).reshape(T, -1)
        z = ops.matmul(c, y.reshape(-1, H))
        aux = (p.mean(0) * mask.sum(1).mean(0)).sum() * E
        return ops.reduce_mean(ops.square(z)) + 0.01 * aux


net = Moe()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([T // 8, H]), ms.float32))
print('done')
