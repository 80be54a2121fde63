"""Legends beside their axes, where they hide nothing."""


def beside(axes, fontsize=7):
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=fontsize, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def below(axes, fontsize=6, columns=2):
    """For panels that stand side by side."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=fontsize, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=columns, borderaxespad=0)
