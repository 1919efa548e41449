"""Click rates: nn.Embedding tables cut by rows and columns, factorised pairs, dense layers; Adam."""
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
B, FIELDS, V, D = 64, 16, 4096, 32


class Dense(nn.Cell):
    def __init__(self, i, o, act):
        super().__init__()
        self.w, self.b = Parameter(initializer("normal", [i, o]), name="w"), Parameter(initializer("zeros", [o]), name="b")
        self.mm, self.add = ops.MatMul().shard(((8, 1), (1, 1))), ops.BiasAdd().shard(((8, 1), (1,)))
        self.relu, self.act = ops.ReLU().shard(((8, 1),)), act

    def construct(self, x):
        y = self.add(self.mm(x, self.w), self.b)
        return self.relu(y) if self.act else y


class DeepFm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.wide = Parameter(initializer("normal", [V, 1]), name="wide")
        self.deep = Parameter(initializer("normal", [V, D]), name="deep")
        self.look1, self.look2 = ops.Gather().shard(((8, 1), (1, 1))), ops.Gather().shard(((8, 1), (1, 1)))
        self.mul = ops.Mul().shard(((8, 1, 1), (8, 1, 1)))
        self.sum, self.sum3 = ops.ReduceSum().shard(((8, 1),)), ops.ReduceSum().shard(((8, 1, 1),))
        self.square, self.square3, self.sub = ops.Square().shard(((8, 1),)), ops.Square().shard(((8, 1, 1),)), ops.Sub().shard(((8, 1), (8, 1)))
        self.half = ops.Mul().shard(((8, 1), ()))
        self.l1, self.l2, self.l3 = Dense(FIELDS * D, 128, True), Dense(128, 64, True), Dense(64, 1, False)
        self.add, self.reshape = ops.Add().shard(((8, 1), (8, 1))), ops.Reshape()
        self.keep = ops.ReduceSum(keep_dims=True).shard(((8, 1),))
        self.loss = ops.SigmoidCrossEntropyWithLogits().shard(((8, 1), (8, 1)))
        self.mean = ops.ReduceMean().shard(((8, 1),))

    def construct(self, ids, weights, label):
        w = self.reshape(weights, (B, FIELDS, 1))
        linear = self.sum3(self.mul(self.look1(self.wide, ids, 0), w), 1)
        v = self.mul(self.look2(self.deep, ids, 0), w)
        pairs = self.half(self.sub(self.square(self.sum3(v, 1)), self.sum3(self.square3(v), 1)), 0.5)
        deep = self.l3(self.l2(self.l1(self.reshape(v, (B, FIELDS * D)))))
        logits = self.add(self.add(linear, self.keep(pairs, 1)), deep)
        return self.mean(self.loss(logits, label))


def rows():
    for _ in range(2):
        yield np.ones([B, FIELDS]).astype(np.int32), np.ones([B, FIELDS]).astype(np.float32), np.ones([B, 1]).astype(np.float32)


net = DeepFm()
opt = nn.Adam(net.trainable_params(), 1e-3, loss_scale=1024.0)
step = nn.TrainOneStepCell(net, opt, sens=1024.0)
Model(step).train(1, ds.GeneratorDataset(rows, ["ids", "weights", "label"]), dataset_sink_mode=False)
print('done')
