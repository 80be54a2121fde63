#include "modules/shared/hdf5/hdf5_file.h"

#include "core/error.h"
#include "core/system/memory.h"
#include "modules/shared/hdf5/hdf5_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hdf5.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace quadrille {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& path, const std::string& dataset,
                       const std::string& message) {
  throw Error(code, message, Location{.file = path, .dataset = dataset});
}

/// Names of what stands at the top of a file, for a message; a few of them where there are many.
std::string contents(hid_t file) {
  constexpr std::size_t most = 12;
  std::vector<std::string> names;
  const auto note = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    auto& all = *static_cast<std::vector<std::string>*>(to);
    all.emplace_back(name);
    return all.size() > most ? 1 : 0;
  };
  (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &names);
  (void)H5Eclear2(H5E_DEFAULT);
  if (names.size() > most) names[most] = "...";
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

/// `chunk_bytes`: of chunks that are unpacked already as many bytes are kept; 0: what HDF5 keeps by itself.
hid_t open_dataset(std::int64_t file, const std::string& path, const std::string& dataset,
                   std::size_t chunk_bytes = 0) {
  const Hdf5Handle how(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  if (chunk_bytes > 0) {
    (void)H5Pset_chunk_cache(how.id(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, chunk_bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  }
  const hid_t id = H5Dopen2(file, dataset.c_str(), how.id());
  if (id >= 0) return id;
  const std::string reason = last_hdf5_message();
  if (H5Lexists(file, dataset.c_str(), H5P_DEFAULT) > 0) {
    fail(ErrorCode::file, path, dataset, "cannot be opened as a dataset" + reason);
  }
  (void)H5Eclear2(H5E_DEFAULT);
  throw Error(ErrorCode::file, fmt::format("has no dataset '{}'; it has {}", dataset, contents(file)),
              Location{.file = path});
}

/// Whether numbers of this type are those of IEEE 754 in 16, 32 or 64 bits, in either order of bytes, or the long
/// doubles of this machine. HDF5 trusts sizes and bits of any other type that a damaged file describes.
bool is_known_type(hid_t type) {
  for (const hid_t known : {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_NATIVE_LDOUBLE}) {
    if (H5Tequal(type, known) > 0) return true;
  }
  for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
    const Hdf5Handle half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    if (H5Tset_fields(half.id(), 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half.id(), 2) >= 0 &&
        H5Tset_ebias(half.id(), 15) >= 0 && H5Tset_order(half.id(), order) >= 0 && H5Tequal(type, half.id()) > 0) {
      return true;
    }
  }
  return false;
}

enum class Numbers { real, complex_too };

/// A dataset that is open, and what its description promises. Everything that the description says is checked before
/// HDF5 acts on it: the library trusts it, and a damaged file would end the program.
class Dataset {
 public:
  Dataset(hid_t file, const std::string& path, const std::string& name, int rank, Numbers numbers = Numbers::real)
      : path_(path), name_(name), set_(open_dataset(file, path, name), H5Dclose) {
    read_type(numbers);
    read_extents(rank, numbers);
    check_storage(file_bytes(file));
  }

  /// Keeps one chunk that is unpacked, so that it can be read in parts.
  void keep_one_chunk(hid_t file) {
    constexpr std::size_t least = std::size_t(1) << 20;  // what HDF5 keeps by itself
    std::size_t bytes = bytes_;
    for (const std::int64_t extent : chunk_) bytes *= std::size_t(extent);
    if (chunk_.empty() || bytes <= least) return;
    (void)set_.close();  // HDF5 asks for it when the dataset is opened first
    set_.reset(open_dataset(file, path_, name_, bytes));
  }

  hid_t id() const { return set_.id(); }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  /// Extents of the chunks that it is stored in; empty where it is in one piece.
  const std::vector<std::int64_t>& chunk() const { return chunk_; }
  std::size_t count() const { return count_; }
  /// Whether there is one index more than expected, of real and imaginary parts.
  bool pairs() const { return pairs_; }
  bool compound() const { return !parts_.empty(); }
  /// A new type, which its numbers are read as: a double, or two for a compound.
  hid_t type_in_memory() const {
    if (!compound()) return H5Tcopy(H5T_NATIVE_DOUBLE);
    const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      (void)H5Tinsert(type, parts_[k].c_str(), k * sizeof(double), H5T_NATIVE_DOUBLE);
    }
    return type;
  }

  [[noreturn]] void fail(const std::string& message, ErrorCode code = ErrorCode::file) const {
    quadrille::fail(code, path_, name_, message);
  }

 private:
  std::uint64_t file_bytes(hid_t file) const {
    hsize_t bytes = 0;
    if (H5Fget_filesize(file, &bytes) < 0) fail("the size of its file is not known" + last_hdf5_message());
    return bytes;
  }

  void read_type(Numbers numbers) {
    const Hdf5Handle type(H5Dget_type(id()), H5Tclose);
    if (!type.good()) fail("its type cannot be read" + last_hdf5_message());
    bytes_ = H5Tget_size(type.id());
    if (numbers == Numbers::complex_too && H5Tget_class(type.id()) == H5T_COMPOUND) return read_compound(type.id());
    if (H5Tget_class(type.id()) != H5T_FLOAT) fail("must hold floating-point numbers");
    require_known(type.id());
  }

  void require_known(hid_t type) const {
    if (is_known_type(type)) return;
    fail(
        fmt::format("holds floating-point numbers of {} bytes that are not IEEE 754 (16, 32 or 64 bits): the file is "
                    "damaged, or must be converted",
                    H5Tget_size(type)));
  }

  /// Two floating-point numbers, of which the first is called r..., the other i...
  void read_compound(hid_t type) {
    const auto good_name = [](const char* name, char first) {
      return name != nullptr && std::tolower(name[0]) == first;
    };
    if (H5Tget_nmembers(type) != 2) fail("must hold numbers, or compounds of a real and an imaginary part");
    std::size_t end = 0;
    for (unsigned k = 0; k < 2; ++k) {
      const Hdf5Handle part(H5Tget_member_type(type, k), H5Tclose);
      char* const name = H5Tget_member_name(type, k);
      const bool good = part.good() && good_name(name, k == 0 ? 'r' : 'i') && H5Tget_class(part.id()) == H5T_FLOAT;
      if (good) parts_.emplace_back(name);
      (void)H5free_memory(name);
      if (!good) fail("must hold compounds of a real and an imaginary part, called r and i");
      require_known(part.id());
      const std::size_t begin = H5Tget_member_offset(type, k);
      if (begin < end || begin + H5Tget_size(part.id()) > bytes_) fail("its compounds overlap: the file is damaged");
      end = begin + H5Tget_size(part.id());
    }
  }

  void read_extents(int rank, Numbers numbers) {
    const Hdf5Handle space(H5Dget_space(id()), H5Sclose);
    if (!space.good()) fail("its extents cannot be read" + last_hdf5_message());
    const int found = H5Sget_simple_extent_ndims(space.id());
    if (numbers == Numbers::complex_too && !compound() && found == rank + 1) {
      pairs_ = true;
      ++rank;
    }
    if (found != rank) fail(fmt::format("must have {} dimensions, but has {}", rank, std::max(found, 0)));
    std::vector<hsize_t> sizes(std::size_t(rank), 0);
    if (H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr) != rank) {
      fail("its extents cannot be read" + last_hdf5_message());
    }
    dims_.assign(sizes.begin(), sizes.end());
    if (pairs_ && dims_.back() != 2) {
      fail(fmt::format(
          "must have {} dimensions, or {} with 2 numbers, real and imaginary part, in the last, which has {}", rank - 1,
          rank, dims_.back()));
    }
    count_ = 1;
    for (const hsize_t size : sizes) {
      if (size != 0 && count_ > std::size_t(std::numeric_limits<std::int64_t>::max()) / bytes_ / size) too_large(0);
      count_ *= std::size_t(size);
    }
  }

  [[noreturn]] void too_large(std::uint64_t file_bytes) const {
    fail(fmt::format("[{}] numbers of {} bytes do not fit into {}: the file is damaged or incomplete",
                     fmt::join(dims_, ", "), bytes_,
                     file_bytes == 0 ? "any file" : fmt::format("a file of {} bytes", file_bytes)));
  }

  /// What the file stores must be in it, and must be enough for the extents.
  void check_storage(std::uint64_t file_bytes) {
    const Hdf5Handle made(H5Dget_create_plist(id()), H5Pclose);
    if (!made.good()) fail("its storage layout cannot be read" + last_hdf5_message());
    const H5D_layout_t layout = H5Pget_layout(made.id());
    if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(made.id()) != 0)) {
      fail("its numbers are in other files; give a file that holds them (h5repack makes one)", ErrorCode::unsupported);
    }
    if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
      fail("has an unknown storage layout");
    if (count_ == 0) return;
    const hsize_t stored = H5Dget_storage_size(id());
    if (stored == 0) fail("has never been written");
    const bool packed = layout == H5D_CHUNKED && check_filters(made.id());
    // Deflate makes at most 1032 bytes of one.
    const double most = double(std::min<std::uint64_t>(stored, file_bytes)) * (packed ? 1032 : 1);
    if (double(count_) * double(bytes_) > most) too_large(file_bytes);
    if (layout == H5D_CHUNKED) return check_chunks(made.id(), file_bytes, packed);
    const haddr_t offset = H5Dget_offset(id());
    if (layout == H5D_CONTIGUOUS && (offset == HADDR_UNDEF || offset > file_bytes || stored > file_bytes - offset)) {
      too_large(file_bytes);
    }
  }

  /// Whether its chunks are compressed. Only filters that are part of HDF5 and tell the size of what they unpack.
  bool check_filters(hid_t made) const {
    const int filters = H5Pget_nfilters(made);
    if (filters < 0) fail("its filters cannot be read" + last_hdf5_message());
    bool packed = false;
    for (int k = 0; k < filters; ++k) {
      unsigned flags = 0, settings = 0;
      std::size_t values = 0;
      char name[64] = "";
      const H5Z_filter_t filter =
          H5Pget_filter2(made, unsigned(k), &flags, &values, nullptr, sizeof name, name, &settings);
      const bool known =
          filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
      if (!known) {
        fail(fmt::format("is stored with filter {} ({}), which this version cannot read; h5repack -f GZIP=4 makes a "
                         "file that it can",
                         int(filter), name[0] != 0 ? name : "unknown"),
             ErrorCode::unsupported);
      }
      packed = packed || filter == H5Z_FILTER_DEFLATE;
    }
    return packed;
  }

  /// libhdf5 takes a chunk that is shorter than it must be as if it were whole, and reads beyond it.
  void check_chunks(hid_t made, std::uint64_t file_bytes, bool packed) {
    std::vector<hsize_t> chunk(dims_.size(), 0);
    if (H5Pget_chunk(made, int(chunk.size()), chunk.data()) != int(chunk.size())) {
      fail("its chunks have a different number of dimensions" + last_hdf5_message());
    }
    const Hdf5Handle space(H5Dget_space(id()), H5Sclose);
    hsize_t chunks = 0;
    if (H5Dget_num_chunks(id(), space.id(), &chunks) < 0) fail("its chunks cannot be read" + last_hdf5_message());
    double needed = 1, whole = double(bytes_);
    for (std::size_t k = 0; k < chunk.size(); ++k) {
      if (chunk[k] == 0) fail("has chunks of extent 0: the file is damaged");
      needed *= std::ceil(double(dims_[k]) / double(chunk[k]));
      whole *= double(chunk[k]);
    }
    chunk_.assign(chunk.begin(), chunk.end());
    if (double(chunks) != needed) {
      fail(fmt::format("has {} of the {:.0f} chunks that its extents need: the file is damaged or incomplete", chunks,
                       needed));
    }
    for (hsize_t k = 0; k < chunks; ++k) {
      std::vector<hsize_t> first(dims_.size(), 0);
      unsigned mask = 0;
      haddr_t at = 0;
      hsize_t bytes = 0;
      if (H5Dget_chunk_info(id(), space.id(), k, first.data(), &mask, &at, &bytes) < 0) {
        fail(fmt::format("its chunk {} cannot be read", k) + last_hdf5_message());
      }
      if (at == HADDR_UNDEF || at > file_bytes || bytes > file_bytes - at) {
        fail(fmt::format("its chunk {} extends beyond the end of the file: the file is damaged or incomplete", k));
      }
      if ((mask != 0 || !packed) && double(bytes) < whole) {
        fail(fmt::format("its chunk {} has {} of {} bytes: the file is damaged", k, bytes, whole));
      }
    }
  }

  const std::string& path_;
  const std::string& name_;
  Hdf5Handle set_;
  std::size_t bytes_ = 0, count_ = 0;
  std::vector<std::int64_t> dims_, chunk_;
  bool pairs_ = false;
  std::vector<std::string> parts_;  ///< names of a compound's
};

