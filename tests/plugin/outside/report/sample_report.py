"""What `quadrille report` says of the tasks of the module sample."""

from module_report import section, table

TASKS = ("sample_sum",)


def text(results):
    sums = [[task["name"], results[task["name"]]["sum"]] for task in results["job"]["run"] if task["task"] in TASKS]
    return [section("Sums"), table(["task", "sum"], sums)] if sums else []
