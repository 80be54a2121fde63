#include "core/error.h"
#include "modules/md/system/amber_topology.h"
#include "modules/md/system/system_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

namespace quadrille::md {
namespace {

// Entries of POINTERS.
enum : std::size_t {
  natom = 0,
  ntypes = 1,
  nbonh = 2,
  ntheth = 4,
  nphih = 6,
  nnb = 10,
  nres = 11,
  nbona = 12,
  ntheta = 13,
  nphia = 14,
  numbnd = 15,
  numang = 16,
  nptra = 17,
  nphb = 19,
  ifbox = 27,
  numextra = 30
};

void refuse_unsupported(const AmberTopology& file) {
  const auto refuse = [&](const std::string& what, const std::string& flag, std::size_t number = 0) {
    file.fail(what + " are not supported", flag, number, ErrorCode::unsupported);
  };
  if (file.has("CTITLE")) refuse("CHAMBER topologies (CHARMM force fields)", "CTITLE");
  if (file.pointer(numextra) > 0) refuse("virtual sites (extra points)", "POINTERS", numextra);
  if (file.pointer(ifbox) == 2) refuse("truncated octahedra (IFBOX 2)", "POINTERS", ifbox);
  if (file.pointer(ifbox) > 2) refuse("triclinic boxes (IFBOX 3)", "POINTERS", ifbox);
  if (file.has("LENNARD_JONES_CCOEF")) refuse("12-6-4 terms", "LENNARD_JONES_CCOEF");
}

LennardJonesTable read_table(const AmberTopology& file) {
  const std::size_t types = file.counted(ntypes), coefficients = types * (types + 1) / 2;
  const std::vector<long> index = file.integers("NONBONDED_PARM_INDEX", types * types);
  const std::vector<double> a = file.reals("LENNARD_JONES_ACOEF", coefficients),
                            b = file.reals("LENNARD_JONES_BCOEF", coefficients);
  const std::vector<double> hydrogen_a = file.reals("HBOND_ACOEF", file.counted(nphb)),
                            hydrogen_b = file.reals("HBOND_BCOEF", file.counted(nphb));
  LennardJonesTable table;
  table.types = int(types);
  for (std::size_t n = 0; n < index.size(); ++n) {
    const long at = index[n];
    if (at < 0 && std::size_t(-at) <= hydrogen_a.size()) {  // a 10-12 term, which topologies of today have as zeros
      if (hydrogen_a[std::size_t(-at) - 1] != 0 || hydrogen_b[std::size_t(-at) - 1] != 0) {
        file.fail("10-12 terms (hydrogen bonds) are not supported", "NONBONDED_PARM_INDEX", n, ErrorCode::unsupported);
      }
      table.c12.push_back(0);
      table.c6.push_back(0);
      continue;
    }
    if (at < 1 || std::size_t(at) > coefficients) {
      file.fail(fmt::format("index {} of a Lennard-Jones coefficient: it must be 1 to {}", at, coefficients),
                "NONBONDED_PARM_INDEX", n);
    }
    table.c12.push_back(a[std::size_t(at) - 1]);
    table.c6.push_back(b[std::size_t(at) - 1]);
  }
  return table;
}

void read_particles(const AmberTopology& file, System& system) {
  const std::size_t atoms = file.counted(natom);
  system.masses = file.reals("MASS", atoms);
  for (const double charge : file.reals("CHARGE", atoms)) system.charges.push_back(charge / amber_charge);
  const std::vector<long> types = file.integers("ATOM_TYPE_INDEX", atoms);
  for (std::size_t i = 0; i < atoms; ++i) {
    if (types[i] < 1 || types[i] > file.pointer(ntypes)) {
      file.fail(fmt::format("atom {} has type {}: it must be 1 to {}", i + 1, types[i], file.pointer(ntypes)),
                "ATOM_TYPE_INDEX", i);
    }
    system.types.push_back(std::int32_t(types[i] - 1));
    if (system.masses[i] <= 0) {
      file.fail(fmt::format("atom {} has mass {:g}: virtual sites are not supported", i + 1, system.masses[i]), "MASS",
                i, ErrorCode::unsupported);
    }
  }
}

void read_exclusions(const AmberTopology& file, System& system) {
  const std::size_t atoms = file.counted(natom);
  const std::vector<long> counts = file.integers("NUMBER_EXCLUDED_ATOMS", atoms),
                          list = file.integers("EXCLUDED_ATOMS_LIST", file.counted(nnb));
  std::size_t at = 0;
  for (std::size_t i = 0; i < atoms; ++i) {
    for (long n = 0; n < counts[i]; ++n, ++at) {
      if (at >= list.size()) {
        file.fail(fmt::format("atom {} excludes more atoms than the {} that the list has", i + 1, list.size()),
                  "NUMBER_EXCLUDED_ATOMS", i);
      }
      if (list[at] == 0) continue;  // stands for none
      if (list[at] < 1 || std::size_t(list[at]) > atoms || list[at] == long(i) + 1) {
        file.fail(fmt::format("atom {} excludes atom {}: it must be 1 to {}", i + 1, list[at], atoms),
                  "EXCLUDED_ATOMS_LIST", at);
      }
      system.exclusions.emplace_back(std::int32_t(i), std::int32_t(list[at] - 1));
    }
  }
}

/// Records of `atoms` atoms, each three times its index, and a parameter; `add(record, parameter)`, parameter from 0.
template <class Add>
void read_bonded(const AmberTopology& file, const std::string& flag, std::size_t records, std::size_t atoms,
                 std::size_t parameters, Add add) {
  const std::vector<long> numbers = file.integers(flag, records * (atoms + 1));
  for (std::size_t n = 0; n < numbers.size(); n += atoms + 1) {
    for (std::size_t k = 0; k <= atoms; ++k) {
      const long number = numbers[n + k];
      const bool fits = k < atoms ? std::abs(number) % 3 == 0 && std::abs(number) / 3 < file.pointer(natom)
                                  : number >= 1 && std::size_t(number) <= parameters;
      if (!fits)
        file.fail(fmt::format("{} is not the number of any {} in this file", number, k < atoms ? "atom" : "parameter"),
                  flag, n + k);
    }
    add(numbers.data() + n, std::size_t(numbers[n + atoms]) - 1);
  }
}

std::int32_t atom(long number) { return std::int32_t(std::abs(number) / 3); }

void read_bonds(const AmberTopology& file, System& system) {
  const std::size_t kinds = file.counted(numbnd);
  const std::vector<double> k = file.reals("BOND_FORCE_CONSTANT", kinds),
                            length = file.reals("BOND_EQUIL_VALUE", kinds);
  const auto add = [&](const long* a, std::size_t kind) {
    system.bonds.push_back({atom(a[0]), atom(a[1]), k[kind], length[kind]});
  };
  read_bonded(file, "BONDS_INC_HYDROGEN", file.counted(nbonh), 2, kinds, add);
  read_bonded(file, "BONDS_WITHOUT_HYDROGEN", file.counted(nbona), 2, kinds, add);
}

void read_angles(const AmberTopology& file, System& system) {
  const std::size_t kinds = file.counted(numang);
  const std::vector<double> k = file.reals("ANGLE_FORCE_CONSTANT", kinds),
                            angle = file.reals("ANGLE_EQUIL_VALUE", kinds);
  const auto add = [&](const long* a, std::size_t kind) {
    system.angles.push_back({atom(a[0]), atom(a[1]), atom(a[2]), k[kind], angle[kind]});
  };
  read_bonded(file, "ANGLES_INC_HYDROGEN", file.counted(ntheth), 3, kinds, add);
  read_bonded(file, "ANGLES_WITHOUT_HYDROGEN", file.counted(ntheta), 3, kinds, add);
}

/// Torsions, and the 1-4 pairs of those whose third and fourth atoms are not marked by a sign: further terms of the
/// same torsion, rings, impropers.
void read_torsions(const AmberTopology& file, System& system) {
  const std::size_t kinds = file.counted(nptra);
  const std::vector<double> k = file.reals("DIHEDRAL_FORCE_CONSTANT", kinds),
                            periodicity = file.reals("DIHEDRAL_PERIODICITY", kinds),
                            phase = file.reals("DIHEDRAL_PHASE", kinds);
  for (std::size_t n = 0; n < kinds; ++n) {
    if (std::abs(periodicity[n]) <= 100 && periodicity[n] == std::floor(periodicity[n])) continue;
    file.fail(fmt::format("a torsion has the periodicity {:g}: it must be a whole number up to 100", periodicity[n]),
              "DIHEDRAL_PERIODICITY", n);
  }
  const auto factors = [&](const char* flag, double otherwise) {
    return file.has(flag) ? file.reals(flag, kinds) : std::vector<double>(kinds, otherwise);
  };
  const std::vector<double> scee = factors("SCEE_SCALE_FACTOR", 1.2), scnb = factors("SCNB_SCALE_FACTOR", 2.0);
  std::set<Exclusion> seen;
  const auto add = [&](const long* a, std::size_t kind) {
    system.torsions.push_back(
        {atom(a[0]), atom(a[1]), atom(a[2]), atom(a[3]), k[kind], std::abs(periodicity[kind]), phase[kind]});
    if (a[2] < 0 || a[3] < 0 || scee[kind] == 0 || scnb[kind] == 0) return;
    const auto [i, j] = std::minmax({atom(a[0]), atom(a[3])});
    if (!seen.insert({i, j}).second) return;
    const auto at = std::size_t(system.types[std::size_t(i)] * system.table.types + system.types[std::size_t(j)]);
    system.scaled_pairs.push_back({i, j, system.table.c12[at] / scnb[kind], system.table.c6[at] / scnb[kind],
                                   system.charges[std::size_t(i)] * system.charges[std::size_t(j)] / scee[kind]});
  };
  read_bonded(file, "DIHEDRALS_INC_HYDROGEN", file.counted(nphih), 4, kinds, add);
  read_bonded(file, "DIHEDRALS_WITHOUT_HYDROGEN", file.counted(nphia), 4, kinds, add);
}

/// Atoms before the first residue of the solvent.
std::int64_t solute_of(const AmberTopology& file) {
  if (file.pointer(ifbox) == 0 || !file.has("SOLVENT_POINTERS")) return 0;
  const long last = file.integers("SOLVENT_POINTERS", 3)[0];
  const std::vector<long> residues = file.integers("RESIDUE_POINTER", file.counted(nres));
  if (last < 0 || last > long(residues.size())) {
    file.fail(fmt::format("there is no residue {}: the file has {}", last, residues.size()), "SOLVENT_POINTERS");
  }
  return last == long(residues.size()) ? file.pointer(natom) : residues[std::size_t(last)] - 1;
}

/// Sizes of what follows the coordinates.
struct CoordinateTail {
  std::size_t velocities, box;
};

/// What `rest` numbers after `expected` coordinates are. A box has 3 or 6 numbers, and must be there where the topology
/// announces it. Of few atoms velocities and a box can be as many: with a box in the topology they are a box.
std::optional<CoordinateTail> tail_of(std::size_t rest, std::size_t expected, bool boxed) {
  for (const std::size_t box : {0, 6, 3}) {
    for (const std::size_t velocities : {std::size_t(0), expected}) {
      if (rest == velocities + box && (box > 0 || !boxed)) return CoordinateTail{velocities, box};
    }
  }
  return {};
}

std::string tail_trouble(std::size_t rest, std::size_t expected, long count) {
  if (rest == 0 || rest == expected) return "the file ends before the box, which the topology announces (IFBOX 1)";
  if (rest < expected) {
    return fmt::format(
        "the file ends in the middle of the velocities, at atom {} of {}; what follows the coordinates must be {} "
        "numbers of velocities, 3 or 6 of the box, or both",
        rest / 3 + 1, count, expected);
  }
  return fmt::format("{} numbers after the velocities: the box has 3 or 6", rest - expected);
}

void read_box(const TextLines& lines, std::span<const double> numbers, System& system) {
  const std::size_t last = lines.count() - 1;
  std::copy_n(numbers.begin(), 3, system.box.begin());
  for (std::size_t k = 0; k < 3; ++k) {
    if (!(numbers[k] > 0))
      lines.fail(fmt::format("edge {} of the box is {:g}: it must be above 0", "xyz"[k], numbers[k]), last);
    if (numbers.size() == 6 && numbers[3 + k] != 90) {
      lines.fail(fmt::format("the box has an angle of {:g} degrees: triclinic boxes are not supported", numbers[3 + k]),
                 last, 0, ErrorCode::unsupported);
    }
  }
}

/// Coordinates, perhaps velocities, perhaps the box: numbers of 12 characters, six a line. AMBER's unit of time is that
/// of its energies, lengths and masses, so that velocities stay as they are.
void read_coordinates(const std::string& path, bool boxed, System& system) {
  constexpr std::size_t width = 12, per_line = 6;
  const TextLines lines(path);
  if (lines.count() < 2) lines.fail("the file ends before the number of atoms", lines.count());
  const std::vector<TextLines::Word> head = lines.words(1);
  if (head.empty()) lines.fail("the second line must begin with the number of atoms", 1);
  const long count = lines.integer(1, head[0].column, head[0].width);
  if (count != system.size()) {
    lines.fail(fmt::format("{} atoms, but the topology has {}", count, system.size()), 1, head[0].column);
  }
  std::vector<double> numbers;
  for (std::size_t line = 2; line < lines.count(); ++line) {
    for (std::size_t k = 0; k < per_line && !lines.trimmed(line, k * width, width).empty(); ++k) {
      numbers.push_back(lines.real(line, k * width, width));
    }
  }
  const auto expected = 3 * std::size_t(count);
  if (numbers.size() < expected) {
    lines.fail(fmt::format("the file ends in the middle of atom {} of {}", numbers.size() / 3 + 1, count),
               lines.count());
  }
  const std::size_t rest = numbers.size() - expected;
  const std::optional<CoordinateTail> tail = tail_of(rest, expected, boxed);
  if (!tail) lines.fail(tail_trouble(rest, expected, count), lines.count());
  const std::span<const double> all(numbers), velocities = all.subspan(expected, tail->velocities);
  system.positions.assign(numbers.begin(), numbers.begin() + std::ptrdiff_t(expected));
  system.velocities.assign(velocities.begin(), velocities.end());
  if (boxed) read_box(lines, all.last(tail->box), system);
}

}  // namespace

System read_amber(const std::string& topology, const std::string& coordinates) {
  const AmberTopology file(topology);
  refuse_unsupported(file);
  System system;
  system.name = topology;
  system.coulomb_constant = amber_coulomb_constant;
  system.table = read_table(file);
  read_particles(file, system);
  read_exclusions(file, system);
  read_bonds(file, system);
  read_angles(file, system);
  read_torsions(file, system);
  system.solute = solute_of(file);
  read_coordinates(coordinates, file.pointer(ifbox) != 0, system);
  return system;
}

}  // namespace quadrille::md
