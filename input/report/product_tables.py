"""The tables of studies of mixed-precision products: `matrix_product_study` and `ri_mp2_study`."""

import study


def number(value, form):
    return "-" if value is None else format(value, form)


def salt_name(row):
    return "no salt" if row["salt"] is None else f"{row['fraction']:g} salted with {row['salt']:g}"


def held(rows, key):
    """"18 of 18" rows of which a bound held."""
    known = [row[key] for row in rows if row[key] is not None]
    return f"{sum(known)} of {len(known)}"


def matrix_product_text(name, one, table):
    rows = one["rows"]
    dgemm = study.dgemm_of(one) + (" of operands in the GPU's memory, where those of all but cleaver are"
                                   if study.on_gpu(one) else f" (threads: {one['threads']})")
    out = (f"\n## Matrix products `{name}`\n\nSpeed-ups are over {dgemm}; the products took turns, medians of "
           f"{one['repeats']}. sgemm multiplies factors that are in single "
           "precision already. Errors are differences from dgemm, of all elements. Salted elements are within "
           f"{one['salt_spread']:g} of the number given, the others in [-1, 1].\n")
    head = ["matrices", "product", "memory", "GFLOP/s", "speed-up", "analysis", "largest error", "rms error", "probable bound",
            "certain bound"]
    for n in study.values(rows, "n"):
        lines = []
        for row in study.pick(rows, n=n):
            analysis = row["analysis_seconds"]
            small = row.get("small_form")
            product = row["product"] if small in (None, "single") else f"mgemm, {small}"
            memory = row.get("memory")  # in no results of before there was one
            lines.append([salt_name(row), product, "-" if memory is None else f"{memory} MiB", f"{row['gflops']:.1f}", f"{row['speedup']:.2f}",
                          "-" if analysis is None else f"{100 * analysis / row['seconds']:.0f} %",
                          *(number(row[key], ".2e") for key in ("max_error", "rms_error", "probable_bound", "bound"))])
        out += f"\n### n = {n}\n\n" + table(head, lines)
    mixed = study.pick(rows, product="mgemm")
    return out + (f"\nThe certain bound held in {held(mixed, 'within_bound')} products, the probable one in "
                  f"{held(mixed, 'within_probable_bound')}.\n")


def way_name(row):
    chosen = "double" if row["delta"] is None else f"delta {row['delta']:g}"
    if row["target_error"] is not None:
        return f"auto, {row['target_error']:g}: {chosen}"
    return row["precision"] if row["delta"] is None else chosen


def ri_mp2_text(name, one, table):
    out = (f"\n## RI-MP2 `{name}`\n\nErrors are differences from the run in double precision; speed-ups are over it, "
           f"and `of single` over the run in single precision; all runs took turns, medians of {one['repeats']} "
           f"(threads: {one['threads']}).\n")
    for system in study.values(one["rows"], "system"):
        rows = study.pick(one["rows"], system=system)
        first = rows[0]
        errors = ("energy_error", "b_max_error", "b_rms_error", "integral_max_error", "integral_rms_error")
        large = ("large_ia_p", "large_root", "large_b")
        out += (f"\n### {system}: {first['occupied']} occupied, {first['virtual']} virtual, {first['auxiliary']} "
                f"auxiliary functions\n\nCorrelation energy in double: {first['e_corr']:.10f} Hartree.\n\n")
        out += table(["", "error of the energy", "of B: largest", "rms", "of (ia\\|jb): largest", "rms",
                      "large in (ia\\|P)", "in (P\\|Q)^-1/2", "in B"],
                     [[way_name(row), *(number(row[key], ".2e") for key in errors),
                       *(number(row[key], ".2e") for key in large)] for row in rows])
        out += "\n" + table(["", "step 3: s", "speed-up", "of single", "step 4: s", "speed-up", "of single", "all: s",
                             "speed-up", "of single"],
                            [[way_name(row), f"{row['step3_seconds']:.3g}", f"{row['step3_speedup']:.2f}",
                              f"{row['step3_of_single']:.2f}", f"{row['step4_seconds']:.3g}",
                              f"{row['step4_speedup']:.2f}", f"{row['step4_of_single']:.2f}", f"{row['seconds']:.3g}",
                              f"{row['speedup']:.2f}", f"{row['of_single']:.2f}"] for row in rows])
    return out


def text(results, table):
    out = ""
    for name, one in results.get("matrix_product_studies", {}).items():
        out += matrix_product_text(name, one, table)
    for name, one in results.get("ri_mp2_studies", {}).items():
        out += ri_mp2_text(name, one, table)
    return out
