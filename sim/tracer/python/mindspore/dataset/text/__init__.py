"""Texts: tables of words and what looks words up in them. What cuts a text into words has as many as the text says: Unsupported."""
import enum
import os

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation
from mindspore.dataset.rows import Column

__all__ = ["AddToken", "CaseFold", "FilterWikipediaXML", "JiebaMode", "Lookup", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer", "RegexReplace",
           "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel", "SlidingWindow", "ToNumber", "Truncate",
           "TruncateSequencePair", "Vocab", "to_bytes", "to_str"]


class Vocab:
    """Words and their numbers, in the order of a list, a dict or the lines of a file."""

    def __init__(self):
        self._numbers = {}

    @classmethod
    def _of(cls, words, special_tokens, special_first):
        special = list(special_tokens or ())
        ordered = special + list(words) if special_first else list(words) + special
        if len(set(ordered)) != len(ordered):
            twice = next(word for number, word in enumerate(ordered) if word in ordered[:number])
            raise user_error(ValueError, "Vocab:twice", "a Vocab holds every word once, but %r is there twice" % (twice,))
        made = cls()
        made._numbers = {word: number for number, word in enumerate(ordered)}
        return made

    @classmethod
    def from_list(cls, word_list, special_tokens=None, special_first=True):
        return cls._of(word_list, special_tokens, special_first)

    @classmethod
    def from_file(cls, file_path, delimiter="", vocab_size=None, special_tokens=None, special_first=True):
        """A word a line, up to the delimiter."""
        if not os.path.isfile(file_path):
            raise user_error(RuntimeError, "Vocab:file", "there is no file '%s'" % file_path)
        with open(file_path, encoding="utf-8") as file:
            words = [line.rstrip("\r\n") for line in file]
        words = [word.split(delimiter)[0] if delimiter else word for word in words]
        return cls._of(words[:vocab_size], special_tokens, special_first)

    @classmethod
    def from_dict(cls, word_dict):
        made = cls()
        made._numbers = dict(word_dict)
        return made

    @classmethod
    def from_dataset(cls, dataset, columns=None, freq_range=None, top_k=None, special_tokens=None, special_first=True):
        """Only the special words: rows of a dry run hold no text."""
        return cls._of((), special_tokens, special_first)

    def vocab(self):
        return dict(self._numbers)

    def tokens_to_ids(self, tokens):
        return self._numbers.get(tokens, -1) if isinstance(tokens, str) else [self._numbers.get(word, -1) for word in tokens]

    def ids_to_tokens(self, ids):
        words = {number: word for word, number in self._numbers.items()}
        return words.get(ids, "") if isinstance(ids, int) else [words.get(number, "") for number in ids]


class Lookup(Operation):
    """Words as their numbers."""

    def __init__(self, vocab, unknown_token=None, data_type=mstype.int32):
        if not isinstance(vocab, Vocab):
            raise user_error(TypeError, "Lookup:vocab", "Lookup takes a Vocab, not %s" % type(vocab).__name__)
        if unknown_token is not None and unknown_token not in vocab.vocab():
            raise user_error(RuntimeError, "Lookup:unknown_token", "%r is not in the Vocab" % (unknown_token,))
        self._dtype = mstype.dtype_of(data_type)

    def columns(self, inputs):
        return [Column(c.shape, self._dtype) for c in inputs]


class PythonTokenizer(Operation):
    """A function of the script that cuts a text."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def columns(self, inputs):
        return [Column.of(self._tokenizer("")) for _ in inputs]


class TruncateSequencePair(Operation):
    """Two rows that are shortened, the longer one first, until both together have a length."""

    def __init__(self, max_length):
        self._length = max_length

    def columns(self, inputs):
        first, second = (c.shape[0] for c in inputs)
        while first + second > self._length:
            first, second = (first - 1, second) if first > second else (first, second - 1)
        return [Column((length,), c.dtype) for length, c in zip((first, second), inputs)]


class JiebaMode(enum.IntEnum):
    """Ways to cut a text."""

    MIX, MP, HMM = range(3)


class NormalizeForm(enum.IntEnum):
    """Forms of UTF-8."""

    NONE, NFC, NFKC, NFD, NFKD = range(5)


class SentencePieceModel(enum.IntEnum):
    """Ways to cut words."""

    UNIGRAM, BPE, CHAR, WORD = range(4)


class SPieceTokenizerLoadType(enum.IntEnum):
    """Where a model comes from."""

    FILE, MODEL = range(2)


class SPieceTokenizerOutType(enum.IntEnum):
    """Pieces as texts or as numbers."""

    STRING, INT = range(2)


class _Text(Operation):
    """Another text in the place of each."""

    def __init__(self, *args, **kwargs):
        return None


CaseFold, FilterWikipediaXML, NormalizeUTF8, RegexReplace = (
    type(name, (_Text,), {"__module__": __name__, "__doc__": "See mindspore.dataset.text.%s." % name})
    for name in ("CaseFold", "FilterWikipediaXML", "NormalizeUTF8", "RegexReplace"))


class ToNumber(Operation):
    """Texts as the numbers that they say."""

    def __init__(self, data_type):
        self._dtype = mstype.dtype_of(data_type)

    def columns(self, inputs):
        return [Column(c.shape, self._dtype) for c in inputs]


class Truncate(Operation):
    """Rows that are no longer than a length."""

    def __init__(self, max_seq_len):
        self._length = max_seq_len

    def columns(self, inputs):
        return [Column(c.shape[:-1] + (min(c.shape[-1], self._length),), c.dtype) for c in inputs]


class AddToken(Operation):
    """One word more at the begin or at the end of a row."""

    def __init__(self, token, begin=True):
        if not isinstance(token, str):
            raise user_error(TypeError, "AddToken:token", "token of AddToken must be a text, not %r" % (token,))

    def columns(self, inputs):
        return [Column(c.shape[:-1] + (c.shape[-1] + 1,), c.dtype) for c in inputs]


class SlidingWindow(Operation):
    """Every part of a row of the given width."""

    def __init__(self, width, axis=0):
        self._width = width

    def columns(self, inputs):
        return [Column((max(c.shape[0] - self._width + 1, 0), self._width), c.dtype) for c in inputs]


def to_str(array, encoding="utf8"):
    """Bytes of an array as text."""
    import numpy
    return numpy.char.decode(array, encoding)


def to_bytes(array, encoding="utf8"):
    """Text of an array as bytes."""
    import numpy
    return numpy.char.encode(array, encoding)


__getattr__ = module_getattr(__name__)
