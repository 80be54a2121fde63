// Functions of matrices, density matrices and self-consistent charges on grids of ranks against LAPACK and one rank.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "tests/ranks/ranks_testing.h"
#include "tests/ranks/shortage/heap_peak.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace quadrille::block_dft {
namespace {

using testing::all_ranks;
using testing::everywhere;
using ::testing::HasSubstr;
using Grid = std::shared_ptr<const MatrixGrid>;
using Matrix = BlockMatrix<double>;

/// The model on one rank, and the same on a grid whose shape another run changes.
class RankBlockDensity : public ::testing::Test {
 protected:
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const std::uint64_t seed = testing::shared_seed();
  const Grid grid = shape();
  ModelOptions options{.sizes = random_sizes(30, {1, 2, 4, 5}, seed), .polarity = 0.1, .seed = seed};
  const ModelSystem alone = model_system(options);
  const ModelSystem shared = model_system(on_grid());

  Grid shape() const {
    std::vector<int> rows;
    for (int r = 1; r <= ranks->size(); ++r) {
      if (ranks->size() % r == 0) rows.push_back(r);
    }
    const int chosen = rows[seed % rows.size()];
    return MatrixGrid::over(*ranks, chosen, ranks->size() / chosen, seed);
  }
  ModelOptions on_grid() const {
    ModelOptions out = options;
    out.sizes = options.sizes.on(grid);
    return out;
  }
  /// |A - B|, Frobenius, of a matrix on the grid and one that every rank has.
  double difference(const Matrix& on_ranks, const Matrix& whole) const {
    Matrix out = on_ranks.grid() ? scattered(whole, on_ranks.grid()) : whole;
    add(1.0, out, -1.0, on_ranks);
    return frobenius_norm(out);
  }
};

TEST_F(RankBlockDensity, TheModelIsThatOfOneRank) {
  EXPECT_LT(difference(shared.h, alone.h), 1e-13);
  EXPECT_LT(difference(shared.s, alone.s), 1e-13);
  EXPECT_EQ(shared.electrons, alone.electrons);
  EXPECT_EQ(shared.neutral, alone.neutral);
}

TEST_F(RankBlockDensity, FunctionsOfMatrices) {
  const FunctionOptions tight{.eps = 1e-12};
  for (const int order : {2, 5}) {
    FunctionOptions function = tight;
    function.order = order;
    Matrix sign = alone.h, on_ranks = shared.h;
    matrix_sign(sign, function);
    EXPECT_TRUE(matrix_sign(on_ranks, function).converged);
    EXPECT_LT(difference(on_ranks, sign), 1e-8);
  }
  EXPECT_LT(difference(square_roots(shared.s, tight).inverse_root, square_roots(alone.s, tight).inverse_root), 1e-8);
  EXPECT_LT(difference(inverse(shared.s, tight).matrix, inverse(alone.s, tight).matrix), 1e-8);
  EXPECT_LT(difference(exponential(shared.h, tight).matrix, exponential(alone.h, tight).matrix), 1e-8);
}

TEST_F(RankBlockDensity, MethodsAgreeWithLapack) {
  DensityOptions density{.method = DensityMethod::dense, .electrons = alone.electrons, .function = {.eps = 1e-9}};
  const Density<Matrix> exact = density_matrix(alone.h, alone.s, density);
  for (const DensityMethod method :
       {DensityMethod::sign, DensityMethod::trs4, DensityMethod::canonical, DensityMethod::dense}) {
    density.method = method;
    const Density<Matrix> found = density_matrix(shared.h, shared.s, density);
    EXPECT_TRUE(found.converged);
    EXPECT_LT(difference(found.p, exact.p), 1e-6) << "method " << int(method);
    EXPECT_NEAR(found.energy, exact.energy, 1e-6);
    EXPECT_NEAR(found.electrons, alone.electrons, 1e-6);
    const DensityCheck check = check_density(found.p, shared.h, shared.s, 1e-12);
    EXPECT_LT(check.idempotency, 1e-6);
    EXPECT_LT(check.commutation, 1e-6);
  }
  density.method = DensityMethod::dense;
  EXPECT_EQ(density_matrix(shared.h, shared.s, density).eigenvalues.size(), exact.eigenvalues.size());
}

TEST_F(RankBlockDensity, WhatIsWrongIsSaidOnAllRanks) {
  const auto message_of = [&](const Matrix& s, const DensityOptions& density) -> std::string {
    try {
      (void)density_matrix(shared.h, s, density);
    } catch (const Error& error) {
      return error.message();
    } catch (const FailedElsewhere&) {
      return "failed elsewhere";
    }
    return "";
  };
  const auto everywhere = [&](const std::string& said, const std::string& part) {
    EXPECT_THAT(said, ::testing::AnyOf(HasSubstr(part), "failed elsewhere"));
  };
  everywhere(message_of(shared.s, {.mu = 50.0}), "mu = 50 is outside the spectrum: all of the");
  everywhere(message_of(shared.s, {.method = DensityMethod::dense, .mu = -50.0}), "none of the");
  everywhere(message_of(shared.s, {.electrons = 1e9}), "electrons: must be > 0 and < ");
  everywhere(message_of(shared.s, {.electrons = 5.0, .function = {.eps = 0}}), "eps = 0: it must be above 0");
  Matrix indefinite = shared.s;
  add_identity(indefinite, -1.0);
  everywhere(message_of(indefinite, {.mu = 0.0}), "S is not positive definite");
}

TEST_F(RankBlockDensity, SelfConsistentCharges) {
  const auto loop = [&](const ModelSystem& system, ScfMethod method) {
    SccModel<Matrix> model{system.h, system.s, charge_interaction(system.positions, {.hubbard = 1, .screening = 1}),
                           system.neutral};
    ScfOptions scf{.method = method};
    scf.density = {.method = DensityMethod::trs4, .electrons = system.electrons, .function = {.eps = 1e-9}};
    scf.eps_scf = 1e-9;
    return self_consistent(model, scf);
  };
  for (const ScfMethod method : {ScfMethod::mixing, ScfMethod::curvy}) {
    const Scf<Matrix> one = loop(alone, method), many = loop(shared, method);
    EXPECT_TRUE(many.converged);
    EXPECT_NEAR(many.energy, one.energy, 1e-6);
    EXPECT_NEAR(many.electrons, alone.electrons, 1e-6);
    for (std::size_t a = 0; a < one.charges.size(); ++a) EXPECT_NEAR(many.charges[a], one.charges[a], 1e-5);
  }
}

/// Files in a folder that all ranks have.
class RankBlockFiles : public RankBlockDensity {
 protected:
  std::string folder = share(*ranks, std::filesystem::temp_directory_path() / ("ranks_" + std::to_string(::getpid())));
  RankBlockFiles() {
    on_first_rank(*ranks, [&] { std::filesystem::create_directories(folder); });
  }
  ~RankBlockFiles() override {
    ranks->barrier();
    if (ranks->rank() == 0) std::filesystem::remove_all(folder);
  }

