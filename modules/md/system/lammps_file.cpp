#include "core/error.h"
#include "modules/md/system/system_files.h"
#include "modules/md/system/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace quadrille::md {
namespace {

struct Coefficients {
  double epsilon = 0, sigma = 0;
};

class LammpsFile {
 public:
  LammpsFile(const std::string& path, Mixing mixing) : lines_(path), mixing_(mixing) {}

  System read() {
    system_.name = "LAMMPS data";
    std::size_t at = read_header();
    if (atoms_ < 1 || types_ < 1) lines_.fail("the header must give 'N atoms' and 'N atom types'", at);
    while (at < lines_.count()) at = read_section(at);
    if (system_.positions.empty()) lines_.fail("the file ends without a section Atoms", at);
    make_table();
    return system_;
  }

 private:
  using Words = std::vector<TextLines::Word>;

  std::string word(std::size_t line, const Words& words, std::size_t n) const {
    return n < words.size() ? lines_.trimmed(line, words[n].column, words[n].width) : "";
  }
  double real(std::size_t line, const Words& words, std::size_t n) const {
    if (n >= words.size())
      lines_.fail(fmt::format("the line has {} words: it needs at least {}", words.size(), n + 1), line);
    return lines_.real(line, words[n].column, words[n].width);
  }
  long integer(std::size_t line, const Words& words, std::size_t n, long most, const char* what) const {
    if (n >= words.size())
      lines_.fail(fmt::format("the line has {} words: it needs at least {}", words.size(), n + 1), line);
    const long value = lines_.integer(line, words[n].column, words[n].width);
    if (value < 1 || value > most) {
      lines_.fail(fmt::format("{} {}: it must be 1 to {}", what, value, most), line, words[n].column);
    }
    return value;
  }

  /// Up to the first section, whose line is returned. The first line is a title.
  std::size_t read_header() {
    std::size_t line = 1;
    for (; line < lines_.count(); ++line) {
      const Words words = lines_.words(line);
      if (words.empty()) continue;
      if (std::isalpha(static_cast<unsigned char>(word(line, words, 0)[0]))) break;
      read_count_or_edge(line, words);
    }
    return line;
  }

  void read_count_or_edge(std::size_t line, const Words& words) {
    const std::string second = word(line, words, 1), third = word(line, words, 2);
    if (second == "atoms") {
      atoms_ = integer(line, words, 0, 1L << 30, "number of atoms");
    } else if (second == "atom" && third == "types") {
      types_ = integer(line, words, 0, 1L << 15, "number of types");
    } else if (third == "xlo" || third == "ylo" || third == "zlo") {
      const auto k = std::size_t(third[0] - 'x');
      low_[k] = real(line, words, 0);
      system_.box[k] = real(line, words, 1) - low_[k];
      if (!(system_.box[k] > 0)) lines_.fail("the second number must be above the first", line, words[1].column);
    } else if (words.size() > 3 && word(line, words, 3) == "xy") {
      lines_.fail("triclinic boxes are not supported", line, 0, ErrorCode::unsupported);
    } else if (real(line, words, 0) != 0) {
      lines_.fail("'" + second + (third.empty() ? "" : " " + third) + "' are not supported", line, words[0].column,
                  ErrorCode::unsupported);
    }
  }

