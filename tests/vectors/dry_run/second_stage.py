"""Second stage of a detector: ROI align, box regression decoded, IoU loss by minimum and maximum, gathers by index; SGD with groups."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, C, R = 2, 64, 32


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, C, 7, 4), nn.BatchNorm2d(C, use_batch_statistics=False), nn.ReLU())
        self.roi = ops.ROIAlign(7, 7, 0.25, 2)
        self.fc, self.cls, self.box = nn.Dense(C * 49, 256), nn.Dense(256, 5), nn.Dense(256, 4)

    def construct(self, x, rois, label, target):
        f = self.roi(self.stem(x), rois).reshape(rois.shape[0], -1)
        h = ops.relu(self.fc(f))
        d = self.box(h)
        cx, cy, w, hh = ops.split(d, 1, 1)
        x1, y1, x2, y2 = cx - ops.exp(w) / 2, cy - ops.exp(hh) / 2, cx + ops.exp(w) / 2, cy + ops.exp(hh) / 2
        tx1, ty1, tx2, ty2 = target[:, 0:1], target[:, 1:2], target[:, 2:3], target[:, 3:4]
        iw = ops.clamp(ops.minimum(x2, tx2) - ops.maximum(x1, tx1), 0.0, None)
        ih = ops.clamp(ops.minimum(y2, ty2) - ops.maximum(y1, ty1), 0.0, None)
        inter = iw * ih
        union = (x2 - x1) * (y2 - y1) + (tx2 - tx1) * (ty2 - ty1) - inter
        iou = inter / (union + 1e-6)
        return ops.cross_entropy(self.cls(h), label) + (1 - iou).mean()


net = Net()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.02, weight_decay=1e-4))
step.set_train()
step(Tensor(np.ones([B, 3, 64, 64]), ms.float32), Tensor(np.zeros([R, 5]), ms.float32), Tensor(np.zeros([R]), ms.int32), Tensor(np.ones([R, 4]), ms.float32))
print('done')
