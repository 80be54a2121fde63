"""What delta does to RI-MP2: errors of the energy and of elements, large elements, speed, as tables and figures (3 to 6 of
doi:10.1021/ct900543q)."""

from module_report import code, legend_beside, number, paragraph, pick, section, subsection, table, values

KCAL_PER_MOL = 627.5094740631  # of one Hartree (CODATA 2018)


def both_units(energy):
    """Hartree and kcal/mol."""
    return energy, energy * KCAL_PER_MOL


def way_name(row):
    chosen = "double" if row["delta"] is None else f"delta {row['delta']:g}"
    if row["target_error"] is not None:
        return f"auto, {row['target_error']:g}: {chosen}"
    return row["precision"] if row["delta"] is None else chosen


def ri_mp2_text(name, one):
    out = [section("RI-MP2 ", code(name)),
           paragraph("Errors are differences from the run in double precision; speed-ups are over it, and ", code("of single"),
                     f" over the run in single precision; all runs took turns, medians of {one['repeats']} (threads: "
                     f"{one['threads']}). Step 3 is B = (ia|P) (P|Q)^-1/2, step 4 the integrals (ia|jb) from it.")]
    for system in values(one["rows"], "system"):
        rows = pick(one["rows"], system=system)
        first = rows[0]
        errors = ("b_max_error", "b_rms_error", "integral_max_error", "integral_rms_error")
        large = ("large_ia_p", "large_root", "large_b")
        out += [subsection(f"{system}: {first['occupied']} occupied, {first['virtual']} virtual, {first['auxiliary']} "
                           "auxiliary functions"),
                paragraph(f"Correlation energy in double: {first['e_corr']:.10f} Hartree.")]
        out.append(table(["", "error of the energy, Hartree", "kcal/mol", "of B: largest", "rms", "of (ia|jb): largest", "rms",
                          "large in (ia|P)", "in (P|Q)^-1/2", "in B"],
                         [[way_name(row), *(number(energy, ".2e") for energy in both_units(row["energy_error"])),
                           *(number(row[key], ".2e") for key in errors),
                           *(number(row[key], ".2e") for key in large)] for row in rows]))
        out.append(table(["", "step 3: s", "speed-up", "of single", "step 4: s", "speed-up", "of single", "all: s",
                          "speed-up", "of single"],
                         [[way_name(row), f"{row['step3_seconds']:.3g}", f"{row['step3_speedup']:.2f}",
                           f"{row['step3_of_single']:.2f}", f"{row['step4_seconds']:.3g}",
                           f"{row['step4_speedup']:.2f}", f"{row['step4_of_single']:.2f}", f"{row['seconds']:.3g}",
                           f"{row['speedup']:.2f}", f"{row['of_single']:.2f}"] for row in rows]))
    return out


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
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(systems), figsize=(5 * len(systems) + 1, 4.5), squeeze=False, sharey=True)
    for at, (system, rows) in zip(axes[0], systems.items()):
        single = next(row for row in rows if row["precision"] == "single")
        for k, (key, name, mark, with_single) in enumerate(lines):
            points(at, pick(rows, precision="mgemm"), key, name, f"C{k}", mark, single if with_single else None)
        at.set(xlabel="delta", xscale="log", title=system, **settings)
    axes[0][0].set(ylabel=label)
    if len(lines) > 1:
        legend_beside(axes[0][-1])
    return figure


ERRORS = [("b_max_error", "B, largest", "o", True), ("b_rms_error", "B, rms", "s", True),
          ("integral_max_error", "(ia|jb), largest", "^", True), ("integral_rms_error", "(ia|jb), rms", "v", True)]
LARGE = [("large_ia_p", "(ia|P)", "o", False), ("large_root", "(P|Q)^-1/2", "s", False), ("large_b", "B", "^", False)]
SPEEDS = [("step3_speedup", "step 3: B", "o", True), ("step4_speedup", "step 4: (ia|jb)", "s", True),
          ("speedup", "whole calculation", "^", True)]


def error_lines(label, error):
    """Of an energy, in both units; nothing where it is not known."""
    if error is None:
        return []
    return [[f"{label}, {unit}", number(value, ".4g")] for unit, value in zip(("Hartree", "kcal/mol"), both_units(error))]


def energy_text(name, one):
    """What one `ri_mp2` task found."""
    energies = [("correlation energy", "e_corr"), ("opposite spin", "opposite_spin"), ("same spin", "same_spin"),
                ("SCS-MP2, 6/5 opposite + 1/3 same spin", "e_corr_scs"), ("reference energy (file)", "of_file")]
    lines = [[f"{label}, Hartree", number(one[key], ".12g")] for label, key in energies if key in one]
    lines += error_lines("deviation from it", one.get("deviation"))
    for step, what in (("step3", "B = (ia|P) (P|Q)^-1/2"), ("step4", "(ia|jb)")):
        lines.append([f"{what}: form", one[step]["form"]])
        lines += [[f"{what}: {label}", number(one[step].get(key), ".4g")] for label, key in
                  (("seconds", "seconds"), ("GFLOP/s", "gflops")) if one[step].get(key) is not None]
        lines += error_lines(f"{what}: expected error of the energy", one[step].get("energy_error"))
    return [section("RI-MP2 energy ", code(name)),
            paragraph(f"{one['occupied']} occupied, {one['virtual']} virtual, {one['auxiliary']} auxiliary functions; "
                      f"{one['precision']}, backend {one['backend']}."),
            table(["", "value"], lines)]


TASKS = ("ri_mp2",)


def text(results):
    out = [block for task in results["job"]["run"] if task["task"] in TASKS and task["name"] in results
           for block in energy_text(task["name"], results[task["name"]])]
    return out + [block for name, one in results.get("ri_mp2_studies", {}).items() for block in ri_mp2_text(name, one)]


def draw(results, save):
    for name, one in results.get("ri_mp2_studies", {}).items():
        systems = {system: pick(one["rows"], system=system) for system in values(one["rows"], "system")}
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
