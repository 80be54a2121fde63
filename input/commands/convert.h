// The command `quadrille convert IN OUT --format F`.
#pragma once

#include <iosfwd>
#include <string>

namespace quadrille {

struct ConvertOptions {
  std::string in, out;
  std::string format;  ///< a name of written_formats() (input/files/file_kind.h)
  int precision = 0;   ///< bits of a number: 32 or 64; 0: that of `in`, or the only one of the format
  int rows = 0;        ///< of each link; 0: what the format has
  bool force = false;  ///< whether `out` may exist, and is replaced
};

/// Reads a gauge field of any format, checks it and writes it in another one; prints what was written. Errors: those of
/// read_gauge_file() and of the writers; links that are not in SU(3); `out` exists and `force` is not given.
void convert_file(const ConvertOptions& options, std::ostream& out);

}  // namespace quadrille
