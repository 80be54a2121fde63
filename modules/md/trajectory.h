// Positions from time to time in files that other programs read: XYZ (text) and DCD (CHARMM's and NAMD's binary form).
#pragma once

#include "core/api.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace quadrille::md {

enum class TrajectoryForm {
  xyz,  ///< extended XYZ: box, step and time in the comment; types as names
  dcd   ///< single precision; box and time step; a cut file keeps its whole frames
};

/// By the ending of a name, ".xyz" or ".dcd"; another: ErrorCode::invalid_input.
QUADRILLE_API TrajectoryForm trajectory_form(const std::string& path);

struct TrajectoryTimes {
  std::int64_t first_step = 0;  ///< of the first frame
  std::int64_t every = 1;       ///< steps from frame to frame
  double time_step = 0;
};

/// How much has been written.
struct TrajectoryWritten {
  std::int64_t frames = 0, bytes = 0;
};

class QUADRILLE_API Trajectory {
 public:
  /// `types` from 0, [particle]. Begins a new file, or goes on after `written` of one of its own, of which all that
  /// follows is dropped. Errors: ErrorCode::file with the path.
  Trajectory(const std::string& path, std::span<const std::int32_t> types, const TrajectoryTimes& times,
             const TrajectoryWritten& written = {});

  /// Positions [particle][x, y, z], a box, and the step that they are of.
  void add(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step);

  const TrajectoryWritten& written() const { return written_; }

 private:
  void begin_dcd();
  void add_xyz(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step);
  void add_dcd(std::span<const double> positions, const std::array<double, 3>& box);
  void put(const void* bytes, std::size_t count);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  TrajectoryForm form_;
  std::vector<std::int32_t> types_;
  TrajectoryTimes times_;
  std::fstream file_;
  TrajectoryWritten written_;
};

}  // namespace quadrille::md
