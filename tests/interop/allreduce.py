"""A job without any word of Drydock: joins, adds rank + 1 over all ranks, prints the sum."""

import os
import time

import numpy as np

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import get_group_size, get_rank, init

if os.environ.get("ENABLE_SSL"):
    ms.set_ps_context(enable_ssl=True, config_file_path=os.environ["TLS_CONFIG"],
                      client_password=os.environ["TLS_PASSWORD"],
                      server_password=os.environ["TLS_PASSWORD"])
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.all_reduce = ops.AllReduce()

    def construct(self, x):
        return self.all_reduce(x)


total = Sum()(Tensor(np.full((2,), get_rank() + 1, np.float32)))
print("RESULT", get_rank(), get_group_size(), total.asnumpy().tolist(), flush=True)
while os.environ.get("WAIT_FOR") and not os.path.exists(os.environ["WAIT_FOR"]):
    time.sleep(0.1)
print("END OF SCRIPT", flush=True)
