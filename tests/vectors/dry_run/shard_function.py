"""mindspore.parallel.shard of a function that the script calls: a graph of its own."""
import numpy as np
import mindspore as ms
from mindspore.communication import init
from mindspore.parallel import shard

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="sharding_propagation", dataset_strategy="full_batch")


def added(x, y):
    return x + y


x = ms.Tensor(np.ones((32, 12)), ms.float32)
y = ms.Tensor(np.ones((32, 12)), ms.float32)
print(shard(added, in_strategy=((4, 2), (4, 2)))(x, y).shape)
print('done')
