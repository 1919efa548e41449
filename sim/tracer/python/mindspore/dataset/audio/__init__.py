"""Sound: what transforms of waves do to the form of a column."""
import enum
import math

from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation
from mindspore.dataset.rows import Column


def _words(name, *words):
    """A choice of words: its members are their capitals."""
    return enum.Enum(name, [(word.upper(), word) for word in words], type=str, module=__name__)


MelType, NormType = _words("MelType", "htk", "slaney"), _words("NormType", "slaney", "none")
BorderType = _words("BorderType", "constant", "edge", "reflect", "symmetric")
FadeShape = _words("FadeShape", "quarter_sine", "half_sine", "linear", "logarithmic", "exponential")
GainType, Interpolation = _words("GainType", "amplitude", "power", "db"), _words("Interpolation", "linear", "quadratic")
Modulation, NormMode = _words("Modulation", "sinusoidal", "triangular"), _words("NormMode", "ortho", "none")
ResampleMethod = _words("ResampleMethod", "sinc_interpolation", "kaiser_window")
ScaleType = _words("ScaleType", "power", "magnitude")
WindowType = _words("WindowType", "bartlett", "blackman", "hamming", "hann", "kaiser")
DensityFunction = enum.Enum("DensityFunction", [(word, word) for word in ("TPDF", "RPDF", "GPDF")], type=str, module=__name__)


class _SameForm(Operation):
    def __init__(self, *args, **kwargs):
        return None


def _filter(name):
    return type(name, (_SameForm,), {"__module__": __name__, "__doc__": "See mindspore.dataset.audio.%s." % name})


HighpassBiquad, LowpassBiquad, AllpassBiquad, BandBiquad, BandpassBiquad, BandrejectBiquad, BassBiquad, TrebleBiquad = map(_filter, (
    "HighpassBiquad", "LowpassBiquad", "AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad", "TrebleBiquad"))
Contrast, DCShift, Fade, Gain, Overdrive, Phaser, Vol, AmplitudeToDB, FrequencyMasking, TimeMasking = map(_filter, (
    "Contrast", "DCShift", "Fade", "Gain", "Overdrive", "Phaser", "Vol", "AmplitudeToDB", "FrequencyMasking", "TimeMasking"))


Biquad, DeemphBiquad, EqualizerBiquad, RiaaBiquad, LFilter, Filtfilt, Flanger, Dither, PitchShift, DBToAmplitude = map(_filter, (
    "Biquad", "DeemphBiquad", "EqualizerBiquad", "RiaaBiquad", "LFilter", "Filtfilt", "Flanger", "Dither", "PitchShift", "DBToAmplitude"))
ComputeDeltas, SlidingWindowCmn, MaskAlongAxis, MaskAlongAxisIID = map(_filter, (
    "ComputeDeltas", "SlidingWindowCmn", "MaskAlongAxis", "MaskAlongAxisIID"))


class MuLawEncoding(_SameForm):
    """Samples as numbers of steps."""

    def columns(self, inputs):
        return [Column(c.shape, mstype.int32) for c in inputs]


class MuLawDecoding(_SameForm):
    """Numbers of steps as samples."""

    def columns(self, inputs):
        return [Column(c.shape, mstype.float32) for c in inputs]


class Angle(_SameForm):
    """The angle of complex numbers, which are pairs in the last dimension."""

    def columns(self, inputs):
        return [Column(c.shape[:-1], c.dtype) for c in inputs]


class ComplexNorm(Angle):
    """Their size."""


class Magphase(Angle):
    """Both, a column each."""

    def columns(self, inputs):
        return [column for c in inputs for column in (Column(c.shape[:-1], c.dtype),) * 2]


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


class MelScale(Operation):
    """Frequencies as mel bands."""

    def __init__(self, n_mels=128, sample_rate=16000, f_min=0.0, f_max=None, n_stft=201, norm=NormType.NONE, mel_type=MelType.HTK):
        self._rows = n_mels

    def columns(self, inputs):
        return [Column(c.shape[:-2] + (self._rows,) + c.shape[-1:], c.dtype) for c in inputs]


class InverseMelScale(MelScale):
    """Mel bands as frequencies."""

    def __init__(self, n_stft, *args, **kwargs):
        self._rows = n_stft


class MFCC(Spectrogram):
    """Coefficients times windows."""

    def __init__(self, sample_rate=16000, n_mfcc=40, dct_type=2, norm=NormMode.ORTHO, log_mels=False, melkwargs=None):
        settings = {key: value for key, value in (melkwargs or {}).items()
                    if key in ("n_fft", "win_length", "hop_length", "pad", "center")}
        super().__init__(**settings)
        self._rows = n_mfcc


class LFCC(Spectrogram):
    """The same of linear bands."""

    def __init__(self, sample_rate=16000, n_filter=128, n_lfcc=40, f_min=0.0, f_max=None, dct_type=2, norm=NormMode.ORTHO, log_lf=False,
                 speckwargs=None):
        settings = {key: value for key, value in (speckwargs or {}).items()
                    if key in ("n_fft", "win_length", "hop_length", "pad", "center")}
        super().__init__(**settings)
        self._rows = n_lfcc


def create_dct(n_mfcc, n_mels, norm=NormMode.NONE):
    """The matrix of a cosine transform: a column for each coefficient."""
    import numpy
    places, numbers = numpy.arange(n_mels) + 0.5, numpy.arange(n_mfcc)[:, None]
    matrix = numpy.cos(math.pi / n_mels * places * numbers)
    if norm == NormMode.ORTHO:
        matrix[0] /= math.sqrt(2.0)
        matrix *= math.sqrt(2.0 / n_mels)
    else:
        matrix *= 2.0
    return matrix.T.astype(numpy.float32)


__getattr__ = module_getattr(__name__)
