#include "modules/shared/hdf5/hdf5_calls.h"

#include <hdf5.h>

#include <type_traits>

namespace quadrille {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

QuietHdf5::QuietHdf5() {
  (void)H5Eget_auto2(H5E_DEFAULT, &before_, &data_);
  (void)H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { (void)H5Eset_auto2(H5E_DEFAULT, before_, data_); }

std::string last_hdf5_message() {
  std::string text;
  const auto look = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &text);
  (void)H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "" : ": " + text;
}

}  // namespace quadrille
