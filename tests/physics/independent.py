#!/usr/bin/env python3
"""A small independent program: random SU(3) fields, plaquettes, Wilson propagators and pions in plain numpy.

It shares no code with Quadrille and solves in another way (the full matrix, CG on the normal equations, all twelve
columns at once, iterative refinement), so that agreement between the two proves the physics.

    independent.py write FILE --dims 4 2 6 8 --seed 1 --epsilon 0.4 [--precision 32] [--order tmlqcd]
    independent.py check FILE                     checksums, plaquettes, link trace as JSON
    independent.py propagator FILE --mass 0.1 --site 1 0 3 2 --boundary 0.3 0.5 0 1 [--xi0 2.464 --nu 0.95] [--mu 0.2]
                                                  [--csw-r 0.91 --csw-t 1.07 [--exponential]] [--chemical-potential 0.3]
    independent.py expected FOLDER                compares itself with FOLDER/expected.json

Conventions: M = (m + 1 + 3 nu/xi0) + i mu g_5 + C - 1/2 sum_mu c_mu [(1 - g_mu) U_mu(x) psi(x+mu) + (1 + g_mu) U_mu(x-mu)^+ psi(x-mu)],
c = nu/xi0 in space, exp(+-chemical_potential) from t+-1; the clover term C = (i/2) sum_{mu<nu} c_mu nu sigma_mu nu F_mu nu with sigma = (i/2) [g_mu,
g_nu], F = (Q - Q^+) / 8, Q the four plaquettes around a site, c = csw_r / xi0 in space and csw_t with t (or, exponentiated, d exp(C / d) with d = m + 1 + 3 nu/xi0 in place of d + C); the factor exp(i pi phase_mu) multiplies the forward link that leaves the last slice;
gammas in the DeGrand-Rossi basis; every 4-vector is x, y, z, t.
"""

import argparse
import json
import os
import sys

import numpy as np

import lime_files

