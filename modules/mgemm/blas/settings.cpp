#include "modules/mgemm/blas/settings.h"

#include "modules/mgemm/blas/messages.h"
#include "modules/mgemm/choice/cost_model.h"

#include <unistd.h>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

namespace quadrille::preloaded {
namespace {

void add_word(std::string& list, const std::string& word, const char* between) {
  if (!list.empty()) list += between;
  list += word;
}

/// A variable of the environment; one that is empty counts as not set.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* text = std::getenv(name)) value_ = text;
  }

  const std::string& name() const { return name_; }
  bool set() const { return !value_.empty(); }
  std::string text() const { return name_ + "=" + value_; }
  [[noreturn]] void refuse(const std::string& why) const { give_up(text() + ": " + why); }

  /// The place of its value among the words.
  int choice(const std::vector<std::string>& words) const {
    std::string all;
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (value_ == words[k]) return int(k);
      add_word(all, words[k], ", ");
    }
    refuse("it must be one of " + all);
  }
  /// A finite one in [least, most].
  double number(const char* wanted, double least, double most) const {
    double found = 0;
    const char* const end = value_.data() + value_.size();
    const auto [rest, error] = std::from_chars(value_.data(), end, found);
    if (error != std::errc() || rest != end || !(found >= least && found <= most)) refuse(wanted);
    return found;
  }

 private:
  std::string name_, value_;
};

const std::vector<std::string> truths{"false", "true"};
constexpr double largest = std::numeric_limits<double>::max();

/// All that there are.
struct Variables {
  Variable backend{"QUADRILLE_BLAS_BACKEND"}, memory{"QUADRILLE_BLAS_MEMORY"}, delta{"QUADRILLE_BLAS_DELTA"},
      target_error{"QUADRILLE_BLAS_TARGET_ERROR"}, assurance{"QUADRILLE_BLAS_ASSURANCE"},
      always_split{"QUADRILLE_BLAS_ALWAYS_SPLIT"}, smallest{"QUADRILLE_BLAS_SMALLEST"}, report{"QUADRILLE_BLAS_REPORT"};

  std::vector<const Variable*> all() const {
    return {&backend, &memory, &delta, &target_error, &assurance, &always_split, &smallest, &report};
  }
};

/// Misspelt names would do nothing, in silence.
void refuse_unknown(const Variables& variables) {
  std::string known;
  for (const Variable* one : variables.all()) add_word(known, one->name(), ", ");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (name.rfind("QUADRILLE_BLAS_", 0) != 0) continue;
    bool found = false;
    for (const Variable* one : variables.all()) found = found || one->name() == name;
    if (!found) give_up(name + ": there is no such variable; there are " + known);
  }
}

/// delta and what counts beside it only.
void read_precision(const Variables& v, Settings& to) {
  to.mixed = v.delta.set();
  if (!to.mixed && v.always_split.set()) v.always_split.refuse("it counts where QUADRILLE_BLAS_DELTA is set only");
  if (v.always_split.set()) to.options.always_split = v.always_split.choice(truths);
  if (v.delta.text() != "QUADRILLE_BLAS_DELTA=auto") {
    for (const Variable* one : {&v.target_error, &v.assurance}) {
      if (one->set()) one->refuse("it counts with QUADRILLE_BLAS_DELTA=auto only");
    }
    if (to.mixed) to.options.delta = v.delta.number("it must be auto or a number >= 0", 0, largest);
    return;
  }
  to.options.target_error = 1e-6;
  if (v.target_error.set()) {
    to.options.target_error =
        v.target_error.number("it must be a number > 0", std::numeric_limits<double>::denorm_min(), largest);
  }
  if (v.assurance.set()) to.options.measured = v.assurance.choice({"certain", "measured", "probable"});
}

Settings read() {
  const Variables v;
  refuse_unknown(v);
  Settings to;
  to.options.struct_size = sizeof to.options;
  read_precision(v, to);
  const std::vector<std::string> backends{"auto", "cpu", "cuda"};
  if (v.backend.set()) to.backend = backends[std::size_t(v.backend.choice(backends))];
  constexpr double most_mebibytes = 1 << 30;
  if (v.memory.set()) {
    const double mebibytes = v.memory.number("it must be a number of MiB >= 0; 0: no limit", 0, most_mebibytes);
    to.options.memory_cap = std::int64_t(mebibytes * (1 << 20));
  }
  to.smallest = mgemm::CostModel{}.smallest_product;
  if (v.smallest.set()) to.smallest = v.smallest.number("it must be a number m n k >= 0", 0, largest);
  if (v.report.set()) to.report = v.report.choice(truths) == 1;
  for (const Variable* one : v.all()) {
    if (one->set()) add_word(to.given, one->text(), " ");
  }
  return to;
}

}  // namespace

const Settings& settings() {
  static const Settings& here = *new Settings(read());  // for the report, when all else is destroyed
  return here;
}

}  // namespace quadrille::preloaded
