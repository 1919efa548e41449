"""Flash attention with rows of all heads (BSH), float16."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, S, H, NH, DP, MP = 2, 128, 256, 4, 2, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.wq = Parameter(initializer("normal", [H, H], ms.float16), name="wq")
        self.wk = Parameter(initializer("normal", [H, H], ms.float16), name="wk")
        self.wv = Parameter(initializer("normal", [H, H], ms.float16), name="wv")
        self.wo = Parameter(initializer("normal", [H, H], ms.float16), name="wo")
        self.mq, self.mk, self.mv = [ops.MatMul().shard(((DP, 1), (1, MP))) for _ in range(3)]
        self.mo = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.reshape, self.cast = ops.Reshape(), ops.Cast()
        self.flash = ops.operations.nn_ops.FlashAttentionScore(head_num=NH, input_layout="BSH", scale_value=0.125).shard(((DP, 1, MP), (DP, 1, MP), (DP, 1, MP)))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        x = self.cast(x, ms.float16)
        q, k, v = [self.reshape(m(x, w), (B, S, H)) for m, w in ((self.mq, self.wq), (self.mk, self.wk), (self.mv, self.wv))]
        _, _, _, y = self.flash(q, k, v, None, None, None, None)
        return self.mean(self.cast(self.mo(self.reshape(y, (B * S, H)), self.wo), ms.float32))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B * S, H]).astype(np.float32)))
print('done')
