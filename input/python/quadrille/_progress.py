"""What `progress` may be: a function, True, or a bar of tqdm."""

from ._errors import InvalidInput


def function_of(progress):
    """As a function (solve, solves, iteration, residual) that ends the work where it returns a true value; None for
    None. `solves` is 0 for work other than solves, where the residual is the fraction that is left."""
    if progress is None or progress is False:
        return None
    if progress is True:
        try:
            from tqdm.auto import tqdm  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise InvalidInput("progress=True draws a bar of tqdm, which is not installed: give a function of (solve, "
                               "solves, iteration, residual)", ["progress"]) from None
        return OwnBar(tqdm(unit=" iterations"))
    if hasattr(progress, "update") and hasattr(progress, "set_postfix_str"):
        return lambda *now: _advance(progress, *now)
    if not callable(progress):
        raise InvalidInput(f"progress: {type(progress).__name__} is neither a function of (solve, solves, iteration, "
                           "residual) nor a bar of tqdm, nor True", ["progress"])
    return progress


class OwnBar:
    """A bar that is closed with the call."""

    def __init__(self, bar):
        self._bar = bar

    def __call__(self, *now):
        return _advance(self._bar, *now)

    def close(self):
        self._bar.close()


def _advance(bar, solve, solves, _iteration, residual):
    bar.update(1)
    what = f"solve {solve + 1} of {solves}, |r|/|b| {residual:.1e}" if solves else f"{1 - residual:.0%}"
    bar.set_postfix_str(what, refresh=False)
    return False
