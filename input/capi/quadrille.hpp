// The C API for C++ (17 or later): handles that are destroyed with their scope, failures as exceptions. It uses nothing
// but quadrille.h, so a host may be compiled by any compiler against any build of the library.
//
//   quadrille::host::Context context("{backend: cpu}");
//   auto gauge = context.gauge("{file: field.lime}");
//   auto op = gauge.dirac("{type: wilson, mass: -0.79, boundary: [periodic, periodic, periodic, antiperiodic]}");
//   quadrille_report report = op.solver("{type: bicgstab}").solve("{}", b, x);
#ifndef QUADRILLE_HPP
#define QUADRILLE_HPP

#include "quadrille.h"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {
namespace host {

/// A call did not return QUADRILLE_DONE; what() is the library's message.
class Failure : public std::runtime_error {
 public:
  Failure(quadrille_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  quadrille_status status() const { return status_; }

 private:
  quadrille_status status_;
};

inline void demand(quadrille_status status) {
  if (status != QUADRILLE_DONE) throw Failure(status, quadrille_message(nullptr));
}

/// Owns a handle; can be moved, not copied. Like the handle itself it may outlive the object that it was made from.
template <class T, quadrille_status (*destroy)(T*)>
class Handle {
 public:
  explicit Handle(T* handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (handle_ != nullptr) (void)destroy(handle_);
  }
  /// For functions of quadrille.h.
  T* get() const { return handle_; }

 private:
  T* handle_;
};

/// Several arrays of a host, as the C functions take them.
template <class Pointer>
using Arrays = std::vector<Pointer>;

class Solver : public Handle<quadrille_solver, quadrille_solver_destroy> {
 public:
  using Handle::Handle;

  /// Throws Failure if the solve does not converge (QUADRILLE_NOT_CONVERGED: x is written; solve_all() has reports).
  quadrille_report solve(const std::string& words, const void* b, void* x) {
    quadrille_report report = QUADRILLE_REPORT_INIT;
    demand(quadrille_solver_solve(get(), words.c_str(), &b, &x, 1, &report));
    return report;
  }
  /// Returns the reports of all solves, converged or not; throws on other failures.
  std::vector<quadrille_report> solve_all(const std::string& words, const Arrays<const void*>& b,
                                          const Arrays<void*>& x) {
    if (b.size() != x.size())
      throw Failure(QUADRILLE_INVALID_INPUT, "there must be as many solutions as right-hand sides");
    std::vector<quadrille_report> reports(b.size(), quadrille_report QUADRILLE_REPORT_INIT);
    const quadrille_status status =
        quadrille_solver_solve(get(), words.c_str(), b.data(), x.data(), b.size(), reports.data());
    if (status != QUADRILLE_NOT_CONVERGED) demand(status);
    return reports;
  }
  /// (N^+ N + shifts[k]) x[k] = b; reports as those of solve_all().
  std::vector<quadrille_report> solve_shifts(const std::string& words, const std::vector<double>& shifts, const void* b,
                                             const Arrays<void*>& x) {
    if (shifts.size() != x.size()) throw Failure(QUADRILLE_INVALID_INPUT, "there must be as many solutions as shifts");
    std::vector<quadrille_report> reports(x.size(), quadrille_report QUADRILLE_REPORT_INIT);
    const quadrille_status status =
        quadrille_solver_solve_shifts(get(), words.c_str(), shifts.data(), b, x.data(), x.size(), reports.data());
    if (status != QUADRILLE_NOT_CONVERGED) demand(status);
    return reports;
  }
  /// The solves of the last call as a JSON list.
  std::string json() const {
    const char* text = nullptr;
    demand(quadrille_solver_json(get(), &text));
    return text;
  }
};

class Operator : public Handle<quadrille_operator, quadrille_operator_destroy> {
 public:
  using Handle::Handle;

