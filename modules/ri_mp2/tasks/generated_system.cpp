#include "modules/ri_mp2/tasks/generated_system.h"

#include "core/error.h"
#include "core/random/random.h"
#include "modules/mgemm/product/cleaver.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

constexpr double rms_times_auxiliary = 1.7, pair_deviation = 0.4, element_deviation = 0.85, decay = 2;
constexpr double neighbours = 0.9, smallest_square = 0.2, largest_square = 60;

/// Streams of the seed.
enum Stream : std::uint32_t { of_metric, of_occupied, of_virtuals, of_b };

SiteRandom random_at(std::uint64_t seed, std::int64_t place, Stream stream) {
  return SiteRandom(seed, RandomPurpose::GeneratedSystem, place, stream);
}

double uniform(std::uint64_t seed, std::int64_t place, Stream stream, double low, double high) {
  return low + (high - low) * random_at(seed, place, stream).uniform();
}

std::vector<double> make_metric(std::int64_t n, std::uint64_t seed) {
  std::vector<double> size(static_cast<std::size_t>(n)), metric(static_cast<std::size_t>(n * n));
  for (std::int64_t p = 0; p < n; ++p) {
    size[std::size_t(p)] =
        std::exp(uniform(seed, p, of_metric, std::log(smallest_square), std::log(largest_square)) / 2);
  }
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t q = 0; q < n; ++q) {
      metric[std::size_t(p * n + q)] =
          size[std::size_t(p)] * size[std::size_t(q)] * std::pow(neighbours, double(std::abs(p - q)));
    }
  }
  return metric;
}

std::vector<double> make_energies(std::int64_t count, std::int64_t core, std::uint64_t seed, Stream stream, double low,
                                  double high) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < count; ++k) {
    out.push_back(k < core ? uniform(seed, k, stream, -11.22, -11.18) : uniform(seed, k, stream, low, high));
  }
  return out;
}

std::vector<double> draw_b(std::int64_t pairs, std::int64_t auxiliary, std::uint64_t seed) {
  std::vector<double> weight(static_cast<std::size_t>(auxiliary));
  double squares = 0;
  for (std::int64_t q = 0; q < auxiliary; ++q) {
    const double w = std::exp(-decay * double(q) / double(auxiliary));
    weight[std::size_t(q)] = w;
    squares += w * w;
  }
  // exp(s x) has the mean square exp(2 s^2).
  const double mean_square = squares / double(auxiliary) *
                             std::exp(2 * (pair_deviation * pair_deviation + element_deviation * element_deviation));
  const double scale = rms_times_auxiliary / double(auxiliary) / std::sqrt(mean_square);
  std::vector<double> b(static_cast<std::size_t>(pairs * auxiliary));
#pragma omp parallel for
  for (std::int64_t ia = 0; ia < pairs; ++ia) {
    SiteRandom random = random_at(seed, ia, of_b);
    const double of_pair = scale * std::exp(pair_deviation * random.normal());
    for (std::int64_t q = 0; q < auxiliary; ++q) {
      const double sign = random.integer() % 2 == 0 ? 1 : -1;
      b[std::size_t(ia * auxiliary + q)] =
          sign * of_pair * weight[std::size_t(q)] * std::exp(element_deviation * random.normal());
    }
  }
  return b;
}

/// A B, B being n x n; both stored by rows.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t rows,
                            std::int64_t n, Backend* backend) {
  std::vector<double> c(static_cast<std::size_t>(rows * n));
  const mgemm::Gemm<double> gemm{.order = mgemm::Order::rows,
                                 .m = rows,
                                 .n = n,
                                 .k = n,
                                 .a = a.data(),
                                 .lda = n,
                                 .b = b.data(),
                                 .ldb = n,
                                 .c = c.data(),
                                 .ldc = n};
  (void)mgemm::cleaver(gemm, {0, backend});
  return c;
}

}  // namespace

System generated_system(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, std::uint64_t seed,
                        Backend* backend) {
  if (occupied < 1 || virtuals < 1 || auxiliary < 1) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("a system needs at least one occupied, virtual and auxiliary function; got {}, {} and {}",
                            occupied, virtuals, auxiliary));
  }
  System system{occupied, virtuals, auxiliary, {}, {}, {}, {}};
  system.eps_occupied = make_energies(occupied, occupied / 4, seed, of_occupied, -1.2, -0.42);
  system.eps_virtual = make_energies(virtuals, 0, seed, of_virtuals, 0.18, 3.2);
  system.p_q = make_metric(auxiliary, seed);
  const std::vector<double> root =
      product(system.p_q, inverse_square_root(system.p_q, auxiliary), auxiliary, auxiliary, nullptr);
  system.ia_p = product(draw_b(system.pairs(), auxiliary, seed), root, system.pairs(), auxiliary, backend);
  return system;
}

}  // namespace quadrille::ri_mp2