/// Whether an attribute is one floating-point number or integer of a size that this machine has too.
bool is_one_number(hid_t attribute) {
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  if (!space.good() || !type.good() || H5Sget_simple_extent_npoints(space.id()) != 1) return false;
  if (H5Tget_class(type.id()) == H5T_FLOAT) return is_known_type(type.id());
  return H5Tget_class(type.id()) == H5T_INTEGER && H5Tget_size(type.id()) <= 8 &&
         H5Tget_precision(type.id()) == 8 * H5Tget_size(type.id());
}

/// The numbers of a part of a dataset, which must be finite; of compounds two each. `first`, `count`: of each index.
void read_part(const Dataset& set, const std::vector<hsize_t>& first, const std::vector<hsize_t>& count, double* to) {
  const Hdf5Handle file(H5Dget_space(set.id()), H5Sclose);
  const Hdf5Handle memory(H5Screate_simple(int(count.size()), count.data(), nullptr), H5Sclose);
  const Hdf5Handle type(set.type_in_memory(), H5Tclose);
  if (!file.good() || !memory.good() || !type.good() ||
      H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
      H5Dread(set.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, to) < 0) {
    set.fail("cannot be read" + last_hdf5_message());
  }
  const std::size_t parts = set.compound() ? 2 : 1;
  std::size_t numbers = parts;
  for (const hsize_t n : count) numbers *= std::size_t(n);
  const double* const bad = std::find_if(to, to + numbers, [](double x) { return !std::isfinite(x); });
  if (bad == to + numbers) return;
  std::vector<hsize_t> place = first;
  std::size_t index = std::size_t(bad - to) / parts;
  for (std::size_t k = place.size(); k-- > 0; index /= std::size_t(count[k])) place[k] += index % count[k];
  set.fail(fmt::format("element [{}] is {}, must be finite", fmt::join(place, ", "), *bad), ErrorCode::numerical);
}

