#include "modules/md/trajectory.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

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
  const auto mode = std::ios::binary | std::ios::in | std::ios::out;
  if (written.bytes > 0) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error || size < std::uintmax_t(written.bytes)) {
      throw Error(ErrorCode::file, fmt::format("{} is shorter than the {} bytes that the interrupted run had written",
                                               path, written.bytes));
    }
    std::filesystem::resize_file(path, std::uintmax_t(written.bytes), error);
    if (error) throw Error(ErrorCode::file, "cannot truncate " + path + ": " + error.message());
    file_.open(path, mode);
    file_.seekp(0, std::ios::end);
    if (!file_) fail("cannot be opened");
    if (form_ == TrajectoryForm::dcd) {  // it may have had more of them
      const auto frames = std::int32_t(written_.frames);
      file_.seekp(frames_at);
      file_.write(reinterpret_cast<const char*>(&frames), sizeof frames);
      file_.seekp(0, std::ios::end);
    }
    return;
  }
  file_.open(path, mode | std::ios::trunc);
  if (!file_) fail("cannot be opened");
  if (form_ == TrajectoryForm::dcd) begin_dcd();
}

void Trajectory::fail(const std::string& what) const {
  const int reason = errno;
  throw Error(ErrorCode::file, path_ + " " + what + (reason != 0 ? std::string(": ") + std::strerror(reason) : ""));
}

void Trajectory::put(const void* bytes, std::size_t count) {
  file_.write(static_cast<const char*>(bytes), std::streamsize(count));
  if (!file_) fail("cannot be written");
  written_.bytes += std::int64_t(count);
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
  put(header.data(), header.size());
}

void Trajectory::add(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step) {
  if (positions.size() != 3 * types_.size()) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} coordinates for a trajectory of {} particles: there must be three for each",
                            positions.size(), types_.size()));
  }
  ++written_.frames;
  if (form_ == TrajectoryForm::xyz) {
    add_xyz(positions, box, step);
  } else {
    add_dcd(positions, box);
  }
  file_.flush();
  if (!file_) fail("cannot be written");
}

void Trajectory::add_xyz(std::span<const double> positions, const std::array<double, 3>& box, std::int64_t step) {
  std::string text =
      fmt::format("{}\nLattice=\"{} 0 0 0 {} 0 0 0 {}\" Properties=species:S:1:pos:R:3 step={} time={:.10g}\n",
                  types_.size(), box[0], box[1], box[2], step, double(step) * times_.time_step);
  for (std::size_t i = 0; i < types_.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "T{} {:.10g} {:.10g} {:.10g}\n", types_[i] + 1, positions[3 * i],
                   positions[3 * i + 1], positions[3 * i + 2]);
  }
  put(text.data(), text.size());
}

void Trajectory::add_dcd(std::span<const double> positions, const std::array<double, 3>& box) {
  // Edges a, b, c and the angles between them, in the order of the format.
  const double cell[6] = {box[0], 90, box[1], 90, 90, box[2]};
  std::string frame = Record().add(cell).framed();
  std::vector<float> axis(types_.size());
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < axis.size(); ++i) axis[i] = float(positions[3 * i + k]);
    frame += Record().add(axis.data(), axis.size() * sizeof(float)).framed();
  }
  put(frame.data(), frame.size());
  const auto frames = std::int32_t(written_.frames);
  file_.seekp(frames_at);
  file_.write(reinterpret_cast<const char*>(&frames), sizeof frames);
  file_.seekp(0, std::ios::end);
}

}  // namespace quadrille::md
