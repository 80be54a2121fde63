// How step 4 is done in mixed precision on a GPU: the form of the small elements, the cutoff, the length of sums, and
// whether to split B at all.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/mgemm/product/cuda/factor.h"
#include "modules/ri_mp2/cuda/kernels.h"
#include "modules/ri_mp2/split_choice.h"
#include "modules/ri_mp2/stream/plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace quadrille::ri_mp2 {

/// choose_split() on a GPU for batches of `batch` occupied orbitals; B, [pairs][auxiliary], is on the device. Forms
/// that its free memory does not hold are left out. Errors: ErrorCode::numerical where B is not finite and is looked
/// at.
SplitChoice choose_split_on_device(const System& system, const std::vector<double>& root, const double* b,
                                   const Step3Errors& errors, const Options& options, std::int64_t batch);

/// choose_split_of_orbitals() for a GPU, through `cap` bytes of whose memory B passes.
StreamedSplit choose_split_of_orbitals_there(const System& system, const std::vector<double>& root,
                                             const EachOrbital& b, const Step3Errors& errors, const Options& options,
                                             std::int64_t batch, std::int64_t cap);

/// Of the device's memory, for orbital energies, sums and the like.
constexpr std::int64_t stream_reserve = std::int64_t(1) << 18;

/// What a split product of units of `batch` orbitals takes there, with so many large elements in an orbital: of units
/// that stay the rows of B and their parts for the right side; of one that passes its rows in two buffers and parts for
/// the left side.
StreamCosts split_stream_costs(const System& system, const mgemm::FormTraits& form, std::int64_t large,
                               std::int64_t batch);

/// SampledEnergyError with everything on the device: rows of the sample are multiplied there in the form that is tried,
/// scaled as all of B is. Takes 3 x 128 numbers for every ia, and for a trial the parts of B. Where step 3 was a split
/// product (ia|P) passes through the device once more, in panels.
class DeviceEnergySample {
 public:
  /// B and the system must stay; `squares`: |B_ia|^2; `max_abs`: the largest magnitude in B; `root`: (P|Q)^{-1/2}, on
  /// the host, where B is of a split product, null where it is exact to double.
  DeviceEnergySample(const System& system, const double* b, const std::vector<double>& squares, double max_abs,
                     const std::vector<double>* root = nullptr);

  /// As SampledEnergyError::error_of_step3.
  double error_of_step3() const { return error_of_step3_; }

  /// As SampledEnergyError::errors.
  SampledErrors errors(mgemm::SmallForm form, double delta, std::int64_t depth);

 private:
  void gather(double max_abs);
  /// Products of the given B in double, and the derivatives made from them.
  void multiply_given(double* products);
  /// With the products of the given B where those of trials are going to be.
  void count_step3(const std::vector<double>& root);
  /// t_r of SampledEnergyError: exact integrals are (ia|P) times these.
  cuda::DeviceArray<double> turned_rows(const std::vector<double>& root) const;
  SampledErrors errors_of_mixed(bool biased);
  DeviceRows rows_there() const;

  const System& system_;
  const double* b_;
  std::vector<SampledRow> rows_;
  cuda::DeviceArray<double> gaps_, gaps_of_rows_;
  cuda::DeviceArray<double> sample_;                       ///< rows of B, and one that holds the largest magnitude
  cuda::DeviceArray<double> exact_, derivatives_, mixed_;  ///< [row][jb]
  cuda::DeviceArray<MovedEnergy> moved_;
  std::optional<mgemm::SplitFactors> factors_;  ///< of the trial before: B and the sample
  mgemm::SmallForm form_ = mgemm::SmallForm::automatic;
  double delta_ = 0;
  bool has_step3_errors_;
  double error_of_step3_ = 0;
};

}  // namespace quadrille::ri_mp2
