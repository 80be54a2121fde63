// A module in CUDA: a kernel of its own on the job's device and stream, in memory of the program's pool.
#include "core/backend/cuda/runtime.h"
#include "modules/shared/plugin/task.h"

#include <string>
#include <vector>

namespace {

using quadrille::TaskContext;

__global__ void add_numbers(double* sum, int count) {
  double all = 0;
  for (int k = 1; k <= count; ++k) all += k;
  sum[threadIdx.x] = all + threadIdx.x;
}

void check(const TaskContext& context) {
  if (context.backend() == "cpu") {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "the numbers are added on a GPU: use --backend cuda");
  }
}

void run(const TaskContext& context) {
  const TaskContext::Device device = context.device();
  auto* const sum = static_cast<double*>(context.allocate(32 * sizeof(double)));
  const auto stream = static_cast<cudaStream_t>(device.stream);
  add_numbers<<<1, 32, 0, stream>>>(sum, 1000);
  std::vector<double> found(32);
  QUADRILLE_CUDA_CHECK(
      cudaMemcpyAsync(found.data(), sum, found.size() * sizeof(double), cudaMemcpyDeviceToHost, stream));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream));
  context.release(sum);
  int current = -1;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&current));
  const std::string right = current == device.ordinal ? "true" : "false";
  context.result(R"({"first": )" + std::to_string(found.front()) + R"(, "last": )" + std::to_string(found.back()) +
                 R"(, "right_device": )" + right + "}");
}

const quadrille_task tasks[] = {{.name = "on_gpu",
                                 .help = "adds numbers on a GPU",
                                 .check = quadrille::task_function<check>,
                                 .run = quadrille::task_function<run>}};
constexpr quadrille_module module = quadrille::module_of("on_gpu", "0.1", tasks);

}  // namespace

extern "C" QUADRILLE_API const quadrille_module* quadrille_module_descriptor() { return &module; }
