"""Joins; then the rank of FAIL ends with status 3 and the others would stay."""

import os
import time

import mindspore as ms
from mindspore.communication import get_rank, init

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()
print("RESULT", get_rank(), flush=True)
if get_rank() == int(os.environ["FAIL"]):
    time.sleep(1)  # so that the others have joined, too
    print("failed at", time.time(), flush=True)
    os._exit(3)
time.sleep(600)
