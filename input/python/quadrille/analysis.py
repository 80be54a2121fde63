"""Errors of means, effective masses and fits, by the library's own statistics (those of jobs on several configurations).

    from quadrille import analysis
    C = results.correlator("mesons/pion")            # [configuration, t], in the order of the Markov chain
    print(analysis.jackknife(C, bin=2)[8])           # 0.5432(12)
    print(analysis.fit(C, window=(8, 16)).masses[0])

Measurements are [configuration] or [configuration, number]. Correlators begin at their source.
"""

import collections
import ctypes
import json
import math

import numpy as np

from . import _library
from ._arrays import known
from ._context import Context
from ._errors import InvalidInput, NotConverged, error_of
from ._words import Words


class Estimate:
    """A value and its error, or arrays of them; printed as 0.5432(12)."""

    def __init__(self, value, error, **more):
        self.value, self.error = value, error
        self.__dict__.update(more)

    def __getitem__(self, key):
        return Estimate(self.value[key], self.error[key])

    def __len__(self):
        return len(self.value)

    def __str__(self):
        if np.ndim(self.value) == 0:
            return with_error(self.value, self.error)
        return "[" + ", ".join(with_error(*pair) for pair in zip(np.ravel(self.value), np.ravel(self.error))) + "]"

    __repr__ = __str__

    def __format__(self, spec):
        return format(str(self), spec)


def with_error(value, error):
    """A number with two digits of its error: 0.5432(12), 12.3(1.5), 1234(56); "0.54(?)" where the error is not known."""
    value, error = float(value), float(error)
    if not math.isfinite(value):
        return "nan"
    if not math.isfinite(error):
        return f"{value:.6g}(?)"
    if error <= 0:
        return f"{value:.12g}(0)"
    digits = 1 - math.floor(math.log10(error))
    if float(f"{error:.1e}") >= 10.0 ** (2 - digits):  # 0.0996 is 0.10 in two digits
        digits -= 1
    if digits <= 0:
        scale = 10 ** -digits
        return f"{round(value / scale) * scale:d}({round(error / scale) * scale:d})"
    if digits == 1:
        return f"{value:.1f}({error:.1f})"
    if digits > 15 or abs(value) >= 1e15:
        return f"{value:.15g}({error:.1e})"
    return f"{value:.{digits}f}({round(error * 10 ** digits):d})"


def _rows(measurements, name="measurements"):
    try:
        rows = np.asarray(measurements)
    except ValueError as trouble:
        raise InvalidInput(f"{name}: {trouble}", [name]) from None
    if rows.ndim not in (1, 2) or rows.dtype.kind not in "fiu" or rows.size == 0:
        raise InvalidInput(f"{name}: {rows.dtype} {rows.shape}; expected real numbers [configuration] or [configuration, "
                           "number]; take .real of complex ones", [name])
    return np.ascontiguousarray(rows.reshape(rows.shape[0], -1), dtype=float), rows.ndim == 1


def _statistics(rows, **words):
    text, out = Words(words), ctypes.c_char_p()
    with Context("cpu", threads=1) as context:
        status = _library.library().quadrille_statistics(
            context.handle, text.encoded(), rows.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), *rows.shape,
            ctypes.byref(out))
        if status:
            raise error_of(status, _library.message(context.handle, status), text)
        return json.loads(out.value)


def _numbers(values, alone=False):
    found = known(values)
    return found[0] if alone else found


def jackknife(measurements, function=None, bin=1):  # pylint: disable=redefined-builtin
    """The mean of measurements and its error by the jackknife over bins of neighbours; with `function`, f(means) that gives
    a number or an array, the error of that: error^2 = (N - 1)/N sum_k (f_k - f)^2, f_k the function of the means without bin
    k of N, f the mean of the f_k. The result has them as `samples`, and (N - 1) (f - value) as `bias`."""
    rows, alone = _rows(measurements)
    found = _statistics(rows, bin=bin, samples=True)
    mean = _numbers(found["mean"], alone)
    without = np.array(found["jackknife_samples"], dtype=float).reshape(-1, rows.shape[1])
    if function is None:
        return Estimate(mean, _numbers(found["error"], alone), samples=without[:, 0] if alone else without, bias=0 * mean)
    value, samples = _of_samples(function, mean, without, alone)
    count = len(samples)
    if count < 2:
        return Estimate(value, value * np.nan, samples=samples, bias=value * np.nan)
    centre = samples.mean(axis=0)
    error = np.sqrt((count - 1) / count * ((samples - centre) ** 2).sum(axis=0))
    return Estimate(value, error, samples=samples, bias=(count - 1) * (centre - value))


