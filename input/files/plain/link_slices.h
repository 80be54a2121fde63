// Links on their way into a file of another format than LIME: time slice after time slice, so that no copy of all of
// them is needed.
#pragma once

#include "core/gauge/gauge_store.h"
#include "core/system/atomic_file.h"
#include "input/files/checksum.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille {

/// The links of a time slice: [site, x fastest][mu][row][column][re, im].
std::vector<double> links_of_slice(const GaugeStore& links, int t);

/// How links stand as plain numbers, in the order of ILDG.
struct PlainForm {
  int rows = 3;        ///< of each link that are written: 2 or 3
  int precision = 64;  ///< bits of a number
  bool big_endian = true;
};

/// The sums of the words that write_plain_links() writes.
WordSums sums_of_plain_links(const GaugeStore& links, const PlainForm& form);
/// Appends them to a file.
void write_plain_links(AtomicFile& file, const GaugeStore& links, const PlainForm& form);

/// What is to be written of links; zeros: as the format would have it.
struct GaugeExport {
  int precision = 0;  ///< bits of a number: 32 or 64
  int rows = 0;       ///< of each link: 2 or 3
};

/// Errors of all writers: those of AtomicFile; ErrorCode::invalid_input for what the format has not;
/// ErrorCode::numerical for links that are not finite. On one rank. A failed write leaves no file (and an older one as
/// it was).
using GaugeWriter = void (*)(const std::string& path, const GaugeStore& links, const GaugeExport& options);

}  // namespace quadrille