std::int64_t open_file(const std::string& path) {
  const QuietHdf5 quiet;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) fail(ErrorCode::file, path, "", "cannot be opened as an HDF5 file" + last_hdf5_message());
  return file;
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::string& path) : path_(path), file_(open_file(path)) {}

Hdf5Reader::~Hdf5Reader() { (void)H5Fclose(file_); }

std::vector<std::int64_t> Hdf5Reader::dims(const std::string& dataset, int rank) const {
  const QuietHdf5 quiet;
  return Dataset(file_, path_, dataset, rank).dims();
}

Hdf5Array Hdf5Reader::read(const std::string& dataset, int rank) const {
  const QuietHdf5 quiet;
  const Dataset set(file_, path_, dataset, rank);
  Hdf5Array array{set.dims(), {}};
  require_memory(double(set.count()) * sizeof(double), fmt::format("{}: dataset {}", path_, dataset));
  array.data.resize(set.count());
  if (set.count() == 0) return array;
  quadrille::read_part(set, std::vector<hsize_t>(array.dims.size(), 0), {array.dims.begin(), array.dims.end()},
                       array.data.data());
  return array;
}

void Hdf5Reader::read_part(const std::string& dataset, int rank, std::int64_t first, std::int64_t count,
                           double* to) const {
  const QuietHdf5 quiet;
  const Dataset set(file_, path_, dataset, rank);
  std::vector<hsize_t> from(set.dims().size(), 0), counts(set.dims().begin(), set.dims().end());
  from[0] = hsize_t(first);
  counts[0] = hsize_t(count);
  if (set.count() > 0 && count > 0) quadrille::read_part(set, from, counts, to);
}

