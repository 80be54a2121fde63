// How many threads of OpenMP there may be: a limit, and one in a child of fork().
#pragma once

#include "core/api.h"

namespace quadrille {

constexpr int most_threads = 1024;

/// As many as OpenMP would use. Throws ErrorCode::invalid_input beyond most_threads, which OMP_NUM_THREADS may name.
QUADRILLE_API int default_threads();

/// The threads of a call that a host makes; ends with it. In a child of fork() there is one if the parent has used
/// more: those of OpenMP have stayed with the parent, and a loop would wait for them for ever.
class QUADRILLE_API CallThreads {
 public:
  explicit CallThreads(int count = default_threads());
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

 private:
  const int before_;
};

}  // namespace quadrille
