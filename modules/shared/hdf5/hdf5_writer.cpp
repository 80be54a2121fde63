// What writes HDF5 files; hdf5_file.cpp reads them.
#include "core/error.h"
#include "core/system/atomic_file.h"
#include "modules/shared/hdf5/hdf5_calls.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "modules/shared/hdf5/hdf5_sink.h"

#include <hdf5.h>

#include <algorithm>

namespace quadrille {
namespace {

/// A new type, of a complex number: r and i, two of `part`.
hid_t complex_type(hid_t part) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
  (void)H5Tinsert(type, "r", 0, part);
  (void)H5Tinsert(type, "i", sizeof(double), part);
  return type;
}

/// A new type, of texts of a fixed number of bytes; 0 ends a shorter one.
hid_t text_type(std::size_t bytes) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  (void)H5Tset_size(type, std::max<std::size_t>(bytes, 1));
  (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
  (void)H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

/// How a link to a new dataset is made.
hid_t with_groups() {
  const hid_t how = H5Pcreate(H5P_LINK_CREATE);
  (void)H5Pset_create_intermediate_group(how, 1);
  return how;
}

}  // namespace

/// HDF5 writes here and there: into the temporary file, or for a pipe into memory, which is then written in one piece.
struct Hdf5Writer::Open {
  explicit Open(const std::string& path) : target(path), sink(target), file(created(), H5Fclose) { check(file.good()); }

  hid_t created() {
    if (target.positional()) return sink.create();
    constexpr std::size_t piece = std::size_t(1) << 24;
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    (void)H5Pset_fapl_core(access.id(), piece, 0);
    return H5Fcreate(target.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id());
  }
  void write_rows(std::int64_t count, hid_t type, const void* numbers) {
    std::vector<hsize_t> first(dims.size(), 0), part = dims;
    first[0] = row;
    part[0] = hsize_t(count);
    const Hdf5Handle space(H5Dget_space(set->id()), H5Sclose);
    const Hdf5Handle memory(H5Screate_simple(int(part.size()), part.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, part.data(), nullptr) >= 0 &&
          H5Dwrite(set->id(), type, memory.id(), space.id(), H5P_DEFAULT, numbers) >= 0);
    row += hsize_t(count);
  }
  void write_attribute(const std::string& attribute, hid_t type, const void* value) {
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle made(
        H5Acreate2(set ? set->id() : file.id(), attribute.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    check(made.good() && H5Awrite(made.id(), type, value) >= 0);
  }
  /// Makes the dataset `name` of the extents `dims`, of elements of a type.
  void create_set(hid_t type) {
    const Hdf5Handle space(H5Screate_simple(int(dims.size()), dims.data(), nullptr), H5Sclose);
    const Hdf5Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose), link(with_groups(), H5Pclose);
    (void)H5Pset_obj_track_times(how.id(), false);  // the same numbers make the same file
    if (target.positional()) (void)H5Pset_alloc_time(how.id(), H5D_ALLOC_TIME_EARLY);
    set.emplace(H5Dcreate2(file.id(), name.c_str(), type, space.id(), link.id(), how.id(), H5P_DEFAULT), H5Dclose);
    check(space.good() && set->good());
    if (target.positional()) sink.reserve(file.id());
  }
  /// Throws where a write has failed, or HDF5 has.
  void check(bool good) const {
    sink.check();
    if (good) return;
    throw Error(ErrorCode::file, "cannot be written" + last_hdf5_message(),
                Location{.file = target.path(), .dataset = name});
  }

  AtomicFile target;
  Hdf5Sink sink;
  Hdf5Handle file;
  std::string name;
  std::optional<Hdf5Handle> set;
  std::vector<hsize_t> dims;
  hsize_t row = 0;
};

Hdf5Writer::Hdf5Writer(const std::string& path) {
  const QuietHdf5 quiet;
  open_ = std::make_unique<Open>(path);
}

Hdf5Writer::~Hdf5Writer() {
  const QuietHdf5 quiet;
  open_.reset();
}

void Hdf5Writer::create(const std::string& name, const std::vector<std::int64_t>& dims, bool complex) {
  const QuietHdf5 quiet;
  open_->name = name;
  open_->dims.assign(dims.begin(), dims.end());
  open_->row = 0;
  const Hdf5Handle type(complex ? complex_type(H5T_IEEE_F64LE) : H5Tcopy(H5T_IEEE_F64LE), H5Tclose);
  open_->create_set(type.id());
}

void Hdf5Writer::texts(const std::string& name, const std::vector<std::string>& texts) {
  const QuietHdf5 quiet;
  std::size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  std::string bytes;
  for (const std::string& text : texts) (bytes += text).append(longest - text.size(), '\0');
  open_->name = name;
  open_->dims = {texts.size()};
  open_->row = 0;
  const Hdf5Handle type(text_type(longest), H5Tclose);
  open_->create_set(type.id());
  open_->write_rows(std::int64_t(texts.size()), type.id(), bytes.data());
}

void Hdf5Writer::attribute(const std::string& name, const std::string& text) {
  const QuietHdf5 quiet;
  const Hdf5Handle type(text_type(text.size()), H5Tclose);
  open_->write_attribute(name, type.id(), text.data());
}

void Hdf5Writer::attribute(const std::string& name, std::int64_t number) {
  const QuietHdf5 quiet;
  open_->write_attribute(name, H5T_NATIVE_INT64, &number);
}

void Hdf5Writer::rows(std::int64_t count, const double* numbers) {
  const QuietHdf5 quiet;
  open_->write_rows(count, H5T_NATIVE_DOUBLE, numbers);
}

void Hdf5Writer::rows(std::int64_t count, const std::complex<double>* numbers) {
  const QuietHdf5 quiet;
  const Hdf5Handle type(complex_type(H5T_NATIVE_DOUBLE), H5Tclose);
  open_->write_rows(count, type.id(), numbers);
}

void Hdf5Writer::commit() {
  const QuietHdf5 quiet;
  open_->set.reset();
  open_->check(H5Fflush(open_->file.id(), H5F_SCOPE_GLOBAL) >= 0);
  if (!open_->target.positional()) {
    const ssize_t bytes = H5Fget_file_image(open_->file.id(), nullptr, 0);
    std::vector<char> image(std::size_t(std::max<ssize_t>(bytes, 0)));
    open_->check(bytes >= 0 && H5Fget_file_image(open_->file.id(), image.data(), image.size()) == bytes);
    open_->target.write(image.data(), image.size());
  }
  open_->check(open_->file.close());
  open_->target.commit();
}

void write_hdf5(const std::string& path, const std::vector<Hdf5Dataset>& datasets) {
  Hdf5Writer writer(path);
  for (const Hdf5Dataset& dataset : datasets) {
    writer.create(dataset.name, dataset.array.dims);
    if (!dataset.array.data.empty()) writer.rows(dataset.array.dims[0], dataset.array.data.data());
  }
  writer.commit();
}

void write_hdf5(const std::string& path, const std::string& dataset, const Hdf5Array& array) {
  write_hdf5(path, {{dataset, array}});
}

}  // namespace quadrille
