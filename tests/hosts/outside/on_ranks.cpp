// on_ranks_cpp FIELD OPERATOR SOLVER GRID OUT, under mpirun: as on_ranks.c, with two contexts: one of this rank alone,
// which reads the whole field, and one of all ranks, numbered the other way round, whose part is cut out here. Runs the
// same as a job on its links in the folder OUT.job, too.
#include <mpi.h>
#include <quadrille.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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
using Four = std::array<int, 4>;

std::string list(const Four& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text + "]";
}

std::size_t volume(const Four& d) {
  return std::size_t(d[0]) * std::size_t(d[1]) * std::size_t(d[2]) * std::size_t(d[3]);
}

std::size_t site(const Four& dims, const Four& x) {
  std::size_t out = 0;
  for (int mu = 3; mu >= 0; --mu) out = out * std::size_t(dims[std::size_t(mu)]) + std::size_t(x[std::size_t(mu)]);
  return out;
}

Four numbers(const std::string& text) {
  Four n{};
  if (std::sscanf(text.c_str(), "[%d, %d, %d, %d]", &n[0], &n[1], &n[2], &n[3]) != 4) throw std::runtime_error(text);
  return n;
}

/// The place of rank size - 1 - `rank` in the grid.
Four place_from_the_end(const Four& n, int rank, int size) {
  Four place{};
  int rest = size - 1 - rank;
  for (std::size_t mu = 0; mu < 4; ++mu) {
    place[mu] = rest % n[mu];
    rest /= n[mu];
  }
  return place;
}

/// The links of a part of the lattice, in ILDG's order.
std::vector<Complex> cut(const std::vector<Complex>& whole, const Four& dims, const Four& part, const Four& origin) {
  std::vector<Complex> out(volume(part) * 36);
  Four x{};
  for (x[3] = 0; x[3] < part[3]; ++x[3])
    for (x[2] = 0; x[2] < part[2]; ++x[2])
      for (x[1] = 0; x[1] < part[1]; ++x[1])
        for (x[0] = 0; x[0] < part[0]; ++x[0]) {
          Four there = x;
          for (std::size_t mu = 0; mu < 4; ++mu) there[mu] += origin[mu];
          std::copy_n(whole.data() + site(dims, there) * 36, 36, out.data() + site(part, x) * 36);
        }
  return out;
}

/// sqrt(sum |a - b|^2) over all ranks.
double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double mine = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) mine += std::norm(a[i] - b[i]);
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return std::sqrt(all);
}

/// A clover term that is d(x) on every spin and color gives Wilson's M with m + 4 = 4, and (d(x) - 4) psi(x) besides.
void apply_a_clover_term(const quadrille::host::Gauge& gauge, const Four& dims, const std::vector<Complex>& psi) {
  const Four part = gauge.part().dims, origin = gauge.part().origin;
  const std::string rest = ", mass: 0, boundary: [periodic, {phase: 0.25}, periodic, antiperiodic]}";
  std::vector<double> blocks(volume(part) * 72);
  std::vector<Complex> wanted(psi.size()), found = wanted;
  gauge.dirac("{type: wilson" + rest).apply(QUADRILLE_M, "", psi.data(), wanted.data());
  Four x{};
  for (x[3] = 0; x[3] < part[3]; ++x[3])
    for (x[2] = 0; x[2] < part[2]; ++x[2])
      for (x[1] = 0; x[1] < part[1]; ++x[1])
        for (x[0] = 0; x[0] < part[0]; ++x[0]) {
          Four there = x;
          for (std::size_t mu = 0; mu < 4; ++mu) there[mu] += origin[mu];
          const std::size_t here = site(part, x);
          const double d = 4 + std::sin(double(site(dims, there)));
          for (std::size_t chirality = 0; chirality < 2; ++chirality)
            std::fill_n(blocks.data() + (2 * here + chirality) * 36, 6, d);
          for (std::size_t i = here * 12; i < here * 12 + 12; ++i) wanted[i] += (d - 4) * psi[i];
        }
  auto clover = gauge.dirac("{type: clover, csw: 1" + rest);
  clover.set_clover("", blocks.data());
  clover.apply(QUADRILLE_M, "", psi.data(), found.data());
  const double size = distance(wanted, std::vector<Complex>(wanted.size()));
  if (!(distance(found, wanted) < 1e-13 * size)) throw std::runtime_error("another product with a host's clover term");
}

