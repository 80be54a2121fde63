// Positions from time to time in files that other programs read: XYZ (text) and DCD (CHARMM's and NAMD's binary form).
#pragma once

#include "core/api.h"

#include <array>
#include <cstdint>
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

/// The file can be read while it grows: it has whole frames, as many as its header says.
class QUADRILLE_API Trajectory {
 public:
  /// `types` from 0, [particle]. Begins a new file, or goes on after `written` of one of its own, of which all that
  /// follows is dropped. Errors: ErrorCode::file with the path.
  Trajectory(const std::string& path, std::span<const std::int32_t> types, const TrajectoryTimes& times,
             const TrajectoryWritten& written = {});
  Trajectory(const Trajectory&) = delete;
  Trajectory& operator=(const Trajectory&) = delete;
  ~Trajectory();

  /// Positions [particle][x, y, z], a box, and the step that they are of. A frame that cannot be written whole (a full
  /// disk) is taken back, and the error says how many frames the file has.
  void add(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step);

  const TrajectoryWritten& written() const { return written_; }

 private:
  std::string xyz_frame(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step) const;
  std::string dcd_frame(std::span<const double> positions, const std::array<double, 3>& box) const;
  void begin_dcd();
  void go_on();
  void count_frames();
  void append(const std::string& bytes);
  /// 0 or an errno value.
  int write_at(std::int64_t offset, const void* bytes, std::size_t count) const;
  [[noreturn]] void fail(const std::string& what, int reason) const;

  std::string path_;
  TrajectoryForm form_;
  std::vector<std::int32_t> types_;
  TrajectoryTimes times_;
  TrajectoryWritten written_;
  int descriptor_ = -1;
};

}  // namespace quadrille::md
