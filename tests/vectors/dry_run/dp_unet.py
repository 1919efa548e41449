"""U-Net: down, up by Conv2dTranspose, skips joined by Concat; BatchNorm; data parallel."""
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


class Double(nn.Cell):
    def __init__(self, i, o):
        super().__init__()
        self.seq = nn.SequentialCell(nn.Conv2d(i, o, 3), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3), nn.BatchNorm2d(o), nn.ReLU())

    def construct(self, x):
        return self.seq(x)


class UNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = Double(3, 16), Double(16, 32), Double(32, 64)
        self.pool = nn.MaxPool2d(2, 2)
        self.up2, self.u2 = nn.Conv2dTranspose(64, 32, 2, stride=2), Double(64, 32)
        self.up1, self.u1 = nn.Conv2dTranspose(32, 16, 2, stride=2), Double(32, 16)
        self.out = nn.Conv2d(16, 2, 1, has_bias=True)

    def construct(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.mid(self.pool(b))
        y = self.u2(ops.concat((self.up2(c), b), 1))
        y = self.u1(ops.concat((self.up1(y), a), 1))
        return self.out(y)


class Loss(nn.Cell):
    def construct(self, logits, label):
        return ops.mean(ops.square(ops.softmax(logits, axis=1) - label))


def rows():
    for _ in range(2):
        yield np.ones([4, 3, 32, 32]).astype(np.float32), np.ones([4, 2, 32, 32]).astype(np.float32)


net = UNet()
opt = nn.Adam(net.trainable_params(), 1e-3, weight_decay=1e-4)
Model(net, loss_fn=Loss(), optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