def bootstrap(measurements, function=None, samples=1000, bin=1, seed=1):  # pylint: disable=redefined-builtin
    """As jackknife, with the error from so many bootstrap samples, drawn as a job with this seed draws them; their spread is
    corrected by sqrt(N / (N - 1)) for the N bins."""
    rows, alone = _rows(measurements)
    found = _statistics(rows, bin=bin, bootstrap=samples, seed=seed, samples=function is not None)
    mean = _numbers(found["mean"], alone)
    if samples < 2 or found["bins"] < 2:
        raise InvalidInput(f"samples: {samples} of {found['bins']} bins; a bootstrap needs two of each at least", ["samples"])
    if function is None:
        return Estimate(mean, _numbers(found["bootstrap_error"], alone))
    drawn = np.array(found["bootstrap_samples"], dtype=float).reshape(-1, rows.shape[1])
    value, values = _of_samples(function, mean, drawn, alone)
    bins = found["bins"]
    return Estimate(value, np.std(values, axis=0, ddof=1) * math.sqrt(bins / (bins - 1)), samples=values)


def _of_samples(function, mean, samples, alone):
    """f of the means, and of each sample of them."""
    def value_of(means):
        found = np.asarray(function(means))
        if found.dtype.kind not in "iufb":
            raise InvalidInput(f"function: gave {found.dtype}; expected real numbers: take .real or .imag of complex ones",
                               ["function"])
        return found.astype(float)

    values = [value_of(one[0] if alone else one) for one in samples]
    return value_of(mean)[()], np.array(values)


def gamma_method(measurements):
    """The mean with its error by the Gamma method (U. Wolff, hep-lat/0306017), autocorrelation included: an Estimate with
    tau_int, tau_int_error (in configurations) and window; not-a-number for fewer than 10 configurations."""
    rows, alone = _rows(measurements)
    found = _statistics(rows)
    return Estimate(_numbers(found["mean"], alone), _numbers(found["gamma_error"], alone),
                    **{name: _numbers(found[name], alone) for name in ("tau_int", "tau_int_error", "window")})


def effective_mass(correlators, bin=1):  # pylint: disable=redefined-builtin
    """m(t) for t = 0 to T/2 - 1 with C(t) / C(t + 1) = cosh(m (t - T/2)) / cosh(m (t + 1 - T/2)), of the mean correlator
    folded about T/2, with errors by the jackknife; not-a-number where there is none.

    correlators: [configuration, t] or [t], from the source on: numpy.roll(C, -t0, axis=-1) for a source at t0."""
    rows, one = _rows(correlators, "correlators")
    if one:
        rows = rows.reshape(1, -1)
    found = _statistics(rows, bin=bin, effective_mass=True)["effective_mass"]
    return Estimate(_numbers(found["mean"]), _numbers(found["error"]))


Fit = collections.namedtuple("Fit", "masses amplitudes chi2 dof window states correlated warning")
Fit.__doc__ = """masses and amplitudes are Estimates, the lightest state first; chi2 of dof degrees of freedom. warning: why
there are no errors, otherwise empty."""


def fit(correlators, window, states=1, correlated=False, bin=1):  # pylint: disable=redefined-builtin
    """A fit of C(t) = sum_n A_n (exp(-m_n t) + exp(-m_n (T - t))) with 1 or 2 states to the mean correlator folded about
    T/2, for t in window = (first, last), errors by the jackknife.

    correlators: [configuration, t] from the source on. correlated: with the covariance of the times, or their errors alone.
    Raises InvalidInput where the window or the number of configurations does not suffice; NotConverged where chi^2 has no
    minimum, or no covariance that can be inverted."""
    rows, _ = _rows(correlators, "correlators")
    try:
        first, last = window
    except (TypeError, ValueError):
        raise InvalidInput(f"window: {window!r}; expected (first, last)", ["window"]) from None
    found = _statistics(rows, bin=bin, fit={"window": [first, last], "states": states, "correlated": bool(correlated)})
    result, warning = found["fit"], found.get("fit_warning", "")
    if result is None:
        raise NotConverged(f"fit: {warning}", ["window"])
    pairs = {name: [(one["value"], one["error"]) for one in result[name]] for name in ("masses", "amplitudes")}
    estimates = [Estimate(*(_numbers(column) for column in zip(*pairs[name]))) for name in ("masses", "amplitudes")]
    return Fit(*estimates, result["chi2"], result["dof"], tuple(result["window"]), states, bool(correlated),
               warning)
