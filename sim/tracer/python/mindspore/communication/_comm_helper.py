"""Internal names that user code imports."""
from mindspore._drydock.lazy import module_getattr
from mindspore.communication.management import GlobalComm, _is_initialized  # noqa: F401


class Backend:
    HCCL, NCCL, MCCL = "hccl", "nccl", "mccl"


__getattr__ = module_getattr(__name__)
