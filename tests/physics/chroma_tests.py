#!/usr/bin/env python3
"""Clover propagators that Chroma published, to their digits.

    QUADRILLE_PROGRAM=build/quadrille chroma_tests.py [CLASS...]         libquadrille.so is beside the program

The numbers are those of Chroma's own regression tests, in the outputs NAME.out.xml in the folder
tests/chroma/hadron/propagator of its repository (JeffersonLab/chroma): Prop_correlator, the sum over space, spins and
colors of |S|^2 for each time slice. No file of Chroma is needed: the links are those of its start WEAK_FIELD, which a
seed and a formula give, smeared as the outputs say. Links, smearing and sources are made here in numpy; what is
compared with the numbers are propagators that Quadrille solves:

    isotropic      a job with the tasks propagator and mesons, whose pion is Prop_correlator
    anisotropic    a job with a propagator from each site of the smeared source, added with the source's weights
    larger fields  the C API, which takes the smeared source itself
    hadrons        the contractions of correlator_tests.py, of a propagator from a smeared source
"""

import ctypes
import itertools
import json
import os
import sys

import numpy as np

import correlator_tests
import harness
import independent
import lime_files
from harness import ProgramTest, job_for, sloppy, solver_name, uniform
from independent import adjoint, ahead, behind

ANTIPERIODIC_IN_TIME = [0, 0, 0, 1]


def numbers(text):
    return np.array([float(word) for word in text.split()])


# Parameters as in the outputs (kappa 0.115 is the mass 1 / (2 kappa) - 4), Prop_correlator, and the largest relative
# deviation from it. The bounds are the accuracy of the published numbers: a build in single precision rounds the
# parameters, too, which alone shifts a correlator by up to 1e-6.

# Built in double precision, CG to 1e-12; links smeared by two steps of HEX; a point source.
ISOTROPIC = {
    "name": "clover_hex_hl",
    "params": {"mass": 0.05, "phase": ANTIPERIODIC_IN_TIME, "csw_r": 1.0, "csw_t": 1.0},
    "correlator": numbers("0.832287979166727 0.0799316698092181 0.0483132390478958 0.0799267561951838"),
    "bound": 5e-13,
}
ANISOTROPIC = {"mass": 1 / (2 * 0.115) - 4, "phase": ANTIPERIODIC_IN_TIME, "xi0": 2.464, "nu": 0.95, "csw_r": 0.91,
               "csw_t": 1.07}
# Built in single precision, CG to a true residual of 2e-7; links as they are; a shell source.
SINGLE = {
    "name": "prec_clover",
    "correlator": numbers("0.588734367199896 0.0440054663488397 0.0154934281038289 0.00913658310242971 "
                          "0.00757904288702887 0.00913718577511021 0.015501454298906 0.0440099963469373"),
    "bound": 1e-6,
}
# Built in double precision, BiCGstab to 1e-8; spatial links smeared by two steps of stout, 0.22; a shell source.
STOUT = {
    "name": "seoprec_clover-stout3d.bicgstab",
    "correlator": numbers("0.588521549252684 0.04400138286878 0.0155092661480697 0.00915533368346644 "
                          "0.00759727583393361 0.00915717615857341 0.0155204098494388 0.0440131376793199"),
    "bound": 1e-9,
}
# The same on a larger lattice with CG to 1e-14.
LARGER = {
    "name": "prec_clover-stout3d-rel-cg-clover-multiprec",
    "correlator": numbers(
        "0.451970383625653 0.0291871016627633 0.00750280876503796 0.00313201606518997 0.00152470374450449 "
        "0.000782912944233098 0.000425719861405374 0.000263776753484979 0.000217263085450081 0.000263908576768462 "
        "0.000426038714937429 0.000783800006050319 0.00152716831131117 0.00313903093318912 0.00750994263486538 "
        "0.0291867212920423"),
    "bound": 1e-12,
}
# Built in single precision, BiCRstab to 1e-8; another action, stout 0.14.
FINER_IN_TIME = {
    "name": "prec_clover-stout3d-bicrstab",
    "params": {"mass": 0.04, "phase": ANTIPERIODIC_IN_TIME, "xi0": 4.3, "nu": 1.265, "csw_r": 1.58932722549812,
               "csw_t": 0.902783591772098},
    "correlator": numbers(
        "0.652259803018427 0.0663190082607299 0.0235838858307188 0.0143755172765067 0.0109461189204383 "
        "0.00900277531468104 0.00769797814683653 0.0067605237705424 0.00606206774250229 0.00552929157987593 "
        "0.0051178260619199 0.00479894770638774 0.00455505584090316 0.00437450288177888 0.00425033294494492 "
        "0.00417755787957091 0.00415327839661827 0.00417696744908854 0.00425019227443985 0.00437533920560505 "
        "0.00455620906008871 0.00480008111174254 0.00511948952677442 0.00553226271572245 0.00606518303657559 "
        "0.00676346648607484 0.00770135525302053 0.00900632682817927 0.0109476272840807 0.0143755530465763 "
        "0.0235770142983073 0.0663056720214889"),
    "bound": 3e-6,
}

