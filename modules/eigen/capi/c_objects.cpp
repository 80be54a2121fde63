#include "modules/eigen/capi/c_objects.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace quadrille::eigen {

using c_calls::refuse;

namespace {

thread_local std::string last_message;

}  // namespace

quadrille_status guarded(const char* name, const std::function<void()>& call) noexcept {
  return c_calls::guarded(last_message, name, call);
}

const char* message_of_last_failure() { return last_message.c_str(); }

Triangle triangle_of(char letter) {
  if (letter == 'L' || letter == 'l') return Triangle::lower;
  if (letter == 'U' || letter == 'u') return Triangle::upper;
  refuse(std::string("triangle = '") + letter + "': it must be 'L' (lower) or 'U' (upper)");
}

Fraction fraction_of(const quadrille_eigen_options& options) {
  switch (options.vectors) {
    case 0:
    case 'A':
    case 'a': return Fraction::all();
    case 'N':
    case 'n': return Fraction::none();
    case 'I':
    case 'i': return Fraction::range(options.first, options.last);
    case 'V':
    case 'v': return Fraction::interval(options.low, options.high);
    default:
      refuse(std::string("vectors = '") + options.vectors +
             "': it must be 'A' (all), 'N' (none), 'I' (by numbers) or 'V' (by an interval)");
  }
}

int refinement_of(const quadrille_eigen_options& options) {
  constexpr std::int64_t most = 1000;
  if (options.refine < 0 || options.refine > most) {
    refuse(fmt::format("refine = {}: it must be 0 to {}, the number of steps at most", options.refine, most));
  }
  if (options.refine > 0 && fraction_of(options).kind() == Fraction::Kind::none) {
    refuse(fmt::format("refine = {}: it takes eigenvectors, and vectors is 'N'", options.refine));
  }
  return int(options.refine);
}

void check_report(const quadrille_eigen_report* report) {
  if (report == nullptr) return;
  if (report->struct_size >= sizeof report->struct_size && report->struct_size <= sizeof *report) return;
  refuse(fmt::format("report: struct_size = {}: it must be the size of the struct, {} in this version",
                     report->struct_size, sizeof *report));
}

void check_room(const quadrille_eigen_options& options, std::int64_t pairs) {
  const bool by_interval = options.vectors == 'V' || options.vectors == 'v';
  if (by_interval && options.room != 0 && pairs > options.room) {
    refuse(fmt::format("room = {}: the interval has {} eigenvalues", options.room, pairs));
  }
}

void write_report(IndexRange range, const std::vector<Phase>& phases, const std::vector<Refinement>& steps,
                  quadrille_eigen_report* to) {
  if (to == nullptr) return;
  quadrille_eigen_report out{};
  out.struct_size = to->struct_size;
  out.first = range.first + 1;
  out.count = range.count;
  for (const Phase& ran : phases) {
    double& seconds =
        ran.name == phase::standard_form ? out.standard_form_seconds
        : ran.name == phase::tridiagonalization || ran.name == phase::band || ran.name == phase::bulge_chasing
            ? out.tridiagonalization_seconds
        : ran.name == phase::tridiagonal || ran.name == phase::tridiagonal_again || ran.name == phase::standard_problem
            ? out.tridiagonal_seconds
        : ran.name == phase::refinement ? out.refinement_seconds
                                        : out.back_transformation_seconds;
    seconds += ran.seconds;
  }
  if (!steps.empty()) out.defect_before = out.defect = steps.front().before.defect;
  for (const Refinement& step : steps) {
    if (!step.kept) continue;
    ++out.refinements;
    out.defect = step.after.defect;
  }
  std::memcpy(to, &out, out.struct_size);
}

}  // namespace quadrille::eigen
