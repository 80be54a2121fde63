"""On each rank of mpirun: solves with its part of a source, and compares with the whole lattice in one process."""

import os
import sys

from mpi4py import MPI

from python_harness import DIMS, SOLVER, WORDS, np, q

ranks = MPI.COMM_WORLD
start = {"start": "hot", "dims": DIMS, "seed": 5}
context = q.Context("cpu", threads=1, communicator=ranks)
gauge = q.gauge(start, context=context)
op = q.operator(gauge, WORDS)
solver = q.solver(op, SOLVER)
whole = q.gauge(start, backend="cpu", threads=1)
part = tuple(slice(x, x + n) for x, n in reversed(list(zip(gauge.origin, gauge.part))))
assert gauge.dims == whole.dims and gauge.volume * ranks.size == whole.volume
assert np.array_equal(gauge.array(), whole.array()[(slice(None), *part)])
assert np.array_equal(q.gauge(gauge.array(), dims=DIMS, context=context).array(), gauge.array())
S, wanted = q.propagator(solver, [1, 0, 2, 3]), q.propagator(q.solver(q.operator(whole, WORDS), SOLVER), [1, 0, 2, 3])
here = wanted.array()[part]
assert abs(S.array() - here).max() < 1e-9 * abs(wanted.array()).max()
try:
    q.solver(op, "cg", tolerance=2 if ranks.rank == 0 else 1e-8)
    sys.exit("words that are wrong on one rank were taken")
except q.InvalidInput:
    assert ranks.rank == 0
except q.FailedElsewhere:
    assert ranks.rank > 0
job = {"operator": WORDS, "solver": SOLVER, "run": [{"task": "propagator", "source": {"type": "point", "site": [1, 0, 2, 3]}},
                                                    {"task": "mesons", "from": "propagator"}]}
try:
    q.run(job, gauge=gauge)
    sys.exit("a job on ranks was run in folders that only one of them has")
except q.InvalidInput as error:
    assert error.where == ("out",)
results = q.run(job, gauge=gauge, out=os.path.join(sys.argv[1], f"rank{ranks.rank}"))  # that of the first rank
assert not os.path.exists(os.path.join(sys.argv[1], "rank1"))
assert abs(results.correlator("mesons/pion") - wanted.pion()).max() < 1e-9 * wanted.pion().max()
links = gauge.array()  # as many numbers, but another part of the lattice
cut = (gauge.part[1], gauge.part[0], *gauge.part[2:])
assert cut != gauge.part
try:
    q.gauge(links.reshape(4, *reversed(cut), 3, 3), dims=DIMS, context=context)
    sys.exit("links of a part that is cut otherwise were taken")
except q.InvalidInput as error:
    assert "the arrays must hold " + " x ".join(map(str, gauge.part)) in str(error), error
del S, solver, op, gauge
context.close()
print("right" if ranks.rank == 0 else "", end="")
