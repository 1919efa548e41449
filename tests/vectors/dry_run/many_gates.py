"""Multi gate experts for two tasks, BCE with logits with class weights, embeddings of fields; parameter groups with decay and a rate of their own."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, F, V, D, E = 32, 6, 2000, 16, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.tables = nn.CellList([nn.Embedding(V, D) for _ in range(F)])
        self.experts = nn.CellList([nn.SequentialCell(nn.Dense(F * D, 64), nn.ReLU()) for _ in range(E)])
        self.gates = nn.CellList([nn.Dense(F * D, E) for _ in range(2)])
        self.towers = nn.CellList([nn.SequentialCell(nn.Dense(64, 32), nn.ReLU(), nn.Dense(32, 1)) for _ in range(2)])
        self.w = Tensor(np.ones([1]) * 2, ms.float32)

    def construct(self, ids, y1, y2):
        cols = ops.unstack(ids, 1)
        x = ops.concat([t(c) for t, c in zip(self.tables, cols)], 1)
        e = ops.stack([f(x) for f in self.experts], 1)
        loss = 0
        for gate, tower, y in zip(self.gates, self.towers, (y1, y2)):
            g = ops.softmax(gate(x), -1).expand_dims(1)
            z = tower(ops.bmm(g, e).squeeze(1))
            loss = loss + ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), self.w)
        return loss


net = Net()
decay = [p for p in net.trainable_params() if "bias" not in p.name]
rest = [p for p in net.trainable_params() if "bias" in p.name]
opt = nn.Momentum([{"params": decay, "weight_decay": 1e-4}, {"params": rest, "lr": 0.02}, {"order_params": net.trainable_params()}], 0.01, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
y = Tensor(np.ones([B, 1]), ms.float32)
step(Tensor(np.zeros([B, F]), ms.int32), y, y)
print('done')