# Hadrons of hadspec.out.xml, a build in single precision: Shell_Point_Wilson_Mesons and _Baryons on the field 4 x 4 x 4 x 8, of a
# Wilson propagator with kappa 0.11 from a shell of links smeared by one APE step (2.5). The projection of these links on
# SU(3) stops when it changes the trace by less than 1e-5, and is done to the end here.
HADRONS = {
    "source": 6.68018574848822,
    "bound": 2e-5,
    # By our names: Chroma's gamma_value is 0, 1, 3, 7, 8, 9, 14, 15.
    "mesons": {
        "a0": numbers("0.189240287971188 -0.00246847271591832 -0.00200301193399355 -0.00184393824383733 "
            "-0.00180335862751235 -0.00184348725088057 -0.0020025471549161 -0.00246807598159648"),
        "rho_x": numbers("0.19148866093019 0.0157467928511323 0.00610770284401951 0.00282309845351847 0.00197775688502588 "
            "0.00282017466452089 0.00610219046211569 0.0157308986163116"),
        "b1_z": numbers("-0.191479822642577 0.0020129678214289 0.00186082027175871 0.00180850772812846 "
            "0.00179493832365551 0.00180824051130912 0.00186058955114277 0.0020133390717092"),
        "pion_2": numbers("-0.189258697744663 -0.0152879671331903 -0.00596347740793135 -0.00278619769596844 "
            "-0.00196834085545561 -0.00278346151753794 -0.0059596370338113 -0.0152697850789991"),
        "a0_2": numbers("0.192588107129268 -0.00179089200082672 -0.00179100127752463 -0.001791088245227 "
            "-0.00179089848461444 -0.00179094990744488 -0.00179131151890033 -0.00179110885983391"),
        "rho_x_2": numbers("-0.190371664200939 -0.0155203630638425 -0.00603585144563112 -0.00280465511241346 "
            "-0.00197308367751248 -0.00280190994089935 -0.00603277177287964 -0.0155001352723048"),
        "a1_x": numbers("-0.190352652723959 0.00223982143143076 0.00193194634812244 0.00182621588646725 "
            "0.00179905757977394 0.00182567575575376 0.00193092029985564 0.00224170736510132"),
        "pion": numbers("0.192608931320137 0.015980780684913 0.00618062911962625 0.00284180962626124 0.00198266743063868 "
            "0.0028388977261784 0.00617588830937166 0.0159631269671081"),
    },
    "moving": {  # the mean of the momenta like 1 1 0
        "rho_x": numbers("0.0124304439879719 0.000152550131129014 4.9362857647274e-06 1.82293775011105e-07 "
            "4.31706712757769e-08 2.79550626132826e-07 4.94435486217678e-06 0.000152920161003341"),
        "pion": numbers("0.0124308637209327 0.000152774238567585 4.87018831947056e-06 2.24988885233482e-07 "
            "4.88731489167997e-08 2.45688115385414e-07 4.89550143852692e-06 0.000152679389325137"),
    },
    "nucleon": numbers("0.02224391 0.0006697791 0.0001429044 3.98249e-05 1.520538e-05 1.162919e-05 1.558194e-05 "
            "2.848719e-05"),  # baryon_num 9
    "delta": numbers("0.05335755 0.001992569 0.000422114 0.0001134285 3.698974e-05 2.123674e-05 2.426964e-05 "
            "4.235861e-05"),  # baryon_num 2, of J_z = 3/2 with 3/2 of our norm
}

