"""Attention whose keys and values go around a ring of four ranks as messages; one sample."""
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
        self.attention = FlashAttentionScore(head_num=HEADS, input_layout="BSH", scale_value=0.125)
        self.attention.shard(((1, 4, 1), (1, 4, 1), (1, 4, 1)))
        self.attention.add_prim_attr("enable_ring_attention", True)
        self.attention.add_prim_attr("enable_ra_send_recv", True)
        self.mean = ops.ReduceMean().shard(((4, 1),))

    def construct(self, x):
        query = self.product(x, self.query).reshape(1, LENGTH, HIDDEN)
        key = self.product(x, self.key).reshape(1, LENGTH, HIDDEN)
        value = self.product(x, self.value).reshape(1, LENGTH, HIDDEN)
        attended = self.attention(query, key, value, None, None, None, None, None)[3]
        return self.mean(self.product(attended.reshape(LENGTH, HIDDEN), self.out))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
print(step(Tensor(np.ones((LENGTH, HIDDEN)), ms.float16)))