/// (N^+ N + shift) x = b on the even sites of all ranks, by the products that are applied.
void solve_shifts(const quadrille::host::Gauge& gauge, const std::string& words, const std::vector<Complex>& psi) {
  auto dirac = gauge.dirac(words);
  const std::vector<Complex> b(psi.begin(), psi.begin() + std::ptrdiff_t(psi.size() / 2));
  const std::vector<double> shifts{0.01, 0.5};
  std::vector<Complex> first(b.size()), second = first, image = first;
  dirac.solver("{type: cg, tolerance: 1e-9, sloppy: {precision: half, reconstruct: 12}}")
      .solve_shifts("{subset: even}", shifts, b.data(), {first.data(), second.data()});
  const double size = distance(b, std::vector<Complex>(b.size()));
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<Complex>& x = k == 0 ? first : second;
    dirac.apply(QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD, "{subset: even}", x.data(), image.data());
    for (std::size_t i = 0; i < x.size(); ++i) image[i] += shifts[k] * x[i];
    if (!(distance(image, b) < 1.1e-9 * size)) throw std::runtime_error("a shift misses its target");
  }
}

void run(const std::vector<std::string>& words, int rank, int size) {
  const char* const asked = std::getenv("QUADRILLE_TEST_BACKEND");
  const std::string work = "threads: 1, backend: " + std::string(asked == nullptr ? "cpu" : asked);
  const quadrille::host::Context alone("{" + work + "}", MPI_COMM_SELF);
  const auto read = alone.gauge("{file: '" + words[1] + "'}");
  const Four dims = read.dims();
  std::vector<Complex> whole(volume(dims) * 36);
  read.to_memory("", {whole.data()});

  const Four grid = numbers(words[4]), place = place_from_the_end(grid, rank, size);
  const quadrille::host::Context together("{" + work + ", grid: " + words[4] + ", place: " + list(place) + "}",
                                          MPI_COMM_WORLD);
  Four part = dims, origin{};
  for (std::size_t mu = 0; mu < 4; ++mu) {
    part[mu] /= grid[mu];
    origin[mu] = place[mu] * part[mu];
  }
  const std::vector<Complex> mine = cut(whole, dims, part, origin);
  const auto gauge = together.gauge_from_memory("{dims: " + list(dims) + "}", {mine.data()});
  if (gauge.part().dims != part || gauge.part().origin != origin)
    throw std::runtime_error("another part of the lattice");
  if (std::abs(gauge.plaquettes()[0] - read.plaquettes()[0]) > 1e-14) throw std::runtime_error("another plaquette");

  auto solver = gauge.dirac(words[2]).solver(words[3]);
  std::vector<std::vector<Complex>> b(12, std::vector<Complex>(volume(part) * 12)), x = b;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t k = 0; k < 12; ++k) {
    if (origin == Four{}) b[k][k] = 1;
    from.push_back(b[k].data());
    to.push_back(x[k].data());
  }
  for (const quadrille_report& report : solver.solve_all("", from, to)) {
    if (rank == 0) std::printf("%d %.17g\n", int(report.iterations), report.residual);
  }
  apply_a_clover_term(gauge, dims, x[3]);
  solve_shifts(gauge, words[2], x[7]);
  const std::string results = together.run(
      "{operator: " + words[2] + ", solver: " + words[3] +
          ", run: [{task: propagator, source: {type: point, site: [0, 0, 0, 0]}}, {task: mesons, from: propagator}]}",
      words[5] + ".job", &gauge);
  if (results.find("\"pion\"") == results.npos) throw std::runtime_error("no results of a job on this rank");
  std::ofstream out(words[5] + "." + std::to_string(rank), std::ios::binary);
  out.write(reinterpret_cast<const char*>(part.data()), sizeof part);
  out.write(reinterpret_cast<const char*>(origin.data()), sizeof origin);
  for (const auto& column : x) {
    out.write(reinterpret_cast<const char*>(column.data()), std::streamsize(column.size() * sizeof(Complex)));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  MPI_Init(&count, &words);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    run({words, words + count}, rank, size);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
