"""Sound: what transforms of waves do to the form of a column."""
import enum
import math

from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation
from mindspore.dataset.rows import Column


class MelType(enum.Enum):
    """Scales of mel filters."""

    HTK, SLANEY = "htk", "slaney"


class NormType(enum.Enum):
    """Norms of mel filters."""

    NONE, SLANEY = "none", "slaney"


class _SameForm(Operation):
    def __init__(self, *args, **kwargs):
        return None


def _filter(name):
    return type(name, (_SameForm,), {"__module__": __name__, "__doc__": "See mindspore.dataset.audio.%s." % name})


HighpassBiquad, LowpassBiquad, AllpassBiquad, BandBiquad, BandpassBiquad, BandrejectBiquad, BassBiquad, TrebleBiquad = map(_filter, (
    "HighpassBiquad", "LowpassBiquad", "AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad", "TrebleBiquad"))
Contrast, DCShift, Fade, Gain, Overdrive, Phaser, Vol, AmplitudeToDB, FrequencyMasking, TimeMasking = map(_filter, (
    "Contrast", "DCShift", "Fade", "Gain", "Overdrive", "Phaser", "Vol", "AmplitudeToDB", "FrequencyMasking", "TimeMasking"))


class Resample(Operation):
    """Another number of samples a second."""

    def __init__(self, orig_freq=16000, new_freq=16000, *args, **kwargs):
        self._from, self._to = int(orig_freq), int(new_freq)

    def columns(self, inputs):
        return [Column(c.shape[:-1] + (math.ceil(c.shape[-1] * self._to / self._from),), c.dtype) for c in inputs]


class Spectrogram(Operation):
    """Frequencies times windows."""

    def __init__(self, n_fft=400, win_length=None, hop_length=None, pad=0, window=None, power=2.0, normalized=False, center=True,
                 pad_mode=None, onesided=True):
        self._rows = n_fft // 2 + 1 if onesided else n_fft
        self._size, self._pad, self._center = n_fft, pad, center
        self._hop = hop_length or (win_length or n_fft) // 2

    def columns(self, inputs):
        return [Column(c.shape[:-1] + (self._rows, self._windows(c.shape[-1])), mstype.float32) for c in inputs]

    def _windows(self, samples):
        samples += 2 * self._pad
        return 1 + (samples if self._center else samples - self._size) // self._hop


class MelSpectrogram(Spectrogram):
    """Mel bands times windows."""

    def __init__(self, sample_rate=16000, n_fft=400, win_length=None, hop_length=None, f_min=0.0, f_max=None, pad=0, n_mels=128,
                 window=None, power=2.0, normalized=False, center=True, pad_mode=None, onesided=True, norm=NormType.NONE,
                 mel_scale=MelType.HTK):
        super().__init__(n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided)
        self._rows = n_mels


__getattr__ = module_getattr(__name__)
