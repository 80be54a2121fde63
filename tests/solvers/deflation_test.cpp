// Low modes that solves leave for those that follow.
#include "core/blas/blas.h"
#include "core/error.h"
#include "core/parameters/parameter_values.h"
#include "core/random/random.h"
#include "core/system/memory.h"
#include "method_checks.h"
#include "solvers/deflation/symmetric_eigen.h"
#include "solvers/driver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace quadrille::test {
namespace {

TEST(SymmetricEigen, VectorsAreOrthonormalAndBelongToTheValues) {
  for (const std::size_t n : {1, 2, 7, 40}) {
    SiteRandom random(next_seed(), RandomPurpose::Test, 0);
    std::vector<double> a(n * n), vectors;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = random.normal();
    }
    const std::vector<double> values = symmetric_eigen(a, n, vectors);
    ASSERT_EQ(values.size(), n);
    ASSERT_EQ(vectors.size(), n * n);
    for (std::size_t k = 0; k < n; ++k) {
      if (k > 0) {
        EXPECT_LE(values[k - 1], values[k]);
      }
      const double* const v = vectors.data() + k * n;
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(std::inner_product(v, v + n, a.data() + i * n, 0.0), values[k] * v[i], 1e-13 * double(n));
      }
      for (std::size_t l = 0; l <= k; ++l) {
        EXPECT_NEAR(std::inner_product(v, v + n, vectors.data() + l * n, 0.0), l == k ? 1 : 0, 1e-13 * double(n));
      }
    }
  }
}

/// T (1 + sum_i (s_i - 1) |q_i><q_i|) with a unitary T and orthonormal random q_i: its singular values are s_i, with
/// these vectors, and 1.
class FewLowModes final : public LinearOperator {
 public:
  FewLowModes(const Lattice& lattice, std::vector<double> small)
      : rest_(lattice, {.smallest = 1, .angle = 3.14}, next_seed()), small_(std::move(small)), work_(field_desc()) {
    for (std::size_t i = 0; i < small_.size(); ++i) {
      q_.push_back(gaussian(field_desc(), next_seed()));
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t j = 0; j < i; ++j) blas::caxpy(-blas::dot(q_[j], q_[i]), q_[j], q_[i]);
      }
      blas::scale(1 / norm(q_[i]), q_[i]);
    }
  }

  const FieldDesc& field_desc() const override { return rest_.field_desc(); }
  double flops() const override { return rest_.flops(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override {
    if (dagger == Dagger::No) {
      blas::copy(work_, x);
      shrink(work_);
      rest_.apply(y, work_, dagger);
    } else {
      rest_.apply(y, x, dagger);
      shrink(y);
    }
  }
  const Field& mode(std::size_t i) const { return q_[i]; }

 private:
  void shrink(Field& x) const {
    for (std::size_t i = 0; i < q_.size(); ++i) blas::caxpy((small_[i] - 1) * blas::dot(q_[i], x), q_[i], x);
  }

  ToyOperator rest_;
  std::vector<double> small_;
  std::vector<Field> q_;
  mutable Field work_;
};

/// |r - A d| / |r| for the d of a space.
double left_by(DeflationSpace& space, const LinearOperator& a, const Field& r, Field* residual = nullptr) {
  Field d(a.field_desc()), image(a.field_desc());
  fill_gaussian(d, next_seed());  // must be overwritten
  space.solve(d, r);
  a.apply(image, d, Dagger::No);
  const double left = std::sqrt(blas::subtract_norm2(r, image)) / norm(r);
  if (residual != nullptr) blas::copy(*residual, image);
  return left;
}

TEST(DeflationSpace, ItsElementLeavesTheSmallestResidual) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.05, .angle = 3.14}, next_seed());
  const auto half = a.converted({Precision::Half, Reconstruct::R12, false});
  for (const LinearOperator* const iterating :
       {static_cast<const LinearOperator*>(&a), static_cast<const LinearOperator*>(half.get())}) {
    // As the pairs are kept; each is the sum of up to 6 rounded ones.
    const double unit = 100 * rounding_unit(iterating == &a ? Precision::Double : Precision::Single);
    DeflationSpace space(a, *iterating, {.vectors = 6, .window = 5, .modes = 2});
    std::vector<Field> images;
    for (int i = 0; i < 6; ++i) {
      const Field u = gaussian(a.field_desc(), next_seed());
      images.emplace_back(a.field_desc());
      a.apply(images.back(), u, Dagger::No);
      space.add(u);
      ASSERT_EQ(space.size(), i + 1);
      if (i == 3) {  // what it has: it stays as it is
        Field same(a.field_desc());
        blas::copy(same, u);
        blas::scale(0.01, same);
        space.add(same);
        EXPECT_EQ(space.size(), i + 1);
      }
    }
    EXPECT_TRUE(space.full());
    space.add(gaussian(a.field_desc(), next_seed()));
    EXPECT_EQ(space.size(), 6);
    const Field r = gaussian(a.field_desc(), next_seed());
    Field residual(a.field_desc());
    EXPECT_LT(left_by(space, a, r, &residual), 1);
    for (const Field& w : images) EXPECT_LT(std::abs(blas::dot(w, residual)), unit * norm(w) * norm(r));
    EXPECT_LT(left_by(space, a, images[2]), unit) << "an element of A times the space";
  }
}

