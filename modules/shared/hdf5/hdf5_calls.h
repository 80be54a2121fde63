// What calls of the HDF5 library share.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <string>
#include <utility>

namespace quadrille {

/// Closes an identifier of HDF5 (a hid_t); negative: there is none.
class Hdf5Handle {
 public:
  Hdf5Handle(std::int64_t id, int (*close)(std::int64_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() { (void)close(); }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  std::int64_t id() const { return id_; }
  bool good() const { return id_ >= 0; }
  void reset(std::int64_t id) {
    (void)close();
    id_ = id;
  }
  /// Whether it could be closed.
  bool close() { return !good() || close_(std::exchange(id_, -1)) >= 0; }

 private:
  std::int64_t id_;
  int (*close_)(std::int64_t);
};

/// While it lives, HDF5 prints nothing by itself; then what a host has set for its errors is back.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  int (*before_)(std::int64_t, void*) = nullptr;
  void* data_ = nullptr;
};

/// ": " and what HDF5 says last, deepest in its stack, which is empty afterwards; "" where it says nothing.
std::string last_hdf5_message();

}  // namespace quadrille