  /// The section that begins here; returns the line after it.
  std::size_t read_section(std::size_t line) {
    const Words words = lines_.words(line);
    if (words.empty()) return line + 1;
    std::string name = word(line, words, 0);
    for (std::size_t n = 1; n < words.size(); ++n) name.append(1, ' ').append(word(line, words, n));
    const std::size_t heading = line++;
    std::size_t count = 0, expected = 0;
    const auto each = [&](auto read) {
      for (; line < lines_.count() && count < expected; ++line) {
        const Words entry = lines_.words(line);
        if (entry.empty()) continue;
        read(line, entry);
        ++count;
      }
    };
    const auto types = std::size_t(types_), atoms = std::size_t(atoms_);
    if (name == "Atoms") {
      expected = atoms;
      begin_atoms(heading);
      each([&](std::size_t at, const Words& entry) { read_atom(at, entry); });
    } else if (name == "Masses") {
      expected = types;
      masses_.assign(types, 1);
      each([&](std::size_t at, const Words& entry) {
        masses_[std::size_t(integer(at, entry, 0, types_, "type")) - 1] = real(at, entry, 1);
      });
    } else if (name == "Pair Coeffs") {
      expected = types;
      own_.assign(types, {});
      each([&](std::size_t at, const Words& entry) {
        own_[std::size_t(integer(at, entry, 0, types_, "type")) - 1] = {real(at, entry, 1), real(at, entry, 2)};
      });
    } else if (name == "PairIJ Coeffs") {
      expected = types * (types + 1) / 2;
      pair_.assign(types * types, {});
      each([&](std::size_t at, const Words& entry) {
        const auto a = std::size_t(integer(at, entry, 0, types_, "type")) - 1,
                   b = std::size_t(integer(at, entry, 1, types_, "type")) - 1;
        pair_[a * types + b] = pair_[b * types + a] = {real(at, entry, 2), real(at, entry, 3)};
      });
    } else if (name == "Velocities") {
      expected = atoms;
      system_.velocities.assign(3 * atoms, 0);
      std::vector<bool> seen(atoms);
      each([&](std::size_t at, const Words& entry) {
        const auto i = std::size_t(integer(at, entry, 0, atoms_, "atom")) - 1;
        if (seen[i]) lines_.fail(fmt::format("atom {} is listed a second time", i + 1), at);
        seen[i] = true;
        for (std::size_t k = 0; k < 3; ++k) system_.velocities[3 * i + k] = real(at, entry, 1 + k);
      });
    } else {
      lines_.fail("section '" + name + "' is not supported", heading, 0, ErrorCode::unsupported);
    }
    if (count < expected) {
      lines_.fail(fmt::format("section {} ends after {} of {} entries", name, count, expected), line);
    }
    return line;
  }

  void begin_atoms(std::size_t heading) {
    const std::string& line = lines_[heading];
    const std::size_t comment = line.find('#');
    const std::string style = comment == std::string::npos ? "atomic" : lines_.trimmed(heading, comment + 1, 80);
    if (style != "atomic" && style != "charge") {
      lines_.fail("atom style '" + style + "' is not supported: use atomic or charge", heading, comment,
                  ErrorCode::unsupported);
    }
    charged_ = style == "charge";
    const auto atoms = std::size_t(atoms_);
    system_.positions.assign(3 * atoms, 0);
    system_.types.assign(atoms, -1);
    if (charged_) system_.charges.assign(atoms, 0);
  }

  void read_atom(std::size_t line, const Words& entry) {
    const auto i = std::size_t(integer(line, entry, 0, atoms_, "atom")) - 1;
    if (system_.types[i] >= 0) lines_.fail(fmt::format("atom {} is listed a second time", i + 1), line);
    system_.types[i] = std::int32_t(integer(line, entry, 1, types_, "type")) - 1;
    if (charged_) system_.charges[i] = real(line, entry, 2);
    for (std::size_t k = 0; k < 3; ++k) {
      system_.positions[3 * i + k] = real(line, entry, (charged_ ? 3 : 2) + k) - low_[k];
    }
  }

  void make_table() {
    const auto types = std::size_t(types_);
    if (own_.empty() && pair_.empty())
      lines_.fail("the file ends without a section Pair Coeffs or PairIJ Coeffs", lines_.count());
    system_.table.types = int(types_);
    if (pair_.empty()) {
      std::vector<double> sigma, epsilon;
      for (const Coefficients& one : own_) {
        sigma.push_back(one.sigma);
        epsilon.push_back(one.epsilon);
      }
      system_.table = mixed_table(sigma, epsilon, mixing_);
    } else {
      for (const Coefficients& one : pair_) {
        const double sigma[] = {one.sigma}, epsilon[] = {one.epsilon};
        const LennardJonesTable pair = mixed_table(sigma, epsilon, mixing_);
        system_.table.c12.push_back(pair.c12[0]);
        system_.table.c6.push_back(pair.c6[0]);
      }
    }
    for (const std::int32_t type : system_.types) {
      system_.masses.push_back(masses_.size() == types ? masses_[std::size_t(type)] : 1);
    }
  }

  TextLines lines_;
  Mixing mixing_;
  System system_;
  long atoms_ = 0, types_ = 0;
  bool charged_ = false;
  std::array<double, 3> low_{};
  std::vector<double> masses_;
  std::vector<Coefficients> own_, pair_;
};

}  // namespace

System read_lammps(const std::string& data, Mixing mixing) {
  System system = LammpsFile(data, mixing).read();
  system.name = data;
  return system;
}

}  // namespace quadrille::md
