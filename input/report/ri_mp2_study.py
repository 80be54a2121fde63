"""What delta does to RI-MP2: errors of the energy and of elements, large elements, speed (figures 3 to 6 of
doi:10.1021/ct900543q)."""

import matplotlib.pyplot as plt

import legends
import study


def points(axes, rows, key, label, color, mark, single):
    """Against delta, with what single precision gives as a dashed line."""
    known = sorted((row["delta"], abs(row[key])) for row in rows
                   if row["delta"] and row["target_error"] is None and row[key] is not None)
    if known:
        axes.plot(*zip(*known), color=color, marker=mark, markersize=4, label=label)
    if single is not None and single[key] is not None:
        axes.axhline(abs(single[key]), color=color, linestyle="--", linewidth=0.8)


def panels(systems, lines, label, **settings):
    """A panel for each system. `lines`: [(key, name, mark, whether single precision is shown)]."""
    figure, axes = plt.subplots(1, len(systems), figsize=(5 * len(systems) + 1, 4.5), squeeze=False, sharey=True)
    for at, (system, rows) in zip(axes[0], systems.items()):
        single = next(row for row in rows if row["precision"] == "single")
        for k, (key, name, mark, with_single) in enumerate(lines):
            points(at, study.pick(rows, precision="mgemm"), key, name, f"C{k}", mark, single if with_single else None)
        at.set(xlabel="delta", xscale="log", title=system, **settings)
    axes[0][0].set(ylabel=label)
    if len(lines) > 1:
        legends.beside(axes[0][-1])
    return figure


ERRORS = [("b_max_error", "B, largest", "o", True), ("b_rms_error", "B, rms", "s", True),
          ("integral_max_error", "(ia|jb), largest", "^", True), ("integral_rms_error", "(ia|jb), rms", "v", True)]
LARGE = [("large_ia_p", "(ia|P)", "o", False), ("large_root", "(P|Q)^-1/2", "s", False), ("large_b", "B", "^", False)]
SPEEDS = [("step3_speedup", "step 3", "o", True), ("step4_speedup", "step 4", "s", True), ("speedup", "all", "^", True)]


def draw(results, save):
    for name, one in results.get("ri_mp2_studies", {}).items():
        systems = {system: study.pick(one["rows"], system=system) for system in study.values(one["rows"], "system")}
        dashed = "against delta; dashed: single precision"
        save(panels(systems, [("energy_error", "", "o", True)], "|error of the energy| [Hartree]", yscale="log"),
             f"{name}_energy_error", f"Study {name}: error of the correlation energy {dashed}")
        if any(row["b_max_error"] is not None for row in one["rows"]):
            save(panels(systems, ERRORS, "error of elements", yscale="log"), f"{name}_element_errors",
                 f"Study {name}: largest and root mean square errors of B and of (ia|jb) {dashed}")
        save(panels(systems, LARGE, "fraction of elements above delta"), f"{name}_large",
             f"Study {name}: fraction of large elements against delta")
        save(panels(systems, SPEEDS, "speed-up over double", ylim=(0, None)), f"{name}_speedup",
             f"Study {name}: speed-up over double precision {dashed}")
