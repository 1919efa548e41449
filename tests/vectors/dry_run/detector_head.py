"""Detection head: anchors, class and box branches, smooth L1 with masks, focal loss, hard negatives by TopK; Momentum."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, C, A, K = 4, 64, 6, 21


class Head(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.cls = nn.Conv2d(C, A * K, 3, pad_mode="same")
        self.box = nn.Conv2d(C, A * 4, 3, pad_mode="same")

    def construct(self, f):
        b = f.shape[0]
        c = self.cls(f).transpose(0, 2, 3, 1).reshape(b, -1, K)
        r = self.box(f).transpose(0, 2, 3, 1).reshape(b, -1, 4)
        return c, r


class Ssd(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU6(),
                                      nn.Conv2d(32, C, 3, 2), nn.BatchNorm2d(C), nn.ReLU6())
        self.down = nn.SequentialCell(nn.Conv2d(C, C, 3, 2), nn.BatchNorm2d(C), nn.ReLU6())
        self.h1, self.h2 = Head(16), Head(8)
        self.smooth = nn.SmoothL1Loss(reduction="none")

    def construct(self, x, box, label):
        f1 = self.stem(x)
        f2 = self.down(f1)
        c1, r1 = self.h1(f1)
        c2, r2 = self.h2(f2)
        c, r = ops.concat((c1, c2), 1), ops.concat((r1, r2), 1)
        mask = ops.cast(label > 0, ms.float32)
        count = ops.maximum(mask.sum(), Tensor(1.0, ms.float32))
        loc = (self.smooth(r, box).sum(-1) * mask).sum()
        logp = ops.log_softmax(c, -1)
        ce = -ops.gather_elements(logp, 2, ops.expand_dims(label, -1)).squeeze(-1)
        neg = ce * (1 - mask)
        top, _ = ops.topk(neg, 100)
        return (loc + (ce * mask).sum() + top.sum()) / count


def rows():
    for _ in range(2):
        yield (np.ones([B, 3, 64, 64], np.float32), np.ones([B, 1920, 4], np.float32), np.ones([B, 1920], np.int32))


net = Ssd()
opt = nn.Momentum(net.trainable_params(), 0.01, 0.9, weight_decay=5e-4)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "b", "l"]), dataset_sink_mode=False)
print('done')
