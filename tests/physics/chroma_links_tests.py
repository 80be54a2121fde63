#!/usr/bin/env python3
"""Smeared and fixed links and loops that Chroma published, to their digits.

    QUADRILLE_PROGRAM=build/quadrille chroma_links_tests.py [CLASS...]

The numbers are those of Chroma's own regression tests, in outputs NAME.out.xml of its repository (JeffersonLab/chroma):
tests/chroma/smear/link_smear, tests/chroma/glue/wilslp, tests/chroma/gfix/coulgauge. All are builds in single precision
on one weak field, which chroma_tests.py makes.
"""

import sys

import numpy as np

import harness
import independent
import lime_files
from chroma_tests import numbers, weak_field
from independent import adjoint, ahead, behind

DIMS = (4, 4, 4, 8)
ORDER = ("xy", "xz", "yz", "xt", "yt", "zt")  # of planes there
PLANES = numbers("0.994752410954485 0.995051669888198 0.994598523558428 0.994927932818731 0.994742131947229 "
                 "0.994516198212902")

# Parameters, planes, link trace, and the largest deviation from them.
SMEARED = {
    # As Chroma has it, V = 2.5 U + the four staples; its projection ends where a round gains less than 1e-5.
    "ape": ({"type": "ape", "alpha": 4 / 6.5, "steps": 1, "directions": "spatial"},
            numbers("0.999365865563353 0.999385605876644 0.999336130917072 0.996149817326417 0.996227828009675 "
                    "0.996109240377943"), 0.379493533012768, 1e-5),
    "stout": ({"type": "stout", "rho": 0.15625, "steps": 16, "directions": "spatial"},
              numbers("0.999997542860607 0.999997325552007 0.999997412785888 0.996365401583413 0.996496776584536 "
                      "0.996290966247519"), 0.37949739714774, 4e-7),
    "hyp_3": ({"type": "hyp", "directions": "spatial"},
              numbers("0.999658968299627 0.999678348501523 0.999665347393602 0.996204736487319 0.996329252763341 "
                      "0.99618750018999"), 0.379505482133633, 2e-6),
    "hyp_4": ({"type": "hyp", "alpha1": 0.75, "alpha2": 0.6, "alpha3": 0.3},
              numbers("0.999732065324982 0.999761611068 0.999761736486107 0.999751977777729 0.999769334836553 "
                      "0.999728370768329"), 0.379593360800451, 2e-6),
}

POLYAKOV = np.array([0.96722258736069 - 0.00121316528187284j, 0.967032058009257 - 0.00129616999978073j,
                     0.96746751650547 - 0.00114548282635951j, 0.879538941662759 - 0.0104402848846803j])
# wils_loop1, the mean of xy, xz and yz: row T - 1, column R - 1, R along the first direction.
SPACE_LOOPS = numbers("0.99480065341211 0.992364480470618 0.989799016051822 0.989699728993906 "
                      "0.992354164469159 0.990119734882481 0.987506962329563 0.98965304158628 "
                      "0.989879413093958 0.987581657245755 0.984954758081585 0.989404829632905 "
                      "0.989903946458879 0.989808457023981 0.989394463546988 0.998066131077293").reshape(4, 4)
# wils_loop2, the mean of xt, yt and zt: row R - 1, column T - 1.
TIME_LOOPS = numbers("0.994728301082634 0.99213205717711 0.989625328634348 0.987210581027385 "
                     "0.992379096854064 0.989610050856653 0.98682650597766 0.984439925187164 "
                     "0.98996600550082 0.987490928266197 0.984845140793671 0.982665729295048 "
                     "0.990064965716253 0.990022128758331 0.989461320141951 0.989660509448084").reshape(4, 4)
# The link trace in Coulomb gauge and the iterations to it.
COULOMB_LINK, COULOMB_ITERATIONS = 0.79502857428209, 11


def transformed(links, g):
    return np.stack([g @ links[..., mu, :, :] @ adjoint(ahead(g, mu)) for mu in range(4)], axis=-3)


def space_trace(links):
    return np.mean([independent.trace_average(links[..., mu, :, :]) for mu in range(3)])