# What the outputs say about weak fields: the plaquettes of the planes xy, xz, yz, xt, yt, zt, the link trace, and the
# seed that follows, twelve bits a word, the lowest first. `number` is the type in which that build summed its random
# numbers.
WEAK_FIELDS = (
    {"dims": (4, 4, 4, 4), "number": np.float64, "seed": [1835, 3793, 680, 1762], "link": 0.37937812745163,
     "planes": numbers("0.994703970358515 0.994644062258535 0.994079125180866 "
                       "0.994592499001505 0.994870305698277 0.994545024902125")},
    {"dims": (4, 4, 4, 8), "number": np.float32, "seed": [1835, 3491, 1302, 1242], "link": 0.379449348715193,
     "planes": numbers("0.994703733245322 0.994926957486681 0.994765044291907 "
                       "0.994693320035353 0.99485404921873 0.994881689322207")},
    {"dims": (8, 8, 4, 16), "number": np.float32, "seed": [1835, 3359, 1221, 1551], "link": 0.379311955778734,
     "planes": numbers("0.994758036064133 0.994811830137644 0.994740777866513 "
                       "0.994698967594545 0.99471670596085 0.994811726007604")},
)
SEED = [11, 11, 11, 0]

MULTIPLIER = [1645, 712, 1498, 1222]
MODULUS = 2**47


def joined(words):
    return sum(word << 12 * n for n, word in enumerate(words))


def fractions(states, number):
    """state / 2^47 for each, added up from the lowest twelve bits in numbers of one type."""
    value = np.zeros(states.shape, number)
    for shift in (0, 12, 24, 36):
        value = value / number(4096) + ((states >> np.uint64(shift)) & np.uint64(4095)).astype(number)
    return value.astype(float) / 2048


def weak_field(dims, number, seed=None):
    """Links and next seed of Chroma's WEAK_FIELD. A link is a product of SU(2) matrices in the colors 01, 12 and 02,
    each of two random angles below 0.04 pi. The random numbers are the states x -> a x mod 2^47 of one generator, one
    for each site in lexicographic order, and one unused between two such fields."""
    sites, shape = int(np.prod(dims)), tuple(dims)[::-1]
    multiplier, state = joined(MULTIPLIER), joined(seed or SEED)
    powers = np.cumprod(np.full(sites, multiplier, dtype=np.uint64))  # mod 2^64, of which 2^47 is a divisor
    next_field = pow(multiplier, sites + 1, MODULUS)

    def angles():
        nonlocal state
        states = powers * np.uint64(state) & np.uint64(MODULUS - 1)
        state = state * next_field % MODULUS
        return 0.04 * np.pi * fractions(states, number).reshape(shape)

    links = np.zeros(shape + (4, 3, 3), dtype=complex)
    for mu in range(4):
        links[..., mu, :, :] = np.eye(3)
        for i, j in ((0, 1), (1, 2), (0, 2)):
            first, second = (np.exp(1j * angles()) / np.sqrt(2) for _ in range(2))
            factor = np.zeros(shape + (3, 3), dtype=complex)
            factor[...] = np.eye(3)
            factor[..., i, i] = first.real + 1j * second.imag
            factor[..., i, j] = second.real + 1j * first.imag
            factor[..., j, i] = -factor[..., i, j].conj()
            factor[..., j, j] = factor[..., i, i].conj()
            links[..., mu, :, :] = links[..., mu, :, :] @ factor
    return links, [state >> 12 * n & 4095 for n in range(4)]


def staples(link, side, mu, nu):
    """The two staples of a link in direction mu whose sides are in direction nu."""
    below = adjoint(side) @ link @ ahead(side, mu)
    return side @ ahead(link, nu) @ adjoint(ahead(side, mu)) + behind(below, nu)


