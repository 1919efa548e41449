"""Distillation: frozen teacher in half precision, student with batch norm 1d, KL divergence with temperature; Model with O2 student."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H, K = 32, 128, 20


class Teacher(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(H, 512), nn.ReLU(), nn.Dense(512, K)).to_float(ms.float16)

    def construct(self, x):
        return self.body(x)


class Distil(nn.Cell):
    def __init__(self):
        super().__init__()
        self.teacher = Teacher()
        for p in self.teacher.get_parameters():
            p.requires_grad = False
        self.student = nn.SequentialCell(nn.Dense(H, 64), nn.BatchNorm1d(64), nn.LeakyReLU(), nn.Dense(64, K))
        self.kl = nn.KLDivLoss(reduction="batchmean")
        self.t = 4.0

    def construct(self, x, y):
        s, t = self.student(x), ops.stop_gradient(ops.cast(self.teacher(x), ms.float32))
        soft = self.kl(ops.log_softmax(s / self.t, 1), ops.softmax(t / self.t, 1)) * self.t ** 2
        return 0.7 * soft + 0.3 * ops.nll_loss(ops.log_softmax(s, 1), y)


net = Distil()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), nn.cosine_decay_lr(0.0, 0.1, 20, 10, 2), 0.9))
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32), Tensor(np.zeros([B]), ms.int32))
print('done')
