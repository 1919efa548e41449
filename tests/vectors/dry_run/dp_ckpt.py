"""Checkpoints in data parallel mode, nothing is gathered."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Model
from mindspore.train import ModelCheckpoint, CheckpointConfig, LossMonitor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, H = 32, 256


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.relu = nn.Dense(H, 512), nn.Dense(512, 10), nn.ReLU()

    def construct(self, x):
        return self.b(self.relu(self.a(x)))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.SGD(net.trainable_params(), 0.1, momentum=0.9)
data = ds.GeneratorDataset(rows, ["x", "y"])
save = ModelCheckpoint(prefix="net", directory="./checkpoints", config=CheckpointConfig(save_checkpoint_steps=1))
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, data, callbacks=[save, LossMonitor()], dataset_sink_mode=False)
print('done')
