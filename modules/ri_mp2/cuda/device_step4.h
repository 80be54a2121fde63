// How step 4 is done in mixed precision on a GPU: the form of the small elements, the cutoff, the length of sums, and
// whether to split B at all.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/mgemm/device.h"
#include "modules/ri_mp2/cuda/kernels.h"
#include "modules/ri_mp2/sampled_energy.h"
#include "modules/ri_mp2/step4.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace quadrille::ri_mp2 {

constexpr const char* device_advice = "use a smaller `memory`, or free memory of the device";

struct DeviceSplitChoice : SplitChoice {
  mgemm::SmallForm small_form = mgemm::SmallForm::single;
};

/// For batches of `batch` occupied orbitals; B, [pairs][auxiliary], is on the device. As choose_split(), with the forms
/// and costs of a GPU: a given cutoff takes the form that is expected to be fastest of those whose bound is no worse
/// than that of single precision with sums of 2048 terms. Forms that the device's free memory does not hold are left
/// out. Errors: ErrorCode::numerical where B is not finite and is looked at.
DeviceSplitChoice choose_split_on_device(const System& system, const double* b, const Options& options,
                                         std::int64_t batch);

/// SampledEnergyError with everything on the device: rows of the sample are multiplied there in the form that is tried,
/// scaled as all of B is. Takes 3 x 128 numbers for every ia, and for a trial the parts of B.
class DeviceEnergySample {
 public:
  /// B must stay; `squares`: |B_ia|^2; `max_abs`: the largest magnitude in B.
  DeviceEnergySample(const System& system, const double* b, const std::vector<double>& squares, double max_abs);

  /// As SampledEnergyError::error.
  double error(mgemm::SmallForm form, double delta, std::int64_t depth);

 private:
  void gather(double max_abs);
  void multiply_exactly();
  DeviceRows rows_there() const;

  const System& system_;
  const double* b_;
  std::vector<SampledRow> rows_;
  cuda::DeviceArray<double> gaps_, gaps_of_rows_;
  cuda::DeviceArray<double> sample_;                       ///< rows of B, and one that holds the largest magnitude
  cuda::DeviceArray<double> exact_, derivatives_, mixed_;  ///< [row][jb]
  cuda::DeviceArray<MovedEnergy> moved_;
  /// Those of the trial before.
  std::optional<mgemm::PreparedFactor> all_, some_;
  mgemm::SmallForm form_ = mgemm::SmallForm::automatic;
  double delta_ = 0;
};

}  // namespace quadrille::ri_mp2
