"""Attention whose keys and values go around a ring of four ranks in exchanges; heads stand before the sequence."""
import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.communication import init
from mindspore.ops.operations.nn_ops import FlashAttentionScore

HEADS, LENGTH, HIDDEN = 8, 4096, 512

ms.set_context(mode=ms.GRAPH_MODE)
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        weight = np.ones((HIDDEN, HIDDEN), np.float16)
        self.query = Parameter(Tensor(weight), name="query")
        self.key = Parameter(Tensor(weight), name="key")
        self.value = Parameter(Tensor(weight), name="value")
        self.out = Parameter(Tensor(weight), name="out")
        self.product = ops.MatMul().shard(((4, 1), (1, 1)))
        self.attention = FlashAttentionScore(head_num=HEADS, input_layout="BNSD", scale_value=0.125)
        self.attention.shard(((1, 1, 4, 1), (1, 1, 4, 1), (1, 1, 4, 1)))
        self.attention.add_prim_attr("enable_ring_attention", True)
        self.to_heads = ops.Transpose().shard(((1, 4, 1, 1),))
        self.to_rows = ops.Transpose().shard(((1, 1, 4, 1),))
        self.mean = ops.ReduceMean().shard(((4, 1),))

    def heads(self, x):
        return self.to_heads(x.reshape(1, LENGTH, HEADS, HIDDEN // HEADS), (0, 2, 1, 3))

    def construct(self, x):
        query = self.heads(self.product(x, self.query))
        key = self.heads(self.product(x, self.key))
        value = self.heads(self.product(x, self.value))
        attended = self.attention(query, key, value, None, None, None, None, None)[3]
        attended = self.to_rows(attended, (0, 2, 1, 3)).reshape(LENGTH, HIDDEN)
        return self.mean(self.product(attended, self.out))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
print(step(Tensor(np.ones((LENGTH, HIDDEN)), ms.float16)))