  Solver solver(const std::string& words) const {
    quadrille_solver* made = nullptr;
    demand(quadrille_solver_create(get(), words.c_str(), &made));
    return Solver(made);
  }
  /// The clover term of a host; `words`: CLOVER of quadrille.h.
  void set_clover(const std::string& words, const void* blocks) {
    demand(quadrille_operator_set_clover(get(), words.c_str(), blocks));
  }
  void apply(quadrille_product product, const std::string& words, const void* in, void* out) {
    demand(quadrille_operator_apply(get(), product, words.c_str(), &in, &out, 1));
  }
};

class Gauge : public Handle<quadrille_gauge, quadrille_gauge_destroy> {
 public:
  using Handle::Handle;

  Operator dirac(const std::string& words) const {
    quadrille_operator* made = nullptr;
    demand(quadrille_operator_create(get(), words.c_str(), &made));
    return Operator(made);
  }
  void update(const std::string& words, const Arrays<const void*>& arrays) {
    demand(quadrille_gauge_update(get(), words.c_str(), arrays.data(), arrays.size()));
  }
  void to_memory(const std::string& words, const Arrays<void*>& arrays) const {
    demand(quadrille_gauge_to_memory(get(), words.c_str(), arrays.data(), arrays.size()));
  }
  void save(const std::string& words) const { demand(quadrille_gauge_save(get(), words.c_str())); }
  std::array<int, 4> dims() const {
    std::array<int, 4> out{};
    demand(quadrille_gauge_dims(get(), out.data()));
    return out;
  }
  /// The extents of this rank's part, and the coordinates of its first site in the whole lattice.
  struct Part {
    std::array<int, 4> dims, origin;
  };
  Part part() const {
    Part out{};
    demand(quadrille_gauge_part(get(), out.dims.data(), out.origin.data()));
    return out;
  }
  /// The mean over all planes, then those of the planes xy, xz, xt, yz, yt, zt.
  std::array<double, 7> plaquettes() const {
    std::array<double, 7> out{};
    demand(quadrille_gauge_plaquettes(get(), out.data()));
    return out;
  }
  std::string json() const {
    const char* text = nullptr;
    demand(quadrille_gauge_json(get(), &text));
    return text;
  }
};

class Context : public Handle<quadrille_context, quadrille_context_destroy> {
 public:
  explicit Context(const std::string& words = "{}") : Handle(create(words)) {}
  /// On the ranks of an MPI_Comm.
  template <class Communicator>
  Context(const std::string& words, const Communicator& communicator) : Handle(create_mpi(words, &communicator)) {}

  Gauge gauge(const std::string& words) const {
    quadrille_gauge* made = nullptr;
    demand(quadrille_gauge_create(get(), words.c_str(), &made));
    return Gauge(made);
  }
  Gauge gauge_from_memory(const std::string& words, const Arrays<const void*>& arrays) const {
    quadrille_gauge* made = nullptr;
    demand(quadrille_gauge_from_memory(get(), words.c_str(), arrays.data(), arrays.size(), &made));
    return Gauge(made);
  }
  /// Runs a whole job, on `gauge` unless it is null; returns the text of its results.json.
  std::string run(const std::string& words, const std::string& folder, const Gauge* gauge = nullptr) const {
    const char* text = nullptr;
    demand(quadrille_job_run(get(), gauge == nullptr ? nullptr : gauge->get(), words.c_str(), folder.c_str(), &text));
    return text;
  }
  std::string help(const std::string& topic = "") const {
    const char* text = nullptr;
    demand(quadrille_help(get(), topic.c_str(), &text));
    return text;
  }

 private:
  static quadrille_context* create(const std::string& words) {
    quadrille_context* made = nullptr;
    demand(quadrille_context_create(words.c_str(), &made));
    return made;
  }
  static quadrille_context* create_mpi(const std::string& words, const void* communicator) {
    quadrille_context* made = nullptr;
    demand(quadrille_context_create_mpi(words.c_str(), communicator, &made));
    return made;
  }
};

}  // namespace host
}  // namespace quadrille

#endif
