"""Wrappers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.wrap.cell_wrapper import (TrainOneStepCell, VirtualDatasetCellTriple, WithEvalCell,  # noqa: F401
                                            WithLossCell, _VirtualDatasetCell)
from mindspore.nn.wrap.loss_scale import (DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell,  # noqa: F401
                                           TrainOneStepWithLossScaleCell)
from mindspore.nn.wrap.micro_batch import (GradAccumulation, GradAccumulationCell,  # noqa: F401
                                            MicroBatchInterleaved, PipelineCell, PipelineGradReducer, _MicroBatch)
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer  # noqa: F401

__getattr__ = module_getattr(__name__, {"_TrainGradAccuStepCell": "mindspore.nn.wrap.more_wrappers",
                                        "_TrainGradAccuWithLossScaleCell": "mindspore.nn.wrap.more_wrappers",
                                        "_BroadCastCell": "mindspore.nn.wrap.more_wrappers"})
