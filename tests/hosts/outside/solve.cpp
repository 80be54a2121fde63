// solve_cpp FIELD OPERATOR SOLVER OUT: as solve.c; links in QDP's order, spinors even-odd, color first, in the UKQCD
// basis, turned back here, all columns in one call.
#include <quadrille.hpp>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Complex = std::complex<double>;

/// What the library does: both ways in the same order, for the same digits.
void rotate(const Complex* in, Complex* out, bool back) {
  const double f = 1 / 1.41421356237309504880;
  for (int c = 0; c < 3; ++c) {
    const Complex p0 = in[c], p1 = in[3 + c], p2 = in[6 + c], p3 = in[9 + c];
    out[c] = back ? -f * (p1 + p3) : f * (p1 + p3);
    out[3 + c] = back ? f * (p0 + p2) : -f * (p0 + p2);
    out[6 + c] = back ? f * (p3 - p1) : f * (p1 - p3);
    out[9 + c] = back ? f * (p0 - p2) : f * (p2 - p0);
  }
}

/// (N^+ N + shift) x = b on the odd sites: both residuals are met, and the larger shift gives the smaller solution.
void solve_shifts(const quadrille::host::Operator& dirac, std::size_t sites) {
  auto solver = dirac.solver("{type: cg, tolerance: 1e-8}");
  std::vector<Complex> b(sites * 6), first = b, second = b;
  b[0] = 1;
  for (const quadrille_report& report :
       solver.solve_shifts("{subset: odd}", {0, 0.5}, b.data(), {first.data(), second.data()})) {
    if (report.residual > 1e-8) throw std::runtime_error("a shift misses its target");
  }
  if (!(first[0].real() > second[0].real() && second[0].real() > 0)) throw std::runtime_error("shifts are mixed up");
}

void run(const std::vector<std::string>& words) {
  const char* const backend = std::getenv("QUADRILLE_TEST_BACKEND");
  const quadrille::host::Context context("{threads: 1, backend: " + std::string(backend == nullptr ? "cpu" : backend) +
                                         "}");
  const auto read = context.gauge("{file: '" + words[1] + "'}");
  const auto d = read.dims();
  const std::size_t sites = std::size_t(d[0]) * std::size_t(d[1]) * std::size_t(d[2]) * std::size_t(d[3]);
  std::vector<std::vector<Complex>> links(4, std::vector<Complex>(sites * 9));
  std::vector<void*> to;
  std::vector<const void*> from;
  for (auto& array : links) {
    to.push_back(array.data());
    from.push_back(array.data());
  }
  read.to_memory("{order: qdp}", to);
  std::string dims;
  for (const int extent : d) dims += (dims.empty() ? "" : ", ") + std::to_string(extent);
  const auto gauge = context.gauge_from_memory("{order: qdp, dims: [" + dims + "]}", from);
  auto solver = gauge.dirac(words[2]).solver(words[3]);

  std::vector<std::vector<Complex>> b(12, std::vector<Complex>(sites * 12)), x = b;
  from.clear();
  to.clear();
  for (std::size_t k = 0; k < 12; ++k) {
    Complex source[12] = {}, inside[12];
    source[k] = 1;
    rotate(source, inside, false);
    for (std::size_t n = 0; n < 12; ++n) b[k][n % 3 * 4 + n / 3] = inside[n];
    from.push_back(b[k].data());
    to.push_back(x[k].data());
  }
  for (const quadrille_report& report :
       solver.solve_all("{sites: even_odd, order: color_spin, basis: ukqcd}", from, to)) {
    std::printf("%d %.17g\n", int(report.iterations), report.residual);
  }
  solve_shifts(gauge.dirac(words[2]), sites);
  std::ofstream out(words[4], std::ios::binary);
  for (const auto& column : x) {
    std::size_t next[2] = {0, sites / 2};
    for (std::size_t site = 0; site < sites; ++site) {
      const auto extent = [&](int mu) { return std::size_t(d[std::size_t(mu)]); };
      const std::size_t y = site / extent(0), z = y / extent(1), t = z / extent(2);
      const std::size_t parity = (site % extent(0) + y % extent(1) + z % extent(2) + t) % 2;
      const Complex* const at = column.data() + next[parity]++ * 12;
      Complex inside[12], spins[12];
      for (std::size_t n = 0; n < 12; ++n) inside[n] = at[n % 3 * 4 + n / 3];
      rotate(inside, spins, true);
      out.write(reinterpret_cast<const char*>(spins), sizeof spins);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  try {
    run({words, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
