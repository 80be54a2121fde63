// Functions of matrices, density matrices and self-consistent charges on grids of ranks against LAPACK and one rank.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/block_exchange.h"
#include "modules/block_dft/density.h"
#include "modules/block_dft/matrix_files.h"
#include "modules/block_dft/model_system.h"
#include "modules/block_dft/random_blocks.h"
#include "modules/block_dft/scf.h"
#include "tests/ranks/ranks_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quadrille::block_dft {
namespace {

using testing::all_ranks;
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
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::dense}) {
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
  everywhere(message_of(shared.s, {.electrons = 1e9}),
             "electrons: there must be more than 0 and less than one for each");
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

TEST_F(RankBlockDensity, FilesAreThoseOfOneRank) {
  std::string folder = std::filesystem::temp_directory_path() / ("ranks_" + std::to_string(::getpid()));
  folder = share(*ranks, folder);
  on_first_rank(*ranks, [&] { std::filesystem::create_directories(folder); });
  for (const std::string name : {"/s.csc", "/s.h5"}) {
    const std::string one = folder + "/one" + name.substr(1), many = folder + name;
    on_first_rank(*ranks, [&] { write_symmetric(one, "S", alone.s, 3); });
    write_symmetric(many, "S", grid ? scattered(alone.s, grid) : alone.s, 3);
    const Matrix read = read_symmetric(many, "S", options.sizes.on(grid));
    EXPECT_EQ(difference(read, alone.s), 0);
    ranks->barrier();
    if (name == "/s.csc") {
      const auto bytes = [](const std::string& file) {
        std::ifstream stream(file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
      };
      EXPECT_TRUE(bytes(one) == bytes(many));
      ranks->barrier();
    }
    on_first_rank(*ranks, [&] { std::filesystem::resize_file(many, std::filesystem::file_size(many) - 5); });
    EXPECT_ANY_THROW((void)read_symmetric(many, "S", options.sizes.on(grid)));
    EXPECT_ANY_THROW(write_symmetric(folder + "/no/such" + name, "S", read, 3));
  }
  ranks->barrier();
  on_first_rank(*ranks, [&] { std::filesystem::remove_all(folder); });
}

}  // namespace
}  // namespace quadrille::block_dft
