"""nn.Embedding, nn.LayerNorm, nn.Dense with GELU, data parallel, Adam, Model with labels."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Model
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, S, H, V = 4, 16, 128, 500


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(V, H), nn.LayerNorm((H,))
        self.a, self.b, self.gelu, self.drop = nn.Dense(H, 4 * H), nn.Dense(4 * H, H), nn.GELU(), nn.Dropout(p=0.1)
        self.pool, self.head = nn.Dense(H, H, activation="tanh"), nn.Dense(H, 2)

    def construct(self, ids):
        x = self.norm(self.table(ids))
        x = x + self.drop(self.b(self.gelu(self.a(x))))
        return self.head(self.pool(x[:, 0]))


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-4)
data = ds.GeneratorDataset(rows, ["x", "y"])
Model(net, loss_fn=nn.CrossEntropyLoss(), optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