GAMMA = np.zeros((4, 4, 4), dtype=complex)
GAMMA[0] = [[0, 0, 0, 1j], [0, 0, 1j, 0], [0, -1j, 0, 0], [-1j, 0, 0, 0]]
GAMMA[1] = [[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]]
GAMMA[2] = [[0, 0, 1j, 0], [0, 0, 0, -1j], [-1j, 0, 0, 0], [0, 1j, 0, 0]]
GAMMA[3] = [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
GAMMA5 = GAMMA[0] @ GAMMA[1] @ GAMMA[2] @ GAMMA[3]

AXIS = (3, 2, 1, 0)  # the array axis of direction mu: arrays are [t, z, y, x, ...]


def ahead(field, mu):
    """f(x + mu), periodic."""
    return np.roll(field, -1, AXIS[mu])


def behind(field, mu):
    """f(x - mu), periodic."""
    return np.roll(field, 1, AXIS[mu])


def adjoint(links):
    return np.conj(np.swapaxes(links, -1, -2))


def random_links(dims, epsilon, seed):
    """exp(i epsilon H) with Gaussian traceless Hermitian H, one for each link."""
    rng = np.random.default_rng(seed)
    shape = tuple(dims)[::-1] + (4, 3, 3)
    matrix = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    hermitian = (matrix + adjoint(matrix)) / 2
    hermitian -= np.trace(hermitian, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3
    values, vectors = np.linalg.eigh(hermitian)
    return (vectors * np.exp(1j * epsilon * values)[..., None, :]) @ adjoint(vectors)


def trace_average(matrices):
    return float(np.trace(matrices, axis1=-2, axis2=-1).real.mean() / 3)


def plane_name(plane):
    """"xy" for expected.json's "01"."""
    return "".join("xyzt"[int(mu)] for mu in plane)


def observables(links):
    """plaquette, planes {"xy".."zt"} and link_trace: averages of Re tr / 3."""
    planes = {}
    for mu in range(4):
        for nu in range(mu + 1, 4):
            u, v = links[..., mu, :, :], links[..., nu, :, :]
            planes["xyzt"[mu] + "xyzt"[nu]] = trace_average(u @ ahead(v, mu) @ adjoint(v @ ahead(u, nu)))
    return {"plaquette": sum(planes.values()) / 6, "planes": planes, "link_trace": trace_average(links)}


def field_strength(links, mu, nu):
    """(Q - Q^+) / 8 of a plane, [t, z, y, x, 3, 3]."""
    u, v = links[..., mu, :, :], links[..., nu, :, :]
    u_back, v_back = behind(u, mu), behind(v, nu)  # U_mu(x - mu), U_nu(x - nu)
    q = u @ ahead(v, mu) @ adjoint(ahead(u, nu)) @ adjoint(v)
    q = q + v @ adjoint(ahead(u_back, nu)) @ adjoint(behind(v, mu)) @ u_back
    q = q + adjoint(u_back) @ adjoint(behind(v_back, mu)) @ behind(u_back, nu) @ v_back
    q = q + adjoint(v_back) @ behind(u, nu) @ ahead(v_back, mu) @ adjoint(u)
    return (q - adjoint(q)) / 8


class Wilson:
    """The full Wilson matrix on fields [t, z, y, x, color, spin, column]. `phase` is theta/pi for x, y, z, t; `mu` the twisted
    mass, csw_r and csw_t the clover coefficients; `exponential`: d exp(C / d) in place of d + C, d the diagonal; hops from t+-1
    have the factor exp(+-chemical_potential)."""

    def __init__(self, links, mass, phase, xi0=1.0, nu=1.0, mu=0.0, csw_r=0.0, csw_t=0.0, exponential=False,
                 chemical_potential=0.0):
        self.twist = 1j * mu * GAMMA5
        space = nu / xi0
        diagonal = mass + 1 + 3 * space
        clover = np.zeros(links.shape[:4] + (12, 12), dtype=complex)
        for a in range(4):
            for b in range(a + 1, 4):
                c = csw_t if b == 3 else csw_r / xi0
                if c != 0:
                    sigma = 0.5j * (GAMMA[a] @ GAMMA[b] - GAMMA[b] @ GAMMA[a])
                    colors = field_strength(links, a, b)
                    clover += np.einsum("...ij,ab->...iajb", colors, 0.5j * c * sigma).reshape(clover.shape)
        self.site = diagonal * np.eye(12) + clover
        power = clover
        for n in range(2, 40 if exponential else 2):
            power = power @ clover / (n * diagonal)
            self.site += power
        self.forward = []
        for mu in range(4):
            link = links[..., mu, :, :].copy()
            last = [slice(None)] * 4
            last[AXIS[mu]] = -1
            link[tuple(last)] *= np.exp(1j * np.pi * phase[mu])
            self.forward.append(link * (space if mu < 3 else 1.0))
        self.backward = [behind(adjoint(link), mu) for mu, link in enumerate(self.forward)]
        self.ahead_in_time = np.exp(chemical_potential)

    def inverse_site(self, psi, sign=1):
        """A^-1 psi, A what of M is local to a site; with sign -1 of the adjoint."""
        columns = psi.shape[:4] + (12, -1)
        local = self.site + sign * np.kron(np.eye(3), self.twist)
        return np.linalg.solve(local, psi.reshape(columns)).reshape(psi.shape)

    def __call__(self, psi, sign=1):
        """M psi; with sign -1 the adjoint of M (the projectors exchanged, the twisted mass and the chemical potential of the
        other sign)."""
        columns = psi.shape[:4] + (12, -1)
        result = (self.site @ psi.reshape(columns)).reshape(psi.shape) + sign * (self.twist @ psi)
        merged = psi.shape[:5] + (-1,)
        for mu in range(4):
            for link, hopped, side in (
                (self.forward[mu], ahead(psi, mu), -sign),
                (self.backward[mu], behind(psi, mu), sign),
            ):
                moved = (link @ hopped.reshape(merged)).reshape(psi.shape)
                if mu == 3:
                    moved *= self.ahead_in_time ** -side
                result -= (0.5 * (np.eye(4) + side * GAMMA[mu])) @ moved
        return result


class EvenOdd:
    """A - H A^-1 H of a Wilson matrix on the sites of one parity, or when `symmetric` 1 - A^-1 H A^-1 H."""

    def __init__(self, matrix, shape, parity, symmetric):
        t, z, y, x = np.indices(shape)
        self.kept = ((t + z + y + x) % 2 == parity)[..., None, None, None]
        self.matrix, self.symmetric = matrix, symmetric

    def __call__(self, psi, sign=1):
        if self.symmetric and sign < 0:
            psi = self.matrix.inverse_site(psi, sign)
        hop = self.matrix(psi, sign) * ~self.kept
        result = self.matrix(psi - self.matrix.inverse_site(hop, sign), sign) * self.kept
        return self.matrix.inverse_site(result, sign) if self.symmetric and sign > 0 else result


def shifted_solution(operator, shift, source, goal=1e-13, iterations=20000):
    """(S^+ S + shift) x = source by CG."""
    x, residual = np.zeros_like(source), source.copy()
    direction, square = residual.copy(), dots(residual, residual)
    stop = square * goal**2
    for _ in range(iterations):
        image = operator(operator(direction), -1) + shift * direction
        alpha = square / dots(direction, image)
        x += alpha * direction
        residual -= alpha * image
        before, square = square, dots(residual, residual)
        if np.all(square <= stop):
            break
        direction = residual + (square / before) * direction
    return x


def dots(a, b):
    """Re <a, b> for each column."""
    return (a.real * b.real + a.imag * b.imag).sum(axis=tuple(range(6)))


def solve(matrix, source, goal=1e-15, refinements=6, iterations=5000):
    """M x = source for all columns: CG on M^+ M x = M^+ r, restarted from the true residual until it reaches `goal`."""
    x = np.zeros_like(source)
    norm = np.sqrt(dots(source, source))
    best = np.inf
    for _ in range(refinements):
        defect = source - matrix(x)
        size = float(np.max(np.sqrt(dots(defect, defect)) / norm))
        if size <= goal or size > 0.5 * best:
            break
        best = size
        residual = matrix(defect, -1)
        direction, update = residual.copy(), np.zeros_like(x)
        square = dots(residual, residual)
        stop = square * 1e-18
        for _ in range(iterations):
            image = matrix(direction)
            alpha = square / np.maximum(dots(image, image), 1e-300)
            update += alpha * direction
            residual -= alpha * matrix(image, -1)
            before, square = square, dots(residual, residual)
            if np.all(square <= stop):
                break
            direction = residual + (square / np.maximum(before, 1e-300)) * direction
        x += update
    return x


def point_propagator(links, mass, phase, site, **terms):
    """S [t, z, y, x, sink spin, source spin, sink color, source color] and its true relative residual."""
    matrix = Wilson(links, mass, phase, **terms)
    source = np.zeros(links.shape[:4] + (3, 4, 12), dtype=complex)
    x, y, z, t = site
    source[t, z, y, x] = np.eye(12).reshape(3, 4, 12)  # column 4 color + spin
    solution = solve(matrix, source)
    defect = source - matrix(solution)
    residual = float(np.sqrt(dots(defect, defect)).max())
    color_spin = solution.reshape(links.shape[:4] + (3, 4, 3, 4))
    return np.transpose(color_spin, (0, 1, 2, 3, 5, 7, 4, 6)), residual


def pion(propagator):
    """sum over space, spins and colors of |S|^2 for each absolute time slice."""
    return (np.abs(propagator) ** 2).sum(axis=tuple(range(1, 8)))


def boundary_phases(factors):
    """theta/pi of the signs in expected.json."""
    return [0.0 if factor == 1 else 1.0 for factor in factors]


def element(propagator, name):
    """S(x,y,z,t)_abcd of expected.json: sink spin a, sink color b, source spin c, source color d."""
    place, indices = name[2:].split(")_")
    x, y, z, t = (int(word) for word in place.split(","))
    a, b, c, d = (int(digit) for digit in indices)
    return propagator[t, z, y, x, a, c, b, d]


def deviations(case, propagator, correlator):
    """(largest |S - S_ref| / max |S_ref|, largest |C - C_ref| / C_ref) against a case of expected.json."""
    differences = [abs(element(propagator, name) - complex(*value)) for name, value in case["elements"].items()]
    reference = np.array(case["pion"])
    return (
        max(differences) / case["max_abs_S"],
        float(np.max(np.abs(np.array(correlator) - reference) / reference)),
    )


def compare_with_expected(folder):
    with open(os.path.join(folder, "expected.json")) as stream:
        cases = json.load(stream)["cases"]
    worst = 0.0
    for case in cases:
        links, facts = lime_files.read_gauge(os.path.join(folder, case["file"]))
        assert facts["dims"] == case["dims"]
        seen = observables(links)
        gluonic = max(abs(seen[name] - case[name]) for name in ("plaquette", "link_trace"))
        gluonic = max([gluonic] + [abs(seen["planes"][plane_name(plane)] - value) for plane, value in case["planes"].items()])
        params = dict(case["params"])
        phase = boundary_phases(params.pop("bc"))
        propagator, residual = point_propagator(links, phase=phase, site=case["at"], **params)
        element_error, pion_error = deviations(case, propagator, pion(propagator))
        worst = max(worst, gluonic, element_error, pion_error)
        print(f"{case['file']} {case['params']}: gluonic {gluonic:.1e}, residual {residual:.1e}, "
              f"elements {element_error:.1e}, pion {pion_error:.1e}")
    print(f"worst {worst:.1e} over {len(cases)} cases")
    return 0 if cases and worst <= 1e-11 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write")
    write.add_argument("file")
    write.add_argument("--dims", type=int, nargs=4, required=True)
    write.add_argument("--seed", type=int, default=1)
    write.add_argument("--epsilon", type=float, default=0.4)
    write.add_argument("--precision", type=int, choices=(32, 64), default=64)
    write.add_argument("--order", choices=("qio", "tmlqcd"), default="qio")
    commands.add_parser("check").add_argument("file")
    point = commands.add_parser("propagator")
    point.add_argument("file")
    point.add_argument("--mass", type=float, required=True)
    point.add_argument("--site", type=int, nargs=4, default=(0, 0, 0, 0))
    point.add_argument("--boundary", type=float, nargs=4, default=(0, 0, 0, 1), help="theta/pi for x, y, z, t")
    point.add_argument("--xi0", type=float, default=1.0)
    point.add_argument("--nu", type=float, default=1.0)
    point.add_argument("--mu", type=float, default=0.0)
    point.add_argument("--csw-r", type=float, default=0.0)
    point.add_argument("--csw-t", type=float, default=0.0)
    point.add_argument("--exponential", action="store_true")
    point.add_argument("--chemical-potential", type=float, default=0.0)
    commands.add_parser("expected").add_argument("folder")
    args = parser.parse_args()

    if args.command == "write":
        links = random_links(args.dims, args.epsilon, args.seed)
        lime_files.write_gauge(args.file, links, args.precision, args.order)
        return 0
    if args.command == "expected":
        return compare_with_expected(args.folder)
    links, facts = lime_files.read_gauge(args.file)
    if args.command == "check":
        facts["checksum"] = [f"{word:x}" for word in facts["checksum"]]
        print(json.dumps({**facts, **observables(links)}, indent=1))
        return 0
    propagator, residual = point_propagator(links, args.mass, args.boundary, args.site,
                                            **{name: getattr(args, name) for name in ("xi0", "nu", "mu", "csw_r", "csw_t", "exponential",
                                                                                      "chemical_potential")})
    print(json.dumps({"residual": residual, "pion": list(pion(propagator))}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
