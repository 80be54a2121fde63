#include "modules/md/dynamics/trajectory.h"

#include "core/error.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quadrille::md {
namespace {

/// Records of Fortran: their length before and after them.
class Record {
 public:
  template <class T>
  Record& add(const T& value) {
    return add(&value, sizeof value);
  }
  Record& add(const void* bytes, std::size_t count) {
    bytes_.append(static_cast<const char*>(bytes), count);
    return *this;
  }
  std::string framed() const {
    const auto length = std::int32_t(bytes_.size());
    std::string out(reinterpret_cast<const char*>(&length), sizeof length);
    out += bytes_;
    return out.append(reinterpret_cast<const char*>(&length), sizeof length);
  }

 private:
  std::string bytes_;
};

/// Of the first record: the number of frames stands behind its length and "CORD".
constexpr std::int64_t frames_at = 8;

}  // namespace

TrajectoryForm trajectory_form(const std::string& path) {
  if (path.ends_with(".xyz")) return TrajectoryForm::xyz;
  if (path.ends_with(".dcd")) return TrajectoryForm::dcd;
  throw Error(ErrorCode::invalid_input, "the name of a trajectory must end in .xyz or .dcd, not '" + path + "'");
}

Trajectory::Trajectory(const std::string& path, std::span<const std::int32_t> types, const TrajectoryTimes& times,
                       const TrajectoryWritten& written)
    : path_(path), form_(trajectory_form(path)), types_(types.begin(), types.end()), times_(times), written_(written) {
  const bool again = written.bytes > 0;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (again ? 0 : O_CREAT | O_TRUNC), 0666);
  if (descriptor_ < 0) fail("cannot be opened", errno);
  try {
    if (again) {
      go_on();
    } else if (form_ == TrajectoryForm::dcd) {
      begin_dcd();
    }
  } catch (...) {
    ::close(descriptor_);
    if (!again) ::unlink(path.c_str());  // nothing of it is whole
    throw;
  }
}

Trajectory::~Trajectory() { ::close(descriptor_); }

void Trajectory::fail(const std::string& what, int reason) const {
  throw Error(ErrorCode::file, fmt::format("{}: {}", what, std::strerror(reason)), {.file = path_});
}

/// Drops what was written after a state was kept.
void Trajectory::go_on() {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("cannot be read", errno);
  if (status.st_size < written_.bytes) {
    throw Error(ErrorCode::file,
                fmt::format("has {} bytes, fewer than the {} that the interrupted run had written", status.st_size,
                            written_.bytes),
                {.file = path_});
  }
  if (::ftruncate(descriptor_, off_t(written_.bytes)) != 0) fail("cannot be truncated", errno);
  count_frames();
}

int Trajectory::write_at(std::int64_t offset, const void* bytes, std::size_t count) const {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t done = ::pwrite(descriptor_, from, count, off_t(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    from += done;
    offset += done;
    count -= std::size_t(done);
  }
  return 0;
}

/// All of them or none.
void Trajectory::append(const std::string& bytes) {
  const int reason = write_at(written_.bytes, bytes.data(), bytes.size());
  if (reason != 0) {
    const bool whole = ::ftruncate(descriptor_, off_t(written_.bytes)) == 0;
    fail(fmt::format("frame {} cannot be written; the file {} the {} before it", written_.frames + 1,
                     whole ? "keeps" : "has a part of it after", written_.frames),
         reason);
  }
  written_.bytes += std::int64_t(bytes.size());
}

/// Writes the number of frames into the header of a DCD file.
void Trajectory::count_frames() {
  if (form_ != TrajectoryForm::dcd) return;
  const auto frames = std::int32_t(written_.frames);
  const int reason = write_at(frames_at, &frames, sizeof frames);
  if (reason != 0) fail("the number of frames cannot be written", reason);
}

void Trajectory::begin_dcd() {
  std::int32_t control[20] = {};
  control[1] = std::int32_t(times_.first_step);
  control[2] = std::int32_t(times_.every);
  const auto step = float(times_.time_step);
  std::memcpy(&control[9], &step, sizeof step);
  control[10] = 1;   // frames have a box
  control[19] = 24;  // the version of CHARMM whose form this is
  std::string title = "Quadrille: positions in the units of the system";
  title.resize(80, ' ');
  const auto particles = std::int32_t(types_.size());
  const std::string header = Record().add("CORD", 4).add(control).framed() +
                             Record().add(std::int32_t(1)).add(title.data(), title.size()).framed() +
                             Record().add(particles).framed();
  const int reason = write_at(0, header.data(), header.size());
  if (reason != 0) fail("its header cannot be written", reason);
  written_.bytes = std::int64_t(header.size());
}

void Trajectory::add(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step) {
  if (positions.size() != 3 * types_.size()) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} coordinates for a trajectory of {} particles: each particle has three",
                            positions.size(), types_.size()));
  }
  append(form_ == TrajectoryForm::xyz ? xyz_frame(positions, box, step) : dcd_frame(positions, box));
  ++written_.frames;
  count_frames();
}

std::string Trajectory::xyz_frame(std::span<const double> positions, const std::array<double, 3>& box,
                                  std::int64_t step) const {
  std::string text =
      fmt::format("{}\nLattice=\"{} 0 0 0 {} 0 0 0 {}\" Properties=species:S:1:pos:R:3 step={} time={:.10g}\n",
                  types_.size(), box[0], box[1], box[2], step, double(step) * times_.time_step);
  for (std::size_t i = 0; i < types_.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "T{} {:.10g} {:.10g} {:.10g}\n", types_[i] + 1, positions[3 * i],
                   positions[3 * i + 1], positions[3 * i + 2]);
  }
  return text;
}

std::string Trajectory::dcd_frame(std::span<const double> positions, const std::array<double, 3>& box) const {
  // Edges a, b, c and the angles between them, in the order of the format.
  const double cell[6] = {box[0], 90, box[1], 90, 90, box[2]};
  std::string frame = Record().add(cell).framed();
  std::vector<float> axis(types_.size());
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < axis.size(); ++i) axis[i] = float(positions[3 * i + k]);
    frame += Record().add(axis.data(), axis.size() * sizeof(float)).framed();
  }
  return frame;
}

}  // namespace quadrille::md
