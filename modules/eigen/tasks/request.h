// What a job asks of the task `eigen`.
#pragma once

#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/tasks/matrix_input.h"
#include "modules/shared/plugin/task.h"

#include <optional>
#include <string>

namespace quadrille::eigen {

/// Runs `step`; what is wrong with it is due to a parameter.
template <class Step>
auto blamed(const std::string& parameter, Step&& step) {
  try {
    return step();
  } catch (const NotEnoughMemory&) {
    throw;
  } catch (const Error& error) {
    TaskContext::fail(status_of(error.code()), error.what(), parameter);
  }
}

/// What is to be solved, before it is read.
struct Request {
  MatrixInput a;
  std::optional<MatrixInput> b;
  Fraction fraction;
  MatrixHead head;  ///< complex if A or B is
};

/// Reads heads of files, and CP2K's dumps only if `read_for_size`. On several ranks rank 0 reads for all; collective.
Request request_of(const TaskContext& context, bool read_for_size, const Communicator& ranks);

}  // namespace quadrille::eigen
