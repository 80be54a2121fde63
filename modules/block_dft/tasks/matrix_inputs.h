// What tasks with matrices in files have in common: their parameters and how they are read.
#pragma once

#include "core/comm/agreement.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/functions/density.h"
#include "modules/shared/elements/matrix_elements.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace quadrille::block_dft {

namespace matrix_input {

constexpr quadrille_parameter in_file = parameter::required(
    parameter::file_in("file", "HDF5, ELSI CSC, Matrix Market or a CSR dump of CP2K, recognized by its first bytes"));
constexpr quadrille_parameter out_file =
    parameter::required(parameter::file_out("file", "ELSI CSC if its name ends in .csc, otherwise dense HDF5"));
constexpr quadrille_parameter dataset(const char* name) {
  return parameter::text("dataset", "in an HDF5 file: a square matrix", name);
}
inline constexpr quadrille_parameter h_members[] = {in_file, dataset("H")};
inline constexpr quadrille_parameter s_members[] = {in_file, dataset("S")};
inline constexpr quadrille_parameter p_members[] = {out_file, dataset("P")};
inline constexpr const char* file_excludes[] = {"size", nullptr};
inline constexpr quadrille_parameter block_members[] = {
    {.name = "file",
     .type = QUADRILLE_FILE_IN,
     .help = "a text file with the number of orbitals of each atom",
     .excludes = file_excludes},
    parameter::integer("size", "size of all blocks; the last one may be smaller", "16", parameter::within(1, 4096))};

constexpr quadrille_parameter hamiltonian = parameter::group("hamiltonian", "H", h_members, "file");
constexpr quadrille_parameter overlap =
    parameter::group("overlap", "S, positive definite; default: the identity", s_members, "file");
constexpr std::int64_t block_size = 16;
constexpr quadrille_parameter blocks = parameter::group(
    "blocks", "how rows and columns are divided into blocks; default: size: 16", block_members, "file");
constexpr quadrille_parameter density = parameter::group("density", "P, written in double", p_members, "file");
constexpr quadrille_parameter eps = parameter::real("eps",
                                                    "blocks and products with norms below this are left out; sign, "
                                                    "trs4 and canonical end at its square root, S^-1/2 at 10 eps",
                                                    "1.0e-6", parameter::above_and_up_to(0, 0.1));
constexpr quadrille_parameter max_iterations =
    parameter::integer("max_iterations", "maximum for each function of a matrix", "100", parameter::at_least(1));
constexpr quadrille_parameter order =
    parameter::integer("order",
                       "of the iterations for S^-1/2 and sign: each step raises the residual to this power; default: 2 "
                       "for sign, the fastest for S^-1/2",
                       nullptr, parameter::within(2, 5));
constexpr quadrille_parameter mixed = parameter::boolean(
    "mixed", "multiply blocks in single precision where their rounding errors are within eps", "false");
constexpr quadrille_parameter check =
    parameter::boolean("check", "measure |PSPS - PS| and |SPH - HPS|, and estimate the error of tr(PH)", "true");
constexpr quadrille_parameter check_eps = parameter::real(
    "check_eps", "eps for the products of the check; default: eps / 100", nullptr, parameter::at_least(0));

inline constexpr quadrille_parameter grid_members[] = {
    parameter::required(parameter::integer("rows", "rows of ranks", nullptr, parameter::within(1, 1e6))),
    parameter::required(parameter::integer("columns", "columns of ranks", nullptr, parameter::within(1, 1e6)))};
constexpr quadrille_parameter grid = parameter::group(
    "grid", "on several ranks: the grid that they share matrices in; default: nearly a square", grid_members);

}  // namespace matrix_input

/// The job's ranks as the grid that the task asks for; null for one rank. Not while the task is checked. Fails where
/// `grid` has another number of ranks.
std::shared_ptr<const MatrixGrid> grid_of(const TaskContext& context);

/// What `make` gives on rank 0, on all ranks; they fail together.
template <class T>
std::vector<T> of_first_rank(const TaskContext& context, const std::function<std::vector<T>()>& make) {
  std::string bytes;
  on_first_rank(context.ranks(), [&] {
    const std::vector<T> made = make();
    bytes.assign(reinterpret_cast<const char*>(made.data()), made.size() * sizeof(T));
  });
  bytes = share(context.ranks(), std::move(bytes));
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// The parameters that name the files of matrices. The first decides how many rows the blocks have.
using MatrixNames = std::vector<std::string>;
inline const MatrixNames hamiltonian_and_overlap = {"hamiltonian", "overlap"};

/// Fails where matrices, as far as the heads of their files say their sizes, have others than the blocks; a dump of
/// CP2K does not say its size, and is not read for it. Gives the sizes of the blocks, where they are known.
std::optional<BlockSizes> check_matrices(const TaskContext& context, const MatrixNames& names);
/// The same of H and S, and where `electrons` are more than fit.
void check_hamiltonian(const TaskContext& context);
/// Fails where `electrons` are no whole number, or more than fit.
void check_electrons(const TaskContext& context, const BlockSizes& sizes);

/// Symmetric matrices in files: rank 0 opens and reads them. All calls are collective.
class InputMatrices {
 public:
  /// Fails as check_matrices does, with the sizes of all files.
  InputMatrices(const TaskContext& context, const MatrixNames& names);
  /// Those of `blocks.file`, or as many of `blocks.size` as the first matrix has, the last one smaller where they do
  /// not add up; on grid_of().
  const BlockSizes& sizes() const { return sizes_; }
  /// Each once; the identity where the job has none of this name.
  BlockMatrix<double> read(const std::string& name);

 private:
  const TaskContext& context_;
  std::map<std::string, std::unique_ptr<ElementSource>> sources_;  // of rank 0, by the names of the parameters
  BlockSizes sizes_;
};

bool on_gpu(const TaskContext& context);
/// Fails at once where the task will need all eigenvectors, and rank 0 has no memory for them. Collective.
void check_dense_memory(const TaskContext& context, const BlockSizes& sizes);
/// In the memory of the host.
inline const BlockMatrix<double>& on_host(const BlockMatrix<double>& a) { return a; }
inline BlockMatrix<double> on_host(const DeviceMatrix& a) { return a.fetch(); }

/// eps, mixed, and, as far as the task has them, max_iterations and order.
FunctionOptions function_options(const TaskContext& context);

/// How far an iteration with this residual is, 0 to 1, where residuals are squared in each step.
double iteration_fraction(double residual, double eps);

}  // namespace quadrille::block_dft
