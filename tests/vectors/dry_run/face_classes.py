"""Face recognition head: classes cut over ranks, normalised weights, margin on the target logit by scatter of one hot, cross entropy; semi_auto."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
B, D, K = 64, 128, 1024


class Head(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(initializer("normal", [K, D], ms.float32), name="w")
        self.norm_w = ops.L2Normalize(1).shard(((8, 1),))
        self.norm_x = ops.L2Normalize(1).shard(((1, 1),))
        self.mm = ops.MatMul(transpose_b=True).shard(((1, 1), (8, 1)))
        self.hot = ops.OneHot().shard(((1, 8), (), ()))
        self.sub = ops.Sub().shard(((1, 8), (1, 8)))
        self.mul1, self.mul2 = ops.Mul().shard(((1, 8), ())), ops.Mul().shard(((1, 8), ()))
        self.loss = ops.SoftmaxCrossEntropyWithLogits().shard(((1, 1), (1, 1)))
        self.on, self.off = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, x, y):
        c = self.mm(self.norm_x(x), self.norm_w(self.w))
        t = self.hot(y, K, self.on, self.off)
        z = self.mul1(self.sub(c, self.mul2(t, 0.5)), 64.0)
        loss, _ = self.loss(z, t)
        return ops.reduce_mean(loss)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(256, D), nn.ReLU())
        self.head = Head()

    def construct(self, x, y):
        return self.head(self.body(x), y)


net = Net()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(np.ones([B // 8, 256]), ms.float32), Tensor(np.zeros([B // 8]), ms.int32))
print('done')