def smeared(link, staple):
    """exp(A) U with A the traceless anti-Hermitian part of `staple` U^+."""
    loop = staple @ adjoint(link)
    hermitian = (loop - adjoint(loop)) / 2j
    hermitian -= np.trace(hermitian, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3
    values, vectors = np.linalg.eigh(hermitian)
    return (vectors * np.exp(1j * values)[..., None, :]) @ adjoint(vectors) @ link


def by_direction(links):
    return [links[..., mu, :, :] for mu in range(4)]


def stout(links, rho, steps):
    """Stout smearing (hep-lat/0311018) of the spatial links with spatial staples."""
    for _ in range(steps):
        u = by_direction(links)
        space = [smeared(u[mu], rho * sum(staples(u[mu], u[nu], mu, nu) for nu in range(3) if nu != mu))
                 for mu in range(3)]
        links = np.stack(space + [u[3]], axis=-3)
    return links


def hex_smeared(links, steps, weights=(0.95, 0.76, 0.38)):
    """HEX smearing (hep-lat/0607006): stout steps within a hypercube. A link of the first level has staples in one
    direction only; of the second, in the two directions other than a given one."""
    for _ in range(steps):
        u = by_direction(links)
        pairs = [(mu, nu) for mu in range(4) for nu in range(4) if mu != nu]
        first = {(mu, nu): smeared(u[mu], weights[2] / 2 * staples(u[mu], u[nu], mu, nu)) for mu, nu in pairs}
        second = {}
        for mu, nu in pairs:
            sides = [rho for rho in range(4) if rho not in (mu, nu)]
            terms = (staples(first[mu, fourth], first[rho, fourth], mu, rho) for rho, fourth in (sides, sides[::-1]))
            second[mu, nu] = smeared(u[mu], weights[1] / 4 * sum(terms))
        third = [smeared(u[mu], weights[0] / 6 * sum(staples(second[mu, nu], second[nu, mu], mu, nu)
                                                     for nu in range(4) if nu != mu)) for mu in range(4)]
        links = np.stack(third, axis=-3)
    return links


def ape(links, weight, steps=100):
    """The spatial links that are nearest to `weight` U plus the spatial staples: SU(2) subgroup by SU(2) subgroup, Re tr of the
    product with the adjoint of that is made as large as it gets."""
    u, smeared_links = by_direction(links), []
    for mu in range(3):
        wanted = adjoint(weight * u[mu] + sum(staples(u[mu], u[nu], mu, nu) for nu in range(3) if nu != mu))
        link = u[mu].copy()
        for _ in range(steps):
            for i, j in ((0, 1), (0, 2), (1, 2)):
                product = link @ wanted
                a = (product[..., i, i] + product[..., j, j].conj()).conj()
                b = product[..., j, i] - product[..., i, j].conj()
                size = np.sqrt(np.abs(a) ** 2 + np.abs(b) ** 2)
                turn = np.zeros_like(link)
                turn[...] = np.eye(3)
                turn[..., i, i], turn[..., j, j] = a / size, a.conj() / size
                turn[..., i, j], turn[..., j, i] = b.conj() / size, -b / size
                link = turn @ link
        smeared_links.append(link)
    return np.stack(smeared_links + [u[3]], axis=-3)


def shell_source(links, width=2.0, steps=5):
    """Colors [t, z, y, x, sink, source] of a point at the origin after `steps` times 1 + width^2 / (4 steps) D^2, where
    D^2 is the covariant Laplacian in space."""
    shell = np.zeros(links.shape[:4] + (3, 3), dtype=complex)
    shell[0, 0, 0, 0] = np.eye(3)
    for _ in range(steps):
        laplacian = -6 * shell
        for link, mu in zip(by_direction(links), range(3)):
            laplacian = laplacian + link @ ahead(shell, mu) + behind(adjoint(link) @ shell, mu)
        shell = shell + width**2 / (4 * steps) * laplacian
    return shell


class ChromaPropagators(ProgramTest):
    def weak_field(self, dims):
        number = np.float64 if dims == (4, 4, 4, 4) else np.float32
        return weak_field(dims, number)[0]

    def check(self, correlator, published, bound=None):
        deviation = np.max(np.abs(np.array(correlator) / published["correlator"] - 1))
        print(f"{published['name']}: {deviation:.1e}")
        self.assertLessEqual(deviation, bound or published["bound"])

    def test_the_fields_are_those_of_chroma(self):
        for published in WEAK_FIELDS:
            with self.subTest(dims=published["dims"]):
                links, seed = weak_field(published["dims"], published["number"])
                self.assertEqual(seed, published["seed"])
                seen = independent.observables(links)
                planes = [seen["planes"][plane] for plane in ("xy", "xz", "yz", "xt", "yt", "zt")]
                self.assertLessEqual(np.max(np.abs(planes - published["planes"])), 1e-14)
                self.assertAlmostEqual(seen["link_trace"], published["link"], delta=1e-14)

    def test_the_file_is_that_field(self):
        if harness.DATA is None:
            self.skipTest(harness.WITHOUT_DATA)
        links, facts = lime_files.read_gauge(os.path.join(harness.DATA, "weak_field.lime"))
        self.assertLess(np.max(np.abs(links - self.weak_field(tuple(facts["dims"])))), 1e-15)

    def test_isotropic(self):
        file = self.path("field.lime")
        lime_files.write_gauge(file, hex_smeared(self.weak_field((4, 4, 4, 4)), 2), 64, "qio")
        for solver, bound in ((uniform(), None), (uniform("cg"), None),
                              (sloppy("bicgstab", "reliable", "half", 12, True, tolerance=1e-12), 1e-10),
                              (sloppy("cg", "defect", "single", 8, False, tolerance=1e-12), 1e-10)):
            with self.subTest(solver=solver_name(solver)):
                job = job_for(file, ISOTROPIC["params"], (0, 0, 0, 0), solver)
                results = self.run_job(job, out=solver_name(solver))
                self.check(results["correlators"]["mesons"]["pion"], ISOTROPIC, bound)

    def solved_from_shell(self, links, shell, out):
        """The correlator of the shell's propagator, from jobs with a point source at each of its sites."""
        file = self.path(f"{out}.lime")
        lime_files.write_gauge(file, links, 64, "qio")
        sites = [tuple(int(n) for n in site)[::-1] for site in np.argwhere(np.any(shell != 0, axis=(-2, -1)))]
        self.assertEqual(len(sites), 63)  # all of a time slice but the one six steps away
        job = job_for(file, ANISOTROPIC, (0, 0, 0, 0), uniform())
        job["run"] = [{"task": "propagator", "name": f"from_{n}", "source": {"type": "point", "site": site},
                       "save": {"file": f"from_{n}.lime", "precision": "double"}} for n, site in enumerate(sites)]
        results = self.run_job(job, out=out)
        propagator = 0
        for n, (x, y, z, t) in enumerate(sites):
            propagator = propagator + self.saved_propagator(results, out, f"from_{n}.lime") @ shell[t, z, y, x]
            os.remove(os.path.join(self.path(out), f"from_{n}.lime"))
        return independent.pion(propagator)

    def test_anisotropic(self):
        links = self.weak_field((4, 4, 4, 8))
        shell = shell_source(links)
        self.assertAlmostEqual(4 * np.sum(np.abs(shell) ** 2), 6.63399911108962, delta=1e-13)  # Source_correlator
        for published, used in ((SINGLE, links), (STOUT, stout(links, 0.22, 2))):
            with self.subTest(name=published["name"]):
                self.check(self.solved_from_shell(used, shell, published["name"]), published)

    def test_smeared_source(self):
        """The program's own smearing makes that shell."""
        file = self.path("field.lime")
        lime_files.write_gauge(file, self.weak_field((4, 4, 4, 8)), 64, "qio")
        job = job_for(file, ANISOTROPIC, (0, 0, 0, 0), uniform())
        job["run"][0]["source"]["smearing"] = {"type": "gaussian", "sigma": 2.0, "steps": 5}
        self.check(self.run_job(job)["correlators"]["mesons"]["pion"], SINGLE)

    def test_hadrons(self):
        """The contractions in numpy that those of the program are compared with give Chroma's mesons and baryons."""
        dims = (4, 4, 4, 8)
        links = self.weak_field(dims)
        shell = shell_source(ape(links, 2.5))
        self.assertAlmostEqual(4 * np.sum(np.abs(shell) ** 2) / HADRONS["source"], 1, delta=HADRONS["bound"])
        columns = np.ascontiguousarray(np.einsum("tzyxab,cd->bdtzyxac", shell, np.eye(4)))
        operator = {"type": "wilson", "kappa": 0.11, "boundary": ["periodic"] * 3 + ["antiperiodic"]}
        solved = Host(self).solve(links, dims, operator, uniform(), columns)
        quark = np.transpose(solved, (2, 3, 4, 5, 7, 1, 6, 0))
        size = HADRONS["mesons"]["pion"]
        for name, published in HADRONS["mesons"].items():
            matrix = correlator_tests.gamma(correlator_tests.MESONS[name])
            seen = correlator_tests.meson(quark, quark, matrix, matrix, 1)
            self.assertLess(np.max(np.abs(seen - published) / size), HADRONS["bound"], name)
        for name, published in HADRONS["moving"].items():
            matrix = correlator_tests.gamma(correlator_tests.MESONS[name])
            momenta = [n for n in correlator_tests.small_momenta(2) if np.dot(n, n) == 2]
            seen = np.mean([correlator_tests.meson(quark, quark, matrix, matrix, correlator_tests.phases(dims, n, (0, 0, 0)))
                            for n in momenta], axis=0)
            self.assertLess(np.max(np.abs(seen - published) / size), HADRONS["bound"], name)
        nucleon = correlator_tests.named_baryon("nucleon", quark, quark).sum(axis=(1, 2, 3))
        self.assertLess(np.max(np.abs(nucleon.real / HADRONS["nucleon"] - 1)), HADRONS["bound"])
        sink, spin = correlator_tests.delta_spins(1)
        parity = (np.eye(4) + independent.GAMMA[3]) / 2
        every = tuple(itertools.permutations(range(3)))
        delta = correlator_tests.baryon((quark,) * 3, sink, 2 * parity @ spin, every).sum(axis=(1, 2, 3))
        self.assertLess(np.max(np.abs(1.5 * delta.real / HADRONS["delta"] - 1)), HADRONS["bound"])

    def solved_by_host(self, dims, rho, norm, params, solver):
        """The correlator of the shell's propagator on smeared links. `norm`: Source_correlator of the output."""
        links = self.weak_field(dims)
        shell = shell_source(links)
        self.assertAlmostEqual(4 * np.sum(np.abs(shell) ** 2) / norm, 1, delta=1e-6)
        # Columns [source color, source spin, t, z, y, x, color, spin].
        columns = np.ascontiguousarray(np.einsum("tzyxab,cd->bdtzyxac", shell, np.eye(4)))
        operator = job_for("", params, (0, 0, 0, 0), solver)["operator"]
        solutions = Host(self).solve(stout(links, rho, 2), dims, operator, solver, columns)
        return (np.abs(solutions) ** 2).sum(axis=(0, 1, 3, 4, 5, 6, 7))

    def test_larger_field(self):
        correlator = self.solved_by_host((8, 8, 4, 16), 0.22, 5.08721730209889, ANISOTROPIC, uniform())
        self.check(correlator, LARGER)

    def test_finer_in_time(self):
        solver = sloppy("bicgstab", "reliable", "half", 12, True)
        correlator = self.solved_by_host((8, 8, 8, 32), 0.14, 4.39399408337828, FINER_IN_TIME["params"], solver)
        self.check(correlator, FINER_IN_TIME)


class Host:
    """A host that solves for its own right-hand sides by the C API."""

    def __init__(self, test):
        self.test = test
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(harness.PROGRAM), "libquadrille.so"))
        self.lib.quadrille_message.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        words = json.dumps({"threads": 1, "backend": harness.BACKEND}).encode()
        self.done(self.lib.quadrille_context_create(words, ctypes.byref(self.context)))
        test.addCleanup(lambda: self.done(self.lib.quadrille_context_destroy(self.context)))

    def done(self, status):
        self.test.assertEqual(status, 0, self.lib.quadrille_message(None))

    def make(self, function, parent, words, *more):
        made = ctypes.c_void_p()
        self.done(getattr(self.lib, function)(parent, json.dumps(words).encode(), *more, ctypes.byref(made)))
        return made

    def solve(self, links, dims, operator, solver, columns):
        """M^-1 of each column; the first two indices of the array count them."""
        links = np.ascontiguousarray(links)
        solutions = np.empty_like(columns)
        gauge = self.make("quadrille_gauge_from_memory", self.context, {"dims": dims},
                          (ctypes.c_void_p * 1)(links.ctypes.data), ctypes.c_size_t(1))
        system = self.make("quadrille_solver_create", self.make("quadrille_operator_create", gauge, operator), solver)
        b, x = ((ctypes.c_void_p * 12)(*(column.ctypes.data for spins in array for column in spins))
                for array in (columns, solutions))
        self.done(self.lib.quadrille_solver_solve(system, b'{"order": "color_spin"}', b, x, ctypes.c_size_t(12), None))
        return solutions


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
