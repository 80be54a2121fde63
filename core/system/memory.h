// How much memory there is, for errors that come before the work.
#pragma once

#include "core/api.h"
#include "core/error.h"

#include <string>

namespace quadrille {

/// Bytes of memory.
struct Memory {
  double total = 0;  ///< that this process may ever have: of the machine, its control group, its limits (ulimit -v)
  double free = 0;   ///< of these, not in use now
};
QUADRILLE_API Memory memory_here();

/// "1.5 GiB", "38 MiB".
QUADRILLE_API std::string bytes_text(double bytes);

/// Memory of the host or of a device has run out: ErrorCode::unsupported, which says what needs how much.
class QUADRILLE_API NotEnoughMemory : public Error {
 public:
  explicit NotEnoughMemory(std::string message);
};

/// What is said where nobody knows what memory was for: "not enough memory: 1.5 GiB are free".
QUADRILLE_API std::string no_memory_text();

/// Throws NotEnoughMemory ("not enough memory: WHAT needs 1.5 GiB, 0.8 GiB are free") unless `bytes` are free.
QUADRILLE_API void require_memory(double bytes, const std::string& what);

}  // namespace quadrille
