"""Strategies that differ from operator to operator, so that layouts change between them; a head by words; SGD; 16 ranks."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, V = 64, 256, 512, 1024


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = Parameter(initializer("normal", [H, F]), name="w1"), Parameter(initializer("normal", [F, H]), name="w2")
        self.w3, self.g, self.b = Parameter(initializer("normal", [V, H]), name="w3"), Parameter(initializer("ones", [H]), name="g"), Parameter(initializer("zeros", [H]), name="b")
        self.m1, self.act = ops.MatMul().shard(((4, 2), (2, 2))), ops.Tanh().shard(((8, 2),))
        self.m2, self.norm = ops.MatMul().shard(((2, 8), (8, 1))), ops.LayerNorm().shard(((16, 1), (1,), (1,)))
        self.m3 = ops.MatMul(transpose_b=True).shard(((2, 1), (8, 1)))
        self.soft = ops.SoftmaxCrossEntropyWithLogits().shard(((16, 1), (16, 1)))
        self.hot, self.mean = ops.OneHot().shard(((16, 1), (), ())), ops.ReduceMean().shard(((16,),))
        self.on, self.off = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)

    def construct(self, x, labels):
        y = self.m2(self.act(self.m1(x, self.w1)), self.w2)
        y = self.norm(y, self.g, self.b)[0]
        return self.mean(self.soft(self.m3(y, self.w3), self.hot(labels, V, self.on, self.off))[0])


net = Net()
opt = nn.SGD(net.trainable_params(), 0.1, momentum=0.9, weight_decay=1e-4)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32), Tensor(np.ones([B]), ms.int32))
print('done')
