// What the ranks of a communicator do together or not at all: a step that fails on one fails on all.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "core/error.h"

#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace quadrille {

/// Thrown where another rank has failed in a common step; that rank throws its own error.
class QUADRILLE_API FailedElsewhere : public std::exception {
 public:
  explicit FailedElsewhere(int rank) : text_("rank " + std::to_string(rank) + " has failed") {}
  /// As another FailedElsewhere says it.
  explicit FailedElsewhere(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Calls `step` on every rank, which may not use the communicator, and waits for all. A rank on which it throws
/// throws that on; where it has not thrown, but has elsewhere, FailedElsewhere is thrown.
QUADRILLE_API void all_or_none(const Communicator& communicator, const std::function<void()>& step);

/// Calls `step` on rank 0 alone; all wait, and all fail when it does.
QUADRILLE_API void on_first_rank(const Communicator& communicator, const std::function<void()>& step);

/// The text that rank 0 has.
QUADRILLE_API std::string share(const Communicator& communicator, std::string text);

/// "rank 3: what it says", of the first rank that says anything; empty where none does. Of each text the first 255
/// bytes.
QUADRILLE_API std::string first_reason(const Communicator& communicator, const std::string& mine);

/// Whether all ranks have the same text; for an error that all of them are to have.
QUADRILLE_API bool same_everywhere(const Communicator& communicator, const std::string& text);

/// Fails on all ranks unless all have the same text: a rank whose `mine` is not that of rank 0 throws
/// error(rank 0's).
QUADRILLE_API void require_same(const Communicator& communicator, const std::string& mine,
                                const std::function<Error(const std::string& of_first)>& error);

}  // namespace quadrille
