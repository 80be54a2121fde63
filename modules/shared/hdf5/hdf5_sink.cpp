#include "modules/shared/hdf5/hdf5_sink.h"

#include "modules/shared/hdf5/hdf5_calls.h"

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

namespace quadrille {

struct Hdf5Sink::Driver {
  struct File {
    H5FD_t of_hdf5;  // first: HDF5 knows no more of it
    Hdf5Sink* sink;
    haddr_t allocated = 0;
  };
  static File& file_of(H5FD_t* file) { return *reinterpret_cast<File*>(file); }
  static const File& file_of(const H5FD_t* file) { return *reinterpret_cast<const File*>(file); }

  static H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
    auto* const sink = static_cast<Hdf5Sink* const*>(H5Pget_driver_info(access));
    File* const file = sink == nullptr ? nullptr : new (std::nothrow) File{{}, *sink};
    return file == nullptr ? nullptr : &file->of_hdf5;
  }
  static herr_t close(H5FD_t* file) {
    delete &file_of(file);
    return 0;
  }
  /// What the files of HDF5's own driver have, so that these have the same layout.
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
  }
  static haddr_t allocated(const H5FD_t* file, H5FD_mem_t) { return file_of(file).allocated; }
  static herr_t allocate(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    file_of(file).allocated = end;
    return 0;
  }
  static haddr_t end(const H5FD_t* file, H5FD_mem_t) { return file_of(file).sink->end_; }

  static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, void* to) {
    const Hdf5Sink& sink = *file_of(file).sink;
    std::memset(to, 0, bytes);
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t more =
          ::pread(sink.target_.descriptor(), static_cast<char*>(to) + done, bytes - done, off_t(at + done));
      if (more < 0) return -1;
      if (more == 0) break;
      done += std::size_t(more);
    }
    return 0;
  }
  static herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t bytes, const void* from) {
    Hdf5Sink& sink = *file_of(file).sink;
    sink.error_.keep([&] { sink.target_.write_at(at, from, bytes); });
    sink.end_ = std::max<std::uint64_t>(sink.end_, at + bytes);
    return 0;
  }
  static herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    Hdf5Sink& sink = *file_of(file).sink;
    const haddr_t wanted = file_of(file).allocated;
    if (sink.end_ != wanted) sink.error_.keep([&] { sink.target_.resize(wanted); });
    sink.end_ = wanted;
    return 0;
  }

  static H5FD_class_t functions() {
    H5FD_class_t out{};
#ifdef H5FD_CLASS_VERSION
    out.version = H5FD_CLASS_VERSION;
    out.value = H5FD_class_value_t(H5_VFD_RESERVED + 1);
#endif
    out.name = "quadrille_sink";
    out.maxaddr = haddr_t(1) << 62;
    out.fc_degree = H5F_CLOSE_WEAK;
    out.fapl_size = sizeof(Hdf5Sink*);
    out.open = open;
    out.close = close;
    out.query = query;
    out.get_eoa = allocated;
    out.set_eoa = allocate;
    out.get_eof = end;
    out.read = read;
    out.write = write;
    out.truncate = truncate;
    const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), out.fl_map);
    return out;
  }
};

std::int64_t Hdf5Sink::create() {
  const H5FD_class_t functions = Driver::functions();
  const Hdf5Handle driver(H5FDregister(&functions), H5FDunregister), access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  Hdf5Sink* const self = this;
  if (H5Pset_driver(access.id(), driver.id(), &self) < 0) return -1;
  return H5Fcreate(target_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id());
}

void Hdf5Sink::reserve(std::int64_t file) {
  hsize_t bytes = 0;
  if (H5Fget_filesize(file, &bytes) < 0) return;
  target_.reserve(bytes);
  end_ = std::max<std::uint64_t>(end_, bytes);
}

}  // namespace quadrille
