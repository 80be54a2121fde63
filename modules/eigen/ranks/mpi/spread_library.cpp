// What libquadrille_eigen_ranks.so exports.
#include "core/api.h"
#include "core/error.h"
#include "modules/eigen/ranks/library.h"
#include "modules/eigen/ranks/mpi/elpa_steps.h"
#include "modules/eigen/ranks/mpi/scalapack_steps.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>

namespace quadrille::eigen {
namespace {

/// ScaLAPACK counts the work space of its divide and conquer, of twice a part, in 32 bits.
void require_counts(const Layout& layout) {
  constexpr std::int64_t most = (std::int64_t(1) << 31) - 1;
  if (layout.n < most / 32 && 2 * layout.local_size(0) + 6 * layout.n <= most) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("{} rows on {} ranks: ScaLAPACK counts in 32 bits, so that a rank can have about 2^30 elements "
                  "of a matrix, which is {} rows here, and at most {} in any case: use more ranks",
                  layout.n, layout.rows * layout.columns,
                  std::int64_t(std::sqrt(double(most) / 2 * layout.rows * layout.columns)), most / 32));
}

/// A library of steps.
template <template <class> class Steps>
class LibraryOf final : public SpreadLibrary {
 public:
  LibraryOf(const Communicator& ranks, const char* name) : ranks_(ranks), name_(name) {
    MPI_Comm host = MPI_COMM_NULL;
    const MPI_Comm all = MPI_Comm_f2c(MPI_Fint(*ranks.fortran_number()));
    if (MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, ranks.rank(), MPI_INFO_NULL, &host) != MPI_SUCCESS) {
      throw Error(ErrorCode::internal, "MPI: finding the ranks of a host");
    }
    MPI_Comm_size(host, &ranks_of_host_);
    MPI_Comm_free(&host);
  }

  std::string name() const override { return name_; }
  int ranks_of_host() const override { return ranks_of_host_; }
  std::unique_ptr<SpreadSteps<double>> real_steps(const Layout& layout) const override {
    require_counts(layout);
    return std::make_unique<Steps<double>>(ranks_, layout);
  }
  std::unique_ptr<SpreadSteps<Complex>> complex_steps(const Layout& layout) const override {
    require_counts(layout);
    return std::make_unique<Steps<Complex>>(ranks_, layout);
  }

 private:
  const Communicator& ranks_;
  const char* name_;
  int ranks_of_host_ = 1;
};

SpreadLibrary* make_library(const Communicator& ranks, [[maybe_unused]] std::string_view name) {
#ifdef QUADRILLE_HAVE_ELPA
  if (name != "scalapack") {
    begin_elpa();
    return new LibraryOf<ElpaSteps>(ranks, "ELPA");
  }
#else
  if (name == "elpa") {
    throw Error(ErrorCode::unsupported,
                "this Quadrille is built without ELPA: install libelpa-dev and build with QUADRILLE_ELPA=ON, or use "
                "ScaLAPACK");
  }
#endif
  return new LibraryOf<ScalapackSteps>(ranks, "ScaLAPACK");
}

}  // namespace
}  // namespace quadrille::eigen

extern "C" QUADRILLE_API quadrille::eigen::SpreadLibrary* quadrille_eigen_spread_library(
    const quadrille::Communicator& ranks, const char* name) {
  return quadrille::eigen::make_library(ranks, name);
}
