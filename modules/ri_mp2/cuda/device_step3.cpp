#include "modules/ri_mp2/cuda/device_step3.h"

#include "core/backend/cuda/cuda_backend.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/kernels.h"
#include "modules/shared/dense/cuda/host_link.h"
#include "modules/shared/dense/cuda/panel_buffers.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>

namespace quadrille::ri_mp2 {
namespace {

using cuda::DeviceArray;

/// Rows of (ia|P) that are on the device at a time.
std::int64_t rows_of_panel(const System& system) {
  constexpr std::int64_t bytes = std::int64_t(128) << 20, least = 256;
  return std::min(system.pairs(), std::max(least, bytes / (8 * system.auxiliary)));
}

/// Rows of B = rows of (ia|P) times the root, which is symmetric. By columns: the transpose.
template <class T>
void multiply_rows(const T* rows_of_ia_p, std::int64_t rows, const T* root, std::int64_t n, T* rows_of_b) {
  mgemm::dense_product_on_device<T>(T(1), {root, n, n, n, false}, {rows_of_ia_p, n, rows, n, false}, T(0),
                                    {rows_of_b, n, rows, n, false});
}

DeviceArray<double> b_in_double(const System& system, const std::vector<double>& root) {
  const std::int64_t n = system.auxiliary;
  const auto root_there = sent(root, "(P|Q)^-1/2");
  auto b = array<double>(system.pairs() * n, "B");
  for_each_panel(system, [&](const double* panel, std::int64_t first, std::int64_t rows) {
    multiply_rows(panel, rows, root_there.get(), n, b.get() + first * n);
  });
  return b;
}

DeviceArray<float> b_in_single(const System& system, const std::vector<double>& root) {
  const std::int64_t n = system.auxiliary;
  auto root_there = array<float>(n * n, "(P|Q)^-1/2");
  {
    const auto exact = sent(root, "(P|Q)^-1/2");
    narrow(exact.get(), n * n, root_there.get());
  }
  auto b = array<float>(system.pairs() * n, "B");
  const auto rounded = array<float>(rows_of_panel(system) * n, "a panel of (ia|P)");
  for_each_panel(system, [&](const double* panel, std::int64_t first, std::int64_t rows) {
    narrow(panel, rows * n, rounded.get());
    multiply_rows<float>(rounded.get(), rows, root_there.get(), n, b.get() + first * n);
  });
  return b;
}

DeviceArray<double> b_in_mixed_precision(const System& system, const Options& options, const std::vector<double>& root,
                                         Step& step, Step3Errors& errors) {
  const auto root_there = sent(root, "(P|Q)^-1/2");
  const auto ia_p = array<double>(system.pairs() * system.auxiliary, "(ia|P)");
  auto b = array<double>(ia_p.count(), "B");
  {
    cuda::HostLink link;
    const cuda::OwnedEvent event = cuda::make_event();
    cuda::pass(event, cuda::stream(), link.up());
    link.send(DenseView<const double>{system.ia_p.data(), system.pairs(), system.auxiliary, system.auxiliary, true},
              ia_p.get());
    cuda::pass(event, link.up(), cuda::stream());
  }
  const mgemm::Gemm<double> gemm = product_of_step3<double>(system, ia_p.get(), root_there.get(), b.get());
  errors = describe_step3(mgemm::mgemm_on_device(gemm, options.step3, mgemm_options(options)), step);
  return b;
}

/// Waits for step 3, which began then.
void finish(const System& system, double began, Step& step) {
  cuda_backend().synchronize();
  step.seconds += now() - began;
  step.flops += 2.0 * double(system.pairs()) * double(system.auxiliary) * double(system.auxiliary);
}

}  // namespace

void for_each_panel(const System& system,
                    const std::function<void(const double* panel, std::int64_t first, std::int64_t rows)>& use) {
  const std::int64_t n = system.auxiliary, most = rows_of_panel(system);
  cuda::PanelBuffers<double> panels(2, most * n, "a panel of (ia|P)", device_advice);
  cuda::HostLink link;  // after the buffers: it waits for what travels before they go
  for (std::int64_t first = 0; first < system.pairs(); first += most) {
    const std::int64_t rows = std::min(most, system.pairs() - first);
    const auto& panel = panels.load(link, {system.ia_p.data() + first * n, rows, n, n, true});
    panel.begin_reading();
    use(panel.view().data, first, rows);
    panel.end_reading();
  }
}

DeviceArray<double> make_b_there(const System& system, const Options& options, const std::vector<double>& root,
                                 Step& step, Step3Errors& errors) {
  const double began = now();
  DeviceArray<double> b;
  errors = {};
  if (splits_step3(options)) {
    b = b_in_mixed_precision(system, options, root, step, errors);
  } else {  // an automatic cutoff: as on the CPU
    step.form = "double";
    b = b_in_double(system, root);
  }
  finish(system, began, step);
  return b;
}

DeviceArray<float> make_single_b_there(const System& system, const std::vector<double>& root, Step& step) {
  const double began = now();
  step.form = "single";
  DeviceArray<float> b = b_in_single(system, root);
  finish(system, began, step);
  return b;
}

}  // namespace quadrille::ri_mp2
