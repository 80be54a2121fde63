"""The autocorrelation function of a history, as a figure: U. Wolff, Comput. Phys. Commun. 156 (2004) 143, hep-lat/0306017;
its errors: M. Luescher, Comput. Phys. Commun. 165 (2005) 199, hep-lat/0409106, appendix E."""


def gammas(deviations, count):
    """Gamma(t), the mean of the products of deviations t apart, for t = 0 to count - 1."""
    import numpy

    n = len(deviations)
    return numpy.array([numpy.dot(deviations[:n - t], deviations[t:]) / (n - t) for t in range(count)])


def autocorrelation(history, error, window, lags):
    """rho(t) = Gamma(t) / Gamma(0) and its errors for t = 0 to lags - 1, more than 2 `window`. `error` of the mean with its
    `window` correct the bias of Gamma, so that tau_int is 1/2 + rho(1) + ... + rho(window). In the errors rho is 0 beyond
    two windows, where it is noise."""
    import numpy

    n, far = len(history), 2 * window + 1
    gamma = gammas(numpy.array(history, float) - numpy.mean(history), lags) + error**2 / (1 + (2 * window + 1) / n)
    rho = gamma / gamma[0]
    known = numpy.append(rho[:far], 0)

    def at(t):
        return known[numpy.minimum(numpy.abs(t), far)]

    def squares(t):
        k = numpy.arange(1, t + far)
        return (at(k + t) + at(k - t) - 2 * at(t) * at(k)) ** 2

    return rho, [numpy.sqrt(numpy.sum(squares(t)) / n) for t in range(lags)]


def draw_autocorrelation(axes, history, mean, unit):
    """`mean`: {error, tau_int, tau_int_error, window}; false where there is nothing to be drawn."""
    window = int(mean.get("window") or 0)
    lags = min(len(history) - 1, max(10, 3 * window))
    if not mean["error"] or not window or lags <= 2 * window:
        return False
    rho, errors = autocorrelation(history, mean["error"], window, lags)
    axes.errorbar(range(lags), rho, errors, fmt="o", markersize=3, elinewidth=0.8, capsize=2, label="$\\rho(t)$")
    axes.axhline(0, color="black", linewidth=0.6)
    axes.axvline(window + 0.5, color="grey", linewidth=0.8, linestyle=":",
                 label=f"end of the sum, $\\tau_\\mathrm{{int}} = {mean['tau_int']:.2f} \\pm {mean['tau_int_error']:.2f}$")
    axes.set(xlabel=f"lag $t$ [{unit}]", ylabel="autocorrelation $\\rho(t) = \\Gamma(t) / \\Gamma(0)$")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return True