TEST(DeflationSpace, ServesOneSolverAfterTheOther) {
  const Lattice lattice({4, 4, 4, 4}), other({4, 4, 4, 6});
  const std::uint64_t seed = next_seed();
  const Field r = gaussian(ToyOperator(lattice, {.smallest = 0.05, .angle = 3.14}, seed).field_desc(), next_seed());
  std::unique_ptr<DeflationSpace> space;
  double left = 1;
  for (int solver = 0; solver < 3; ++solver) {
    const ToyOperator a(lattice, {.smallest = 0.05, .angle = 3.14}, seed);
    if (space) {
      space->serve(a, a);
    } else {
      space = std::make_unique<DeflationSpace>(a, a, DeflationSettings{6, 5, 2});
    }
    space->add(gaussian(a.field_desc(), next_seed()));
    const double now = left_by(*space, a, r);
    EXPECT_LT(now, left) << "the elements of the solvers before count";
    left = now;
  }
  EXPECT_EQ(space->modes().size(), 3u);
  const ToyOperator larger(other, {.smallest = 0.05, .angle = 3.14}, seed);
  EXPECT_THROW(space->serve(larger, larger), Error);
}

TEST(DeflationSpace, OneThatIsTooLargeIsAnErrorBeforeMemoryIsTaken) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.05, .angle = 3.14}, next_seed());
  try {
    const DeflationSpace space(a, a, {.vectors = 2000000000, .window = 5, .modes = 2});
    FAIL() << "no machine has this memory";
  } catch (const NotEnoughMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("not enough memory: a deflation space of 2000000000 vectors"), std::string::npos) << text;
    EXPECT_NE(text.find("give `deflation` fewer `vectors`"), std::string::npos) << text;
  }
}

TEST(Deflation, ASolveFindsTheLowModes) {
  constexpr int low = 10;
  const Lattice lattice({4, 4, 4, 4});
  std::vector<double> values;
  for (int i = 1; i <= low; ++i) values.push_back(0.005 * i);
  while (values.size() < 60) values.push_back(0.4 + 0.01 * double(values.size()));
  const FewLowModes a(lattice, values);
  const auto space = std::make_shared<DeflationSpace>(a, a, DeflationSettings{72, 40, 12});
  const auto solver = make_cg({.outer = a, .delta = 0.1, .deflation = space});
  const auto alone = make_cg({.outer = a, .delta = 0.1});
  Field x(a.field_desc()), other(a.field_desc());
  for (int solve = 0; solve < 7; ++solve) {
    const Field b = gaussian(a.field_desc(), next_seed());
    const Stopping stopping{1e-12 * norm(b), 2000};
    const SolveReport report = solver->solve(x, b, stopping);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(relative_residual(a, x, b), 1.5e-12);
    const SolveReport plain = alone->solve(other, b, stopping);
    blas::axpy(-1, x, other);
    EXPECT_LT(norm(other), 1e-8 * norm(x)) << "1e-12 / 0.005, and some more";
    std::cout << report.iterations << " iterations, without deflation " << plain.iterations << "\n";
    if (solve == 0) {
      for (std::size_t i = 0; i < low; ++i) {
        Field image(a.field_desc());
        a.apply(image, a.mode(i), Dagger::No);
        EXPECT_LT(left_by(*space, a, image), 0.05) << "mode " << i;
      }
    } else if (solve == 6) {
      EXPECT_GE(space->size(), low);
      EXPECT_LT(report.iterations, 0.75 * plain.iterations);
    }
  }
}

