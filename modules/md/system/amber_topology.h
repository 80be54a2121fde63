// The sections of a topology file of AMBER (ambermd.org/prmtop.pdf): fields of fixed width between lines %FLAG.
#pragma once

#include "modules/md/system/text_lines.h"

#include <map>
#include <string>
#include <vector>

namespace quadrille::md {

class AmberTopology {
 public:
  explicit AmberTopology(const std::string& path);

  bool has(const std::string& flag) const { return sections_.contains(flag); }
  /// All fields of a section, of which there must be `count`; missing or short sections are errors.
  std::vector<double> reals(const std::string& flag, std::size_t count) const;
  std::vector<long> integers(const std::string& flag, std::size_t count) const;
  std::vector<std::string> texts(const std::string& flag, std::size_t count) const;
  /// Entry n of POINTERS.
  long pointer(std::size_t n) const { return pointers_[n]; }
  std::size_t counted(std::size_t n) const { return std::size_t(pointers_[n]); }

  /// At the field `number` of a section.
  [[noreturn]] void fail(const std::string& message, const std::string& flag, std::size_t number = 0,
                         ErrorCode code = ErrorCode::file) const;

 private:
  struct Section {
    std::size_t flag_line = 0, first = 0, end = 0;  ///< lines of its data
    std::size_t per_line = 0, width = 0;
  };
  const Section& section(const std::string& flag) const;
  template <class Value, class Read>
  std::vector<Value> fields(const std::string& flag, std::size_t count, Read read) const;

  TextLines lines_;
  std::map<std::string, Section> sections_;
  std::vector<long> pointers_;
};

}  // namespace quadrille::md