def fixed_as_there(links, accuracy=1e-5):
    """(links in Coulomb gauge, iterations): in each, even sites and then odd ones turn by the best turn in the colors 01,
    12 and 02, one after the other, until the mean trace of the spatial links changes by less than `accuracy` of it."""
    parity = np.indices(links.shape[:4]).sum(axis=0) % 2
    iterations, change, trace = 0, 1, space_trace(links)
    while change > accuracy:
        for sites in (0, 1):
            for i, j in ((0, 1), (1, 2), (0, 2)):
                seen = sum(links[..., mu, :, :] + adjoint(behind(links[..., mu, :, :], mu)) for mu in range(3))
                a = (seen[..., i, i] + seen[..., j, j].conj()).conj()
                b = seen[..., j, i] - seen[..., i, j].conj()
                size = np.sqrt(np.abs(a) ** 2 + np.abs(b) ** 2)
                turn = np.zeros(links.shape[:4] + (3, 3), dtype=complex)
                turn[...] = np.eye(3)
                here = parity == sites
                for row, column, value in ((i, i, a), (j, j, a.conj()), (i, j, b.conj()), (j, i, -b)):
                    turn[here, row, column] = (value / size)[here]
                links = transformed(links, turn)
        before, trace = trace, space_trace(links)
        change, iterations = abs((trace - before) / trace), iterations + 1
    return links, iterations


class ChromaLinks(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.links = weak_field(DIMS, np.float32, [11, 0, 0, 0])[0]
        lime_files.write_gauge(self.path("field.lime"), self.links, 64, "qio")

    def run_task(self, task, out):
        return self.run_job({"gauge": {"file": "field.lime"}, "run": [task]}, out=out)

    def test_the_field_is_that_of_chroma(self):
        seen = independent.observables(self.links)
        self.assertLess(max(abs(seen["planes"][plane] - there) for plane, there in zip(ORDER, PLANES)), 4e-7)

    def test_smeared_links(self):
        for name, (parameters, planes, link, bound) in SMEARED.items():
            with self.subTest(name=name):
                found = self.run_task({"task": "smear", **parameters}, name)["smearings"]["smear"]
                deviation = max(abs(found["planes"][plane] - there) for plane, there in zip(ORDER, planes))
                deviation = max(deviation, abs(found["link_trace"] - link))
                print(f"{name}: {deviation:.1e}")
                self.assertLess(deviation, bound)

    def test_polyakov_loops(self):
        found = self.run_task({"task": "polyakov", "directions": "all"}, "polyakov")["loops"]["polyakov"]
        seen = np.array([complex(found[mu]["re"], found[mu]["im"]) for mu in "xyzt"])
        print(f"Polyakov loops: {np.max(np.abs(seen - POLYAKOV)):.1e}")
        self.assertLess(np.max(np.abs(seen - POLYAKOV)), 2e-6)

    def test_wilson_loops(self):
        task = {"task": "wilson_loops", "planes": "all", "max_r": 4, "max_t": 4}
        found = self.run_task(task, "loops")["loops"]["wilson_loops"]
        for name, seen, expected in (("space", np.transpose(found["space"]), SPACE_LOOPS),
                                     ("time", np.array(found["time"]), TIME_LOOPS)):
            print(f"Wilson loops, {name}: {np.max(np.abs(seen - expected)):.1e}")
            self.assertLess(np.max(np.abs(seen - expected)), 3e-6)

    def test_coulomb_gauge(self):
        """Relaxed in numpy as there, links have Chroma's trace; the program goes on from them to the maximum, as from
        the links that were not fixed."""
        there, iterations = fixed_as_there(self.links)
        self.assertEqual(iterations, COULOMB_ITERATIONS)
        print(f"Coulomb gauge: link trace {abs(independent.observables(there)['link_trace'] - COULOMB_LINK):.1e}")
        self.assertAlmostEqual(independent.observables(there)["link_trace"], COULOMB_LINK, delta=2e-6)
        task = {"task": "gauge_fix", "gauge": "coulomb", "tolerance": 1e-20}
        found = self.run_task(task, "fixed")["gauge_fixings"]["gauge_fix"]
        lime_files.write_gauge(self.path("field.lime"), there, 64, "qio")
        further = self.run_task(task, "further")["gauge_fixings"]["gauge_fix"]
        self.assertAlmostEqual(found["functional"], further["functional"], delta=1e-13)
        self.assertGreater(found["functional"], space_trace(there))
        self.assertLess(found["functional"] - space_trace(there), 1e-4)
        self.assertAlmostEqual(found["plaquette"], independent.observables(self.links)["plaquette"], delta=1e-13)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
