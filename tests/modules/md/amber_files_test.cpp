// AMBER coordinates with velocities and boxes, in files made here, for free atoms.
#include "core/error.h"
#include "modules/md/system/system_files.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace quadrille::md {
namespace {

using ::testing::HasSubstr;

/// Numbers of this width, so many a line.
template <class Value>
std::string fixed_lines(const std::vector<Value>& values, int per_line, int width, const char* precision) {
  std::string out;
  for (std::size_t n = 0; n < values.size(); ++n) {
    out += fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", width, precision)), values[n]);
    if (int(n + 1) % per_line == 0 && n + 1 < values.size()) out += '\n';
  }
  return out + '\n';
}

class AmberCoordinates : public ::testing::Test {
 protected:
  /// A topology of free atoms, in a box or not, and a file of these numbers.
  System read(std::size_t atoms, bool boxed, const std::vector<double>& numbers) {
    write("a.prmtop", topology(atoms, boxed));
    write("a.restrt", fmt::format("made by a test\n{:5}  0.5000000E+01\n", atoms) + fixed_lines(numbers, 6, 12, ".7f"));
    return read_amber(folder_.file("a.prmtop"), folder_.file("a.restrt"));
  }
  std::string error_of(std::size_t atoms, bool boxed, const std::vector<double>& numbers) {
    try {
      read(atoms, boxed, numbers);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::string error_of_files(const std::string& coordinates) const {
    try {
      read_amber(folder_.file("a.prmtop"), folder_.file(coordinates));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static std::string topology(std::size_t atoms, bool boxed) {
    std::vector<long> pointers(31);
    pointers[0] = long(atoms);
    pointers[1] = 1;
    pointers[27] = boxed;
    std::string out;
    const auto reals = [&](const char* flag, const std::vector<double>& values) {
      out += fmt::format("%FLAG {}\n%FORMAT(5E16.8)\n", flag) + fixed_lines(values, 5, 16, ".8E");
    };
    const auto integers = [&](const char* flag, const std::vector<long>& values) {
      out += fmt::format("%FLAG {}\n%FORMAT(10I8)\n", flag) + fixed_lines(values, 10, 8, "");
    };
    integers("POINTERS", pointers);
    integers("NONBONDED_PARM_INDEX", {1});
    for (const char* flag : {"LENNARD_JONES_ACOEF", "LENNARD_JONES_BCOEF"}) reals(flag, {1});
    reals("MASS", std::vector<double>(atoms, 12.5));
    reals("CHARGE", std::vector<double>(atoms, 0));
    integers("ATOM_TYPE_INDEX", std::vector<long>(atoms, 1));
    integers("NUMBER_EXCLUDED_ATOMS", std::vector<long>(atoms, 0));
    for (const char* flag :
         {"HBOND_ACOEF", "HBOND_BCOEF", "BOND_FORCE_CONSTANT", "BOND_EQUIL_VALUE", "ANGLE_FORCE_CONSTANT",
          "ANGLE_EQUIL_VALUE", "DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE"})
      reals(flag, {});
    for (const char* flag :
         {"EXCLUDED_ATOMS_LIST", "BONDS_INC_HYDROGEN", "BONDS_WITHOUT_HYDROGEN", "ANGLES_INC_HYDROGEN",
          "ANGLES_WITHOUT_HYDROGEN", "DIHEDRALS_INC_HYDROGEN", "DIHEDRALS_WITHOUT_HYDROGEN"})
      integers(flag, {});
    return out;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.file(name)) << text; }

 private:
  const testing::TemporaryFolder folder_;
};

/// 1.125, 2.125, ...: numbers that the file holds exactly, each another one.
std::vector<double> counted_from(double first, std::size_t count) {
  std::vector<double> out(count);
  for (std::size_t n = 0; n < count; ++n) out[n] = first + double(n) + 0.125;
  return out;
}

std::vector<double> joined(std::initializer_list<std::vector<double>> parts) {
  std::vector<double> out;
  for (const std::vector<double>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

const std::vector<double> edges{20, 30, 40}, box_line{20, 30, 40, 90, 90, 90};

TEST_F(AmberCoordinates, MayHaveVelocitiesAndABox) {
  for (const std::size_t atoms : {1, 2, 3, 4, 7}) {
    const std::vector<double> x = counted_from(1, 3 * atoms), v = counted_from(-9, 3 * atoms), none;
    for (const bool boxed : {false, true}) {
      for (const std::vector<double>& velocities : {none, v}) {
        for (const std::vector<double>& box : {none, edges, box_line}) {
          if (boxed == box.empty()) continue;
          if (atoms == 1 && velocities.size() + box.size() == 6 && box.size() == 3) continue;  // that is a box
          const System system = read(atoms, boxed, joined({x, velocities, box}));
          const std::string what = fmt::format("{} atoms, {} and {} numbers", atoms, velocities.size(), box.size());
          EXPECT_EQ(system.positions, x) << what;
          EXPECT_EQ(system.velocities, velocities) << what;
          const std::vector<double> found(system.box.begin(), system.box.end());
          EXPECT_EQ(found, boxed ? edges : std::vector<double>(3)) << what;
        }
      }
    }
  }
}

/// The box of a file whose topology has none is not used, and is not taken for velocities.
TEST_F(AmberCoordinates, MayHaveABoxThatTheTopologyLacks) {
  const std::vector<double> x = counted_from(1, 12), v = counted_from(-9, 12);
  EXPECT_TRUE(read(4, false, joined({x, box_line})).velocities.empty());
  EXPECT_EQ(read(4, false, joined({x, v, box_line})).velocities, v);
}

TEST_F(AmberCoordinates, ThatAreCutShortAreRefused) {
  const std::vector<double> x = counted_from(1, 21), v = counted_from(-9, 21);
  const std::vector<double> whole = joined({x, v, box_line});
  const auto cut = [&](std::size_t count) {
    return error_of(7, true, {whole.begin(), whole.begin() + std::ptrdiff_t(count)});
  };
  EXPECT_THAT(cut(17), HasSubstr("a.restrt:6:1: the file ends in the middle of atom 6 of 7"));
  EXPECT_THAT(cut(21), HasSubstr("a.restrt:7:1: the file ends before the box"));
  EXPECT_THAT(cut(33), HasSubstr("a.restrt:9:1: the file ends in the middle of the velocities, at atom 5 of 7"));
  EXPECT_THAT(cut(42), HasSubstr("ends before the box, which the topology announces"));
  EXPECT_THAT(cut(44), HasSubstr("2 numbers after the velocities: the box has 3 or 6"));
  EXPECT_THAT(error_of(7, true, joined({x, v, v, box_line})), HasSubstr("27 numbers after the velocities"));
  EXPECT_THAT(error_of(7, true, joined({x, v, {20, 30, 40, 90, 70, 90}})), HasSubstr("triclinic"));
}

TEST_F(AmberCoordinates, InNetCdfAreNamed) {
  write("a.prmtop", topology(1, false));
  for (const std::string start : {"CDF\x01", "CDF\x02", "\x89HDF\r\n"}) {
    write("a.ncrst", start + std::string(100, '\0'));
    EXPECT_THAT(error_of_files("a.ncrst"),
                AllOf(HasSubstr("a.ncrst: this is a NetCDF file"), HasSubstr("ntxo = 1"), HasSubstr("cpptraj")));
  }
  write("a.bin", std::string("a title\nx\0", 10));
  EXPECT_THAT(error_of_files("a.bin"), HasSubstr("a.bin:2:2: this is not a text file: there is a NUL here"));
  EXPECT_THAT(error_of_files("none"), HasSubstr("none: no such file"));
  EXPECT_THAT(error_of_files("."), HasSubstr("this is not a regular file"));
}

/// The format of POINTERS is changed: the first one of the file.
class AmberFormat : public AmberCoordinates {
 protected:
  std::string error_with(const std::string& format) {
    std::string text = topology(2, false);
    text.replace(text.find("%FORMAT(10I8)"), 13, format);
    write("a.prmtop", text);
    write("a.restrt", "made by a test\n    2\n" + fixed_lines(counted_from(1, 6), 6, 12, ".7f"));
    return error_of_files("a.restrt");
  }
};

TEST_F(AmberFormat, OfOtherSpellingsIsRead) {
  for (const char* format :
       {"%FORMAT(10I8)", "%FORMAT(10i8)  ", "%FORMAT( 10I8 )", "%FORMAT(10I8.4)", "%FORMAT(10a8)x"})
    EXPECT_EQ(error_with(format), "no error") << format;
}

TEST_F(AmberFormat, ThatCannotBeIsRefused) {
  const std::string nines(23, '9'), spaces(100000, ' ');
  for (const std::string& format :
       {std::string("%FORMAT(0I8)"), std::string("%FORMAT(10I0)"), "%FORMAT(" + nines + "I8)",
        "%FORMAT(10I" + nines + ")", std::string("%FORMAT(10001I8)"), "%FORMAT" + spaces, "%FORMAT(" + spaces,
        "%FORMAT(10I8" + spaces, std::string("%FORMAT"), std::string("%FORMAT("), std::string("%FORMAT(10"),
        std::string("%FORMAT(10I"), std::string("%FORMAT(10I8."), std::string("%FORMAT(10X8)"),
        std::string("%FORMAT(-1I8)")})
    EXPECT_THAT(error_with(format), HasSubstr("a.prmtop:2:1: %FORMAT must be like (10I8) or (5E16.8)"))
        << format.substr(0, 40);
}

}  // namespace
}  // namespace quadrille::md
