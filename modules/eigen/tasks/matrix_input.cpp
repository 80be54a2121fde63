#include "modules/eigen/tasks/matrix_input.h"

#include "core/error.h"
#include "modules/eigen/tasks/generated.h"
#include "modules/eigen/triangle.h"
#include "modules/shared/elements/matrix_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::eigen {
namespace {

/// The lower triangle becomes that of (A + A^H) / 2; where A differs most from A^H.
template <class T>
Asymmetry average(std::vector<T>& a, std::int64_t n) {
  Asymmetry worst;
#pragma omp parallel
  {
    Asymmetry mine;
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = j; i < n; ++i) {
        T& lower = a[std::size_t(i + j * n)];
        const T upper = conjugate(a[std::size_t(j + i * n)]);
        const double difference = std::abs(lower - upper);
        if (difference > mine.size) mine = {difference, i, j};
        lower = lower == upper ? lower : lower * 0.5 + upper * 0.5;
      }
    }
#pragma omp critical
    if (mine.before(worst)) worst = mine;
  }
  return worst;
}

template <class T>
void require_hermitian(std::vector<T>& a, std::int64_t n, const MatrixInput& input, int base) {
  double largest = 0;
  for (const T& x : a) largest = std::max(largest, std::abs(x));
  const Asymmetry worst = average(a, n);
  require_agreement(worst, largest, is_complex<T>, input, base);
}

}  // namespace

MatrixHead head_of(const MatrixInput& input, bool read_for_size) {
  if (!input.generated.empty()) return {input.size, input.generated_complex};
  MatrixHead out;
  out.complex = holds_complex_elements(input.file, input.dataset);
  const auto size_of = [&](auto source) { return read_for_size ? source->size() : source->size_in_head().value_or(0); };
  out.n = out.complex ? size_of(elements_of_file<std::complex<double>>(input.file, input.dataset))
                      : size_of(elements_of_file<double>(input.file, input.dataset));
  return out;
}

void require_agreement(const Asymmetry& worst, double largest, bool complex, const MatrixInput& input, int base) {
  if (worst.size <= largest_asymmetry * largest) return;
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("{} must be {}: elements [{}, {}] and [{}, {}] differ {}by {:.3g}, the largest element is {:.3g}; "
                  "`triangle` takes one half",
                  input.name, complex ? "Hermitian" : "symmetric", worst.row + base, worst.column + base,
                  worst.column + base, worst.row + base, complex ? "from each other's conjugates " : "", worst.size,
                  largest),
      Location{.file = input.file, .dataset = input.dataset});
}

template <class T>
std::vector<T> read_matrix(const MatrixInput& input) {
  if (!input.generated.empty()) return generated_matrix<T>(input.generated, input.size, input.seed);
  const auto source = elements_of_file<T>(input.file, input.dataset);
  const std::int64_t n = source->size();
  std::vector<T> a(std::size_t(n) * std::size_t(n));
  std::vector<MatrixElement<T>> piece;
  constexpr std::size_t most = std::size_t(1) << 20;
  for (source->next(most, piece); !piece.empty(); source->next(most, piece)) {
    for (const MatrixElement<T>& e : piece) a[std::size_t(e.row) + std::size_t(e.column) * std::size_t(n)] += e.value;
  }
  if (input.triangle) {
    fill_lower(n, a.data(), n, *input.triangle);
  } else {
    require_hermitian(a, n, input, source->base());
  }
  return a;
}

template std::vector<double> read_matrix(const MatrixInput&);
template std::vector<std::complex<double>> read_matrix(const MatrixInput&);

}  // namespace quadrille::eigen
