// Errors: one exception type for everything that goes wrong inside Quadrille.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <exception>
#include <string>

namespace quadrille {

enum class ErrorCode {
  invalid_input,  ///< a job, a parameter or a command line that cannot be used as it is
  file,           ///< a file that is missing, unreadable, unwritable, truncated or corrupt
  unsupported,    ///< valid in itself, but not built or not possible here (missing kernel, old CPU)
  numerical,      ///< not-a-number or infinity where a finite value is demanded
  internal,       ///< a broken promise between two parts of Quadrille
};

/// Where an error stands. Only what is known is set: line and column (from 1) for YAML,
/// record and byte (offset from the start of the file) for LIME and other binary files, the dataset for HDF5.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  std::string record{};
  std::int64_t byte = -1;
  std::string dataset{};  ///< of an HDF5 file

  bool known() const { return !file.empty() || line > 0 || byte >= 0; }
};

/// "job.yaml:3:7", "a.lime: record 4 (ildg-binary-data), byte 1234"; empty when nothing is known.
QUADRILLE_API std::string to_string(const Location& where);

/// Thrown inside, caught once at the top of a command. `what()` is "<location>: <message>".
/// A message says what is wrong and what would be right.
class QUADRILLE_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, Location where = {});

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const Location& where() const { return where_; }
  const char* what() const noexcept override { return full_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
  Location where_;
  std::string full_;
};

}  // namespace quadrille
