#include "core/comm/ranks.h"

#include "core/error.h"
#include "core/system/build_id.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace quadrille {
namespace {

int here() { return 0; }  // its address is this library's

/// Beside libquadrille.so.
std::string path_beside(const std::string& library) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&here), &info) == 0 || info.dli_fname == nullptr) return library;
  const std::filesystem::path beside = std::filesystem::path(info.dli_fname).parent_path() / library;
  return std::filesystem::exists(beside) ? beside.string() : library;
}

[[noreturn]] void fail(const char* because, const std::string& what, const char* instead) {
  throw Error(ErrorCode::unsupported, fmt::format("{}, but {}, or {}", because, what, instead));
}

/// Of libquadrille_ranks.so.
void* function_of_ranks(const char* name, std::string& reason) {
  return function_beside("libquadrille_ranks.so", "quadrille_ranks_build", name,
                         "install libopenmpi-dev and build with QUADRILLE_MPI=ON", reason);
}

/// Ranks that a launcher has started, as it says; 0 without one.
int announced_ranks() {
  constexpr std::array<const char*, 4> counts = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                                 "MV2_COMM_WORLD_SIZE"};
  for (const char* name : counts) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  // Slurm sets its own for every step, of one task too; with PMIx its tasks are ranks.
  if (std::getenv("PMIX_RANK") != nullptr) {
    const char* text = std::getenv("SLURM_NTASKS");
    return text != nullptr ? std::atoi(text) : 2;
  }
  return 0;
}

}  // namespace

bool started_by_mpi() { return announced_ranks() > 0; }

std::unique_ptr<Ranks> join_ranks() {
  if (!started_by_mpi()) return nullptr;
  std::string reason;
  const auto join = reinterpret_cast<JoinRanks>(function_of_ranks("quadrille_join_ranks", reason));
  if (join != nullptr) return std::unique_ptr<Ranks>(join());
  if (announced_ranks() == 1) return nullptr;
  fail("MPI started this program", reason, "start it without mpirun");
}

void* function_beside(const std::string& library, const char* build, const char* name, const std::string& install,
                      std::string& reason) {
  const std::string path = path_beside(library);
  // MPI looks for its own symbols in what it loads later.
  void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) {
    const char* const said = ::dlerror();
    reason = fmt::format("{} cannot be loaded ({}): {}", library, said != nullptr ? said : "unknown", install);
    return nullptr;
  }
  const auto build_of = reinterpret_cast<const char* (*)()>(::dlsym(opened, build));
  const std::string theirs = build_of == nullptr ? "unknown" : build_of();
  void* const function = ::dlsym(opened, name);
  if (function != nullptr && theirs == build_id()) return function;
  reason = fmt::format("{} is of the build '{}' of Quadrille, and what has loaded it '{}': install both from one build",
                       path, theirs, build_id());
  return nullptr;
}

std::unique_ptr<Ranks> ranks_of(const HostCommunicator& host) {
  std::string reason;
  const auto of = reinterpret_cast<RanksOf>(function_of_ranks("quadrille_ranks_of", reason));
  if (of == nullptr) fail("an MPI communicator was given", reason, "create a context without one");
  return std::unique_ptr<Ranks>(of(host));
}

}  // namespace quadrille