  static std::string bytes_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  void write_bytes(const std::string& file, const std::string& bytes) const {
    on_first_rank(*ranks, [&] { std::ofstream(file, std::ios::binary) << bytes; });
  }
  /// As CP2K dumps it.
  std::string dump(bool binary, bool upper) const {
    std::string out;
    const auto push = [&](auto word) { out.append(reinterpret_cast<const char*>(&word), sizeof word); };
    const std::vector<double> dense = alone.s.to_dense();
    const auto n = std::int32_t(options.sizes.total());
    for (std::int32_t p = 0; p < n; ++p) {
      for (std::int32_t q = upper ? p : 0; q < n; ++q) {
        const double value = dense[std::size_t(p) * std::size_t(n) + std::size_t(q)];
        if (value == 0) continue;
        if (!binary) {
          out += fmt::format("{:8d}{:8d} {:.17e}\n", p + 1, q + 1, value);
          continue;
        }
        push(std::int32_t(16));
        push(p + 1);
        push(q + 1);
        push(value);
        push(std::int32_t(16));
      }
    }
    return out;
  }
  /// What is said on rank 0, and whether every rank has failed.
  std::pair<std::string, bool> said(const std::string& file, std::size_t buffer_bytes) const {
    std::string message;
    bool failed = false;
    StreamBuffer buffer{.bytes = buffer_bytes};
    try {
      (void)read_symmetric(file, "S", options.sizes.on(grid), buffer);
    } catch (const std::exception& error) {
      message = error.what();
      failed = true;
    }
    return {share(*ranks, message), everywhere(*ranks, failed)};
  }
  static constexpr std::size_t small = 2048;
};

TEST_F(RankBlockFiles, AreThoseOfOneRankInSmallPieces) {
  const Matrix mine = grid ? scattered(alone.s, grid) : alone.s;
  for (const std::string name : {"/s.csc", "/s.h5"}) {
    const std::string one = folder + "/one" + name.substr(1), many = folder + name;
    on_first_rank(*ranks, [&] { write_symmetric(one, "S", alone.s, 3); });
    StreamBuffer writing{.bytes = small}, reading = writing;
    write_symmetric(many, "S", mine, 3, writing);
    const Matrix read = read_symmetric(many, "S", options.sizes.on(grid), reading);
    EXPECT_EQ(difference(read, alone.s), 0);
    EXPECT_EQ(read.block_count(), mine.block_count());
    // A row with all its columns may be more.
    EXPECT_LE(writing.largest, std::max(small, std::size_t(3 * 16) * std::size_t(options.sizes.total())));
    EXPECT_LE(reading.largest, small);
    EXPECT_GT(writing.pieces, 5);
    EXPECT_GT(reading.pieces, 5);
    ranks->barrier();
    EXPECT_TRUE(bytes_of(one) == bytes_of(many)) << name;
    EXPECT_ANY_THROW(write_symmetric(folder + "/no/such" + name, "S", read, 3));
  }
  for (const bool binary : {false, true}) {
    for (const bool upper : {false, true}) {
      StreamBuffer reading{.bytes = small};
      write_bytes(folder + "/s.csr", dump(binary, upper));
      EXPECT_EQ(difference(read_symmetric(folder + "/s.csr", "", options.sizes.on(grid), reading), alone.s), 0);
      EXPECT_LE(reading.largest, small);
    }
  }
}

TEST_F(RankBlockFiles, TakeNoMoreMemoryThanTheShareAndTheBuffer) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the heap is AddressSanitizer's";
#endif
  const double mebibyte = 1 << 20;
  const BlockSizes sizes = BlockSizes(std::vector<std::int32_t>(120, 13)).on(grid);
  const Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, seed);
  const double share = 8.0 * double(a.stored()), allowed = 2 * share + 6 * mebibyte;
  for (const std::string name : {"/a.csc", "/a.h5"}) {
    StreamBuffer buffer{.bytes = std::size_t(mebibyte)};
    const double before = testing::heap_now();
    write_symmetric(folder + name, "S", a, 3, buffer);
    EXPECT_LE(testing::heap_peak() - before, 6 * mebibyte) << name;
    EXPECT_GE(testing::heap_peak() - before, ranks->rank() == 0 ? mebibyte / 4 : 0) << "nothing has been counted";
    (void)testing::heap_now();
    const Matrix read = read_symmetric(folder + name, "S", sizes, buffer);
    EXPECT_LE(testing::heap_peak() - before, allowed) << name;
    EXPECT_GE(testing::heap_peak() - before, share) << "nothing has been counted";
    EXPECT_EQ(read.block_count(), a.block_count());
    EXPECT_LE(buffer.largest, buffer.bytes);
  }
}

