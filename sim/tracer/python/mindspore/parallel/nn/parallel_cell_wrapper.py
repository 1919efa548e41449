"""The same cells under the reference's module name."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.wrap.micro_batch import (GradAccumulation, MicroBatchInterleaved, Pipeline, PipelineCell,  # noqa: F401
                                            PipelineGradReducer, _MicroBatch)

__getattr__ = module_getattr(__name__)
