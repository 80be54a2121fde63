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

/// Rows [first, first + rows) of B.
std::vector<double> draw_b(std::int64_t first, std::int64_t rows, std::int64_t auxiliary, std::uint64_t seed) {
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
  std::vector<double> b(static_cast<std::size_t>(rows * auxiliary));
#pragma omp parallel for
  for (std::int64_t row = 0; row < rows; ++row) {
    SiteRandom random = random_at(seed, first + row, of_b);
    const double of_pair = scale * std::exp(pair_deviation * random.normal());
    for (std::int64_t q = 0; q < auxiliary; ++q) {
      const double sign = random.integer() % 2 == 0 ? 1 : -1;
      b[std::size_t(row * auxiliary + q)] =
          sign * of_pair * weight[std::size_t(q)] * std::exp(element_deviation * random.normal());
    }
  }
  return b;
}

/// C = A B, B being n x n; all stored by rows.
void multiply(const double* a, const std::vector<double>& b, std::int64_t rows, std::int64_t n, Backend* backend,
              double* c) {
  const mgemm::Gemm<double> gemm{.order = mgemm::Order::rows,
                                 .m = rows,
                                 .n = n,
                                 .k = n,
                                 .a = a,
                                 .lda = n,
                                 .b = b.data(),
                                 .ldb = n,
                                 .c = c,
                                 .ldc = n};
  (void)mgemm::cleaver(gemm, {0, backend});
}

/// All but (ia|P).
System system_without_integrals(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary,
                                std::uint64_t seed) {
  if (occupied < 1 || virtuals < 1 || auxiliary < 1) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("a system needs at least one occupied, virtual and auxiliary function; got {}, {} and {}",
                            occupied, virtuals, auxiliary));
  }
  System system{occupied, virtuals, auxiliary, {}, {}, {}, {}};
  system.eps_occupied = make_energies(occupied, occupied / 4, seed, of_occupied, -1.2, -0.42);
  system.eps_virtual = make_energies(virtuals, 0, seed, of_virtuals, 0.18, 3.2);
  system.p_q = make_metric(auxiliary, seed);
  return system;
}

/// (P|Q)^{1/2}.
std::vector<double> square_root(const System& system) {
  const std::int64_t n = system.auxiliary;
  std::vector<double> root(static_cast<std::size_t>(n * n));
  multiply(system.p_q.data(), inverse_square_root(system.p_q, n), n, n, nullptr, root.data());
  return root;
}

}  // namespace

System generated_system(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, std::uint64_t seed,
                        Backend* backend) {
  System system = system_without_integrals(occupied, virtuals, auxiliary, seed);
  system.ia_p.resize(std::size_t(system.pairs() * auxiliary));
  multiply(draw_b(0, system.pairs(), auxiliary, seed).data(), square_root(system), system.pairs(), auxiliary, backend,
           system.ia_p.data());
  return system;
}

System generated_on_demand(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary, std::uint64_t seed) {
  System system = system_without_integrals(occupied, virtuals, auxiliary, seed);
  system.read_ia_p = [=, root = square_root(system)](std::int64_t first, std::int64_t count, double* to) {
    for (std::int64_t i = first; i < first + count; ++i) {  // one by one, so that little memory is taken
      multiply(draw_b(i * virtuals, virtuals, auxiliary, seed).data(), root, virtuals, auxiliary, nullptr,
               to + (i - first) * virtuals * auxiliary);
    }
  };
  return system;
}

}  // namespace quadrille::ri_mp2
