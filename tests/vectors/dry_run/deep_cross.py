"""Deep and cross network: embedding tables cut by columns, cross layers, sigmoid cross entropy, Lazy Adam for tables and FTRL; semi_auto."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
B, F, V, D = 64, 8, 4096, 16


class Dcn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, D], ms.float32), name="table")
        self.gather = ops.Gather().shard(((8, 1), (1, 1)))
        W = F * D
        self.cw = ms.ParameterTuple([Parameter(initializer("normal", [W, 1], ms.float32), name="cw%d" % i) for i in range(2)])
        self.cb = ms.ParameterTuple([Parameter(initializer("zeros", [W], ms.float32), name="cb%d" % i) for i in range(2)])
        self.deep = nn.SequentialCell(nn.Dense(W, 256, activation="relu"), nn.Dense(256, 64, activation="relu"))
        self.out = nn.Dense(W + 64, 1)
        self.loss = ops.SigmoidCrossEntropyWithLogits()

    def construct(self, ids, y):
        x0 = self.gather(self.table, ids, 0).reshape(-1, F * D)
        x = x0
        for w, b in zip(self.cw, self.cb):
            x = x0 * ops.matmul(x, w) + b + x
        z = self.out(ops.concat((x, self.deep(x0)), 1))
        return ops.reduce_mean(self.loss(z, y))


net = Dcn()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3), sens=1024.0)
step.set_train()
step(Tensor(np.zeros([B, F]), ms.int32), Tensor(np.ones([B, 1]), ms.float32))
print('done')