std::optional<double> Hdf5Reader::attribute(const std::string& name) const {
  const QuietHdf5 quiet;
  if (H5Aexists(file_, name.c_str()) <= 0) return std::nullopt;
  const Hdf5Handle attribute(H5Aopen(file_, name.c_str(), H5P_DEFAULT), H5Aclose);
  double value = 0;
  if (!attribute.good() || !is_one_number(attribute.id()) || H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0) {
    (void)H5Eclear2(H5E_DEFAULT);
    return std::nullopt;
  }
  return value;
}

struct Hdf5Matrix::Open {
  std::string path, name;
  Hdf5Reader file;
  std::optional<Dataset> set;
};

Hdf5Matrix::Hdf5Matrix(const std::string& path, const std::string& dataset)
    : open_(new Open{path, dataset, Hdf5Reader(path), {}}) {
  const QuietHdf5 quiet;
  open_->set.emplace(open_->file.file_, open_->path, open_->name, 2, Numbers::complex_too);
  open_->set->keep_one_chunk(open_->file.file_);
}

Hdf5Matrix::~Hdf5Matrix() = default;

std::int64_t Hdf5Matrix::rows() const { return open_->set->dims()[0]; }
std::int64_t Hdf5Matrix::columns() const { return open_->set->dims()[1]; }

bool Hdf5Matrix::is_complex() const { return open_->set->pairs() || open_->set->compound(); }

std::array<std::int64_t, 2> Hdf5Matrix::chunk() const {
  const std::vector<std::int64_t>& chunk = open_->set->chunk();
  if (chunk.empty()) return {1, columns()};
  return {chunk[0], chunk[1]};
}

void Hdf5Matrix::read(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                      double* to) const {
  if (is_complex()) open_->set->fail("holds complex numbers; real ones are needed");
  const QuietHdf5 quiet;
  read_part(*open_->set, {hsize_t(row), hsize_t(column)}, {hsize_t(rows), hsize_t(columns)}, to);
}

void Hdf5Matrix::read(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                      std::complex<double>* to) const {
  const QuietHdf5 quiet;
  auto* const numbers = reinterpret_cast<double*>(to);
  std::vector<hsize_t> first{hsize_t(row), hsize_t(column)}, count{hsize_t(rows), hsize_t(columns)};
  if (open_->set->pairs()) {
    first.push_back(0);
    count.push_back(2);
  }
  read_part(*open_->set, first, count, numbers);
  if (is_complex()) return;
  for (std::int64_t k = rows * columns; k-- > 0;) to[k] = {numbers[k], 0};
}

}  // namespace quadrille
