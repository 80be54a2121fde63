#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/eigen/ranks/mpi/scalapack_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace quadrille::eigen {

RankGrid::RankGrid(const Communicator& ranks, const Layout& layout) : ranks_(ranks), layout_(layout) {
  const int rank = ranks.rank();
  const MPI_Comm all = MPI_Comm_f2c(MPI_Fint(*ranks.fortran_number()));
  if (MPI_Comm_split(all, layout.has(rank) ? 0 : MPI_UNDEFINED, rank, &comm_) != MPI_SUCCESS) {
    throw Error(ErrorCode::internal, "MPI: making a communicator for an eigenproblem");
  }
  if (!here()) return;
  // The libraries do not look at what MPI returns.
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  handle_ = Csys2blacs_handle(comm_);
  context_ = handle_;
  Cblacs_gridinit(&context_, "Row", layout.rows, layout.columns);
  descriptor_ = {1,  // dense
                 context_,
                 int(layout.n),
                 int(layout.n),
                 int(layout.block),
                 int(layout.block),
                 0,
                 0,
                 int(std::max<std::int64_t>(1, layout.local_rows(rank)))};
}

RankGrid::~RankGrid() {
  int ended = 0;  // MPI, by a host that did not wait
  MPI_Finalized(&ended);
  if (!here() || ended != 0) return;
  Cblacs_gridexit(context_);
  Cfree_blacs_system_handle(handle_);
  MPI_Comm_free(&comm_);
}

int RankGrid::run(const std::function<void()>& prepare, const std::function<int()>& step) const {
  all_or_none(ranks_, [&] {
    if (here()) prepare();
  });
  const int mine = here() ? step() : 0;
  std::vector<int> all(std::size_t(ranks_.size()));
  ranks_.gather(&mine, sizeof mine, all.data());
  const auto first = std::find_if(all.begin(), all.end(), [](int number) { return number != 0; });
  return first == all.end() ? 0 : *first;
}

void RankGrid::demand(const char* routine, const std::function<void()>& prepare,
                      const std::function<int()>& step) const {
  const int info = run(prepare, step);
  if (info == 0) return;
  throw Error(info > 0 ? ErrorCode::numerical : ErrorCode::internal,
              fmt::format("the eigenproblem on ranks: {} found no solution (info = {})", routine, info));
}

}  // namespace quadrille::eigen
