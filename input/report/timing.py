"""Where the time of all runs of the job went, as one stacked bar."""

import matplotlib.pyplot as plt

import phases


def draw(results, save):
    parts = phases.parts(results)
    if not parts:
        return
    figure, axes = plt.subplots(figsize=(8, 1.8))
    begin = 0
    for name, seconds in parts:
        axes.barh([0], [seconds], left=begin, label=f"{name} {seconds:.3g} s")
        begin += seconds
    axes.set(xlabel="seconds, all runs", yticks=[])
    axes.legend(fontsize=7, ncol=len(parts), loc="lower center", bbox_to_anchor=(0.5, 1.02), frameon=False)
    save(figure, "timing", "Where the time of all runs went")
