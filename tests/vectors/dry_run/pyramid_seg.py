"""Segmentation with a feature pyramid: bilinear and nearest resizing, max pools, dice loss plus cross entropy with ignored index; Lamb."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, K = 2, 8


class Conv(nn.SequentialCell):
    def __init__(self, i, o, s=1):
        super().__init__(nn.Conv2d(i, o, 3, s), nn.BatchNorm2d(o), nn.ReLU())


class Fpn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Conv(3, 16), Conv(16, 32, 2), Conv(32, 64, 2)
        self.la, self.lb, self.lc = nn.Conv2d(16, 32, 1), nn.Conv2d(32, 32, 1), nn.Conv2d(64, 32, 1)
        self.head = nn.Conv2d(32, K, 1, has_bias=True)

    def construct(self, x, y):
        a = self.a(x)
        b = self.b(a)
        c = self.c(b)
        pc = self.lc(c)
        pb = self.lb(b) + ops.interpolate(pc, size=(16, 16), mode="nearest")
        pa = self.la(a) + ops.interpolate(pb, size=(32, 32), mode="bilinear", align_corners=True)
        z = self.head(pa)
        ce = ops.cross_entropy(z, y, ignore_index=255)
        p = ops.softmax(z, 1)
        t = ops.one_hot(y, K, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32), 1)
        inter, total = (p * t).sum((2, 3)), p.sum((2, 3)) + t.sum((2, 3))
        return ce + 1 - ((2 * inter + 1) / (total + 1)).mean()


net = Fpn()
step = nn.TrainOneStepCell(net, nn.Lamb(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, 3, 32, 32]), ms.float32), Tensor(np.zeros([B, 32, 32]), ms.int32))
print('done')