TEST_F(RankBlockFiles, DamagedOnesEndAllRanksWithTheMessageOfOne) {
  const std::string csc = folder + "/s.csc", h5 = folder + "/s.h5", csr = folder + "/s.csr";
  write_symmetric(csc, "S", shared.s, 3);
  write_symmetric(h5, "S", shared.s, 3);
  ranks->barrier();
  const std::string elsi = bytes_of(csc), dense = bytes_of(h5), text = dump(false, false), records = dump(true, false);
  ranks->barrier();
  const auto n = std::size_t(options.sizes.total());
  const std::size_t elements = (elsi.size() - 128 - 8 * n) / 12, last_row = elsi.size() - 8 * elements - 4;
  const auto changed = [](std::string bytes, std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  const struct {
    const std::string& file;
    std::string bytes, message;
  } cases[] = {
      {csc, elsi.substr(0, elsi.size() - 5), "nor a complete ELSI CSC"},
      {csc, changed(elsi, last_row, std::int32_t(n + 1)),
       fmt::format("element {} is in row {}: rows are 1 to {}", elements, n + 1, n)},
      {csc, changed(elsi, 128 + 8, std::int64_t(1) << 40), "column 2 begins at element 1099511627776"},
      {csc, changed(elsi, elsi.size() - 8, double(NAN)), fmt::format("element {} in row {} is nan", elements, n)},
      {csc, changed(elsi, elsi.size() - 16, 1e3), "the matrix must be symmetric"},
      {h5, dense.substr(0, dense.size() - 5), "s.h5"},
      {h5, changed(dense, dense.size() - 8, double(INFINITY)), fmt::format("element [{0}, {0}] is inf", n - 1)},
      {csr, text.substr(0, text.size() - 1), "ends early: the last line is incomplete"},
      {csr, text + " 1 1 nan\n", "element (1, 1) is nan"},
      {csr, text + " 1 0 2\n", "rows and columns count from 1"},
      {csr, text + fmt::format(" 1 {} 2\n", n), fmt::format("elements [1, {0}] and [{0}, 1] differ by 2", n)},
      {csr, text + fmt::format(" {0} {0} 2\n", n + 1), "but the sizes of the 30 blocks add up to"},
      {csr, records.substr(0, records.size() - 5), "ends early, within element"},
      {csr, changed(records, records.size() - 24, std::int32_t(24)), "the record has 24 bytes"}};
  for (const auto& [file, bytes, message] : cases) {
    write_bytes(file, bytes);
    const auto [few, all_failed] = said(file, small);
    EXPECT_THAT(few, HasSubstr(message));
    EXPECT_TRUE(all_failed) << message;
    EXPECT_EQ(few, said(file, std::size_t(64) << 20).first);
  }
}

}  // namespace
}  // namespace quadrille::block_dft
