"""mindspore.profiler: a dry run executes nothing, so there is nothing to profile; every call is accepted."""
import enum

from mindspore._drydock.lazy import module_getattr


class ProfilerLevel(enum.Enum):
    LevelNone, Level0, Level1, Level2 = "LevelNone", "Level0", "Level1", "Level2"


class ProfilerActivity(enum.Enum):
    CPU, NPU, GPU = "CPU", "NPU", "GPU"


class AicoreMetrics(enum.Enum):
    AiCoreNone, ArithmeticUtilization, PipeUtilization = "AiCoreNone", "ArithmeticUtilization", "PipeUtilization"
    Memory, MemoryL0, ResourceConflictRatio = "Memory", "MemoryL0", "ResourceConflictRatio"
    MemoryUB, L2Cache, MemoryAccess = "MemoryUB", "L2Cache", "MemoryAccess"


class ExportType(enum.Enum):
    Text, Db = "text", "db"


class Profiler:
    """See mindspore.profiler.profile; also used with `with`."""

    def __init__(self, *args, **kwargs):
        return None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def start(self):
        return None

    def stop(self):
        return None

    def step(self):
        return None

    def analyse(self, *args, **kwargs):
        return None

    def add_metadata(self, key, value):
        return None


profile = DynamicProfilerMonitor = _ExperimentalConfig = Profiler


def _accepted(*args, **kwargs):
    return None


schedule = tensorboard_trace_handler = tensor_board_trace_handler = _accepted


class mstx:
    """Marks of a time line."""

    mark = staticmethod(_accepted)
    range_start = staticmethod(lambda *args, **kwargs: 0)
    range_end = staticmethod(_accepted)


__getattr__ = module_getattr(__name__)
