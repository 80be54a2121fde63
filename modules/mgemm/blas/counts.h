// What became of the calls, for the report at the end of the process.
#pragma once

#include <string>

namespace quadrille::preloaded {

enum class Routine { dgemm, sgemm, zgemm };

enum class Outcome {
  split,      ///< multiplied by Quadrille, in mixed precision
  whole,      ///< multiplied by Quadrille, in the precision of the call
  small,      ///< passed on, for its size
  passed_on,  ///< passed on, for another reason
};

/// `seconds`: of Quadrille.
void count(Routine routine, Outcome outcome, double seconds = 0);
/// The error bound of a split product; and why Quadrille has refused one. The largest bound and the last reason are
/// reported.
void note_bound(double bound);
void note_refusal(const std::string& why);

/// At the end of the process: a table of the calls on standard error, under a line that says how they were treated.
void report_at_exit();

}  // namespace quadrille::preloaded
