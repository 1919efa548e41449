"""A network of two matrix products, cut over 8 ranks: one strategy is given, the others follow.

    msrun --sim_level=1 --worker_num=8 net.py
"""
import random

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, ops
from mindspore.common.initializer import initializer
from mindspore.communication import get_rank, init
from mindspore.nn import Cell, Momentum, MSELoss
from mindspore.train import LossMonitor, Model, ModelCheckpoint

STEPS_PER_EPOCH = 4
BATCH_PER_RANK = 2
IN_DIM = 32
HIDDEN_DIM = 16
OUT_DIM = 16
EPOCHS = 5


def random_tensor(rows, columns):
    return ms.Tensor([[random.random() for _ in range(columns)] for _ in range(rows)], ms.float32)


def get_dataset(batch_size, in_dim, out_dim, steps):
    """Random rows; every row is a whole batch."""
    random.seed(1)
    inputs = random_tensor(batch_size, in_dim)
    labels = random_tensor(batch_size, out_dim)

    def generate():
        for _ in range(steps):
            yield inputs, labels

    return generate


class Net(Cell):
    """x -> relu(x W) W2."""

    def __init__(self, in_dim, hidden_dim, out_dim):
        super().__init__()
        self.weight = Parameter(initializer("normal", [in_dim, hidden_dim]), "w")
        self.weight2 = Parameter(initializer("normal", [hidden_dim, out_dim]), "w2")
        # The batch is cut in 2, the contracted dimension in 4: each rank holds a quarter of the
        # columns of x and of the rows of W, and the partial products are summed over 4 ranks.
        self.matmul = ops.MatMul().shard(((2, 4), (4, 1)))
        self.relu = ops.ReLU()
        self.matmul2 = ops.MatMul()

    def construct(self, x):
        out = self.matmul(x, self.weight)
        out = self.relu(out)
        return self.matmul2(out, self.weight2)


ms.set_context(mode=ms.GRAPH_MODE, device_target="GPU", save_graphs=2, save_graphs_path="./saved_graph")
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.AUTO_PARALLEL,
                             search_mode="sharding_propagation", dataset_strategy="data_parallel")
ms.set_algo_parameters(fully_use_devices=True)
init("nccl")
rank = get_rank()

dataset = ds.GeneratorDataset(get_dataset(BATCH_PER_RANK, IN_DIM, OUT_DIM, STEPS_PER_EPOCH), ["input", "label"])
net = Net(IN_DIM, HIDDEN_DIM, OUT_DIM)
optimizer = Momentum(net.trainable_params(), learning_rate=0.2, momentum=0.1)
model = Model(net, loss_fn=MSELoss(), optimizer=optimizer)
model.train(EPOCHS, dataset, callbacks=[LossMonitor(), ModelCheckpoint(directory="./checkpoints/{}".format(rank))],
            dataset_sink_mode=False)
