"""Tagger: embedding, LSTM written with cells over time, dropout, masked sparse cross entropy; Adam with exponential decay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, T, V, H, K = 8, 12, 1000, 96, 10


class Tagger(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(V, H)
        self.cell = nn.LSTMCell(H, H)
        self.drop, self.out = nn.Dropout(p=0.2), nn.Dense(H, K)

    def construct(self, ids, tags, mask):
        x = self.words(ids)
        h = ops.zeros((ids.shape[0], H), ms.float32)
        c = ops.zeros((ids.shape[0], H), ms.float32)
        outs = []
        for t in range(T):
            h, c = self.cell(x[:, t], (h, c))
            outs.append(h)
        y = self.out(self.drop(ops.stack(outs, 1))).reshape(-1, K)
        loss = ops.cross_entropy(y, tags.reshape(-1), reduction="none")
        m = mask.reshape(-1)
        return (loss * m).sum() / m.sum()


net = Tagger()
rate = nn.exponential_decay_lr(1e-3, 0.9, 20, 10, 1)
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), rate))
step.set_train()
i = Tensor(np.zeros([B, T]), ms.int32)
for _ in range(2):
    step(i, i, Tensor(np.ones([B, T]), ms.float32))
print('done')
