# jit_level: O0
"""Two cells that say themselves what their backward pass is, as losses of large vocabularies do: semi_auto_parallel 2 x 4.

The first keeps its logarithm of softmax and hands on what comes back; the second makes probabilities minus labels of it. Backward has
no sums over classes, and the numbers of the classes are cut.
"""
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, full_batch=True, gradients_mean=False)
DP, MP = 2, 4


class LogSoftmax(nn.Cell):
    def __init__(self):
        super().__init__()
        self.max = ops.ReduceMax(keep_dims=True).shard(((DP, MP),))
        self.sub = ops.Sub().shard(((DP, MP), (DP, 1)))
        self.exp = ops.Exp().shard(((DP, MP),))
        self.sum = ops.ReduceSum(keep_dims=True).shard(((DP, MP),))
        self.log = ops.Log().shard(((DP, 1),))

    def construct(self, x):
        moved = self.sub(x, self.max(x, -1))
        return self.sub(moved, self.log(self.sum(self.exp(moved), -1)))

    def bprop(self, x, out, dout):
        return (dout * 1.5,)


class Picked(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul().shard(((DP, MP), (DP, MP)))
        self.sum = ops.ReduceSum().shard(((DP, MP),))

    def construct(self, logarithms, labels):
        return self.sum(self.mul(logarithms, labels), -1)

    def bprop(self, logarithms, labels, out, dout):
        return (ops.exp(logarithms) - labels) * ops.expand_dims(dout, -1), ops.zeros_like(labels)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = ms.Parameter(Tensor(np.ones((512, 1024)), ms.float32), name="first")
        self.second = ms.Parameter(Tensor(np.ones((1024, 4096)), ms.float32), name="second")
        self.matmul = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.relu = ops.ReLU().shard(((DP, MP),))
        self.matmul2 = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.softmax, self.picked = LogSoftmax(), Picked()
        self.cut = ops.ReLU().shard(((DP, MP),))  # bprop() works on slices as they come into the cell
        self.neg, self.mean = ops.Neg().shard(((DP,),)), ops.ReduceMean().shard(((DP,),))

    def construct(self, x, labels):
        y = self.matmul2(self.relu(self.matmul(x, self.first)), self.second)
        return self.mean(self.neg(self.picked(self.softmax(y), self.cut(labels))))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
x, labels = Tensor(np.ones((128, 512)), ms.float32), Tensor(np.ones((128, 4096)), ms.float32)
for _ in range(2):
    step(x, labels)
