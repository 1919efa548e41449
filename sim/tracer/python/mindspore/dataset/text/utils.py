"""mindspore.dataset.text.utils."""
from mindspore._drydock.lazy import module_getattr
from mindspore.dataset.text import TruncateSequencePair, Vocab, to_bytes, to_str  # noqa: F401

__getattr__ = module_getattr("mindspore.dataset.text")
