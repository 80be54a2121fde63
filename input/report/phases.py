"""The parts of `timing` in a results.json; those of before have none."""

NAMES = ("read", "setup", "solves", "contractions", "write")


def parts(results):
    """[(name, seconds)] of the phases that took time, with what is left of the total last."""
    timing = results.get("timing")
    if not timing:
        return []
    found = [(name, timing.get(name) or 0) for name in NAMES]
    if not any(seconds for _, seconds in found):
        return []
    found.append(("other", max(0, timing["total"] - sum(seconds for _, seconds in found))))
    return [(name, seconds) for name, seconds in found if seconds > 0]


def of_runs(results):
    """What is said behind times: they are sums over all runs of the job."""
    runs = results["timing"].get("runs", 1)
    return f", all {runs} runs together" if runs > 1 else ""