TEST(Deflation, ASolveThatIsBrokenOffLeavesTheSpaceToOthers) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.05, .angle = 3.14}, next_seed());
  const auto space = std::make_shared<DeflationSpace>(a, a, DeflationSettings{8, 12, 4});
  const auto broken = make_cg({.outer = a, .deflation = space}), other = make_cg({.outer = a, .deflation = space});
  broken->set_progress([](const Progress& progress) {
    if (progress.iteration == 5) throw Error(ErrorCode::invalid_input, "enough");
  });
  Field x(a.field_desc());
  const Field b = gaussian(a.field_desc(), next_seed());
  EXPECT_THROW(broken->solve(x, b, {1e-10 * norm(b), 2000}), Error);
  EXPECT_EQ(space->size(), 0);
  EXPECT_TRUE(other->solve(x, b, {1e-10 * norm(b), 2000}).converged);
  EXPECT_GT(space->size(), 0);
}

TEST(Deflation, ReliableInEveryForm) {
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, {.smallest = 0.05, .angle = 3.14}, next_seed());
  for (const OperatorForm& form : sloppy_forms) {
    SCOPED_TRACE(to_string(form));
    const auto inner = a.converted(form);
    const auto space = std::make_shared<DeflationSpace>(a, *inner, DeflationSettings{16, 20, 4});
    const auto solver = make_cg({.outer = a, .inner = inner.get(), .delta = 0.1, .deflation = space});
    Field x(a.field_desc());
    for (int solve = 0; solve < 4; ++solve) {
      const Field b = gaussian(a.field_desc(), next_seed());
      const SolveReport report = solver->solve(x, b, {1e-12 * norm(b), 5000});
      EXPECT_TRUE(report.converged) << report.message;
      EXPECT_NEAR(report.residual / norm(b), relative_residual(a, x, b), 1e-15);
      EXPECT_LE(report.residual, 1e-12 * norm(b));
    }
    EXPECT_GT(space->size(), 4);
  }
}

SolverSpec deflated_spec(const std::string& words) {
  std::vector<Error> errors;
  const auto block =
      resolve_variant(solver_variant(), parse_flow("{type: cg, " + words + "}", {"job.yaml", 3, 1, "", -1}), errors);
  if (!errors.empty()) throw errors.front();
  return solver_spec(*block);
}

// Until the space is full, right-hand sides go one after the other; then each gains by the same space.
TEST(Deflation, BitsDoNotDependOnHowABatchIsCut) {
  const Lattice lattice({4, 4, 6, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 0.5}, next_seed());
  const SolverSpec spec = deflated_spec("tolerance: 1.0e-10, deflation: {vectors: 12, window: 20, modes: 4}");
  std::vector<Field> b;
  for (int i = 0; i < 6; ++i) b.push_back(gaussian(system.full_desc(), next_seed()));
  blas::zero(b[1]);
  std::vector<std::vector<Field>> found;
  for (const std::size_t at_once : {1, 4, 6}) {
    SystemSolver solver(system, spec);
    std::vector<Field>& x = found.emplace_back();
    for (const Field& one : b) x.emplace_back(one.desc());
    for (std::size_t first = 0; first < b.size(); first += at_once) {
      std::vector<Field*> to;
      std::vector<const Field*> from;
      for (std::size_t i = first; i < std::min(b.size(), first + at_once); ++i) {
        to.push_back(&x[i]);
        from.push_back(&b[i]);
      }
      for (const SolveReport& report : solver.solve(to, from)) EXPECT_TRUE(report.converged) << report.message;
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      EXPECT_EQ(std::memcmp(x[i].numbers(Parity::Even), found[0][i].numbers(Parity::Even), x[i].desc().bytes()), 0)
          << i;
    }
  }
}

TEST(Deflation, ContradictionsAreErrors) {
  const auto message = [](const std::string& words) -> std::string {
    try {
      (void)deflated_spec(words);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("deflation: {vectors: 8}"), "");
  EXPECT_EQ(message("scheme: defect, deflation: {window: 8}"), "") << "no vectors: nothing is deflated";
  EXPECT_NE(message("deflation: {vectors: 8, window: 32}").find("window is 32 and must be more than twice modes, 16"),
            std::string::npos);
  EXPECT_NE(message("scheme: defect, deflation: {vectors: 8}").find("deflation goes with scheme: reliable or uniform"),
            std::string::npos);
  EXPECT_NE(message("deflation: {vectors: -1}"), "");
}

}  // namespace
}  // namespace quadrille::test
