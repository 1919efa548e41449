"""Two towers, normalised, one temperature, symmetric cross entropy; Adam; data parallel, the step is a function."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

B, D = 16, 64


class Text(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(512, 128), nn.LayerNorm((128,))
        self.a, self.b, self.out = nn.Dense(128, 256), nn.Dense(256, 128), nn.Dense(128, D, has_bias=False)

    def construct(self, ids):
        x = self.words(ids)
        x = x + self.b(ops.gelu(self.a(self.norm(x))))
        return self.out(x.mean(1))


class Image(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1, self.c2, self.out = nn.Conv2d(3, 32, 3, stride=2), nn.Conv2d(32, 64, 3, stride=2), nn.Dense(64, D, has_bias=False)
        self.n1, self.n2 = nn.BatchNorm2d(32), nn.BatchNorm2d(64)

    def construct(self, x):
        x = ops.relu(self.n1(self.c1(x)))
        x = ops.relu(self.n2(self.c2(x)))
        return self.out(x.mean((2, 3)))


class Clip(nn.Cell):
    def __init__(self):
        super().__init__()
        self.text, self.image = Text(), Image()
        self.scale = Parameter(Tensor(2.65, ms.float32), name="scale")
        self.labels = Tensor(np.arange(B), ms.int32)
        self.l2 = ops.L2Normalize(axis=-1)

    def construct(self, ids, pixels):
        t, i = self.l2(self.text(ids)), self.l2(self.image(pixels))
        logits = ops.exp(self.scale) * ops.matmul(t, i.T)
        return (ops.cross_entropy(logits, self.labels) + ops.cross_entropy(logits.T, self.labels)) / 2


net = Clip()
net.set_train()
opt = nn.Adam(net.trainable_params(), 1e-3)
reducer = nn.DistributedGradReducer(opt.parameters)
grad = ms.value_and_grad(net, None, opt.parameters)


@ms.jit
def step(ids, pixels):
    loss, grads = grad(ids, pixels)
    opt(reducer(grads))
    return loss


step(Tensor(np.ones([B, 16]), ms.int32), Tensor(np.ones([B, 3, 32, 32]), ms.float32))
print('done')
