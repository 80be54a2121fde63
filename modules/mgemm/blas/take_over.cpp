#include "modules/mgemm/blas/take_over.h"

#include "modules/mgemm/blas/below.h"
#include "modules/mgemm/blas/counts.h"
#include "modules/mgemm/blas/messages.h"
#include "modules/mgemm/blas/settings.h"
#include "modules/mgemm/capi/c_api.h"
#include "modules/mgemm/choice/cost_model.h"

#include <dlfcn.h>
#include <cfenv>
#include <chrono>
#include <mutex>
#include <string>
#include <type_traits>

namespace quadrille::preloaded {
namespace {

/// The calls of libquadrille.so. It is loaded by the first product that needs it, and for this library alone: a program
/// that multiplies nothing does not wait for it, and the BLAS that it is linked with takes no one else's place. Its own
/// products go to that BLAS (RTLD_DEEPBIND), not through this library.
class Library {
 public:
  static const Library& loaded() {
    static const Library here;
    return here;
  }

  /// "cpu" or "cuda".
  const char* backend() const { return on_device_ ? "cuda" : "cpu"; }
  bool on_device() const { return on_device_; }
  /// Where the program has loaded it before, its products do come through this library.
  bool has(const void* address) const { return object_of(address) == object_; }
  std::string message() const { return message_(); }

  struct Done {
    quadrille_status status;
    bool split;
  };
  Done multiply(const Product<double>& p) const {
    if (!settings().mixed) return multiply(cleaver_double_, p);
    quadrille_mgemm_options options = settings().options;
    options.backend = backend();
    quadrille_mgemm_report report{};
    report.struct_size = sizeof report;
    const quadrille_status status = mgemm_(&options, p.order, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda,
                                           p.b, p.ldb, p.beta, p.c, p.ldc, &report);
    const bool split = status == QUADRILLE_DONE && report.split != 0;
    if (split) note_bound(report.bound);
    return {status, split};
  }
  Done multiply(const Product<float>& p) const { return multiply(cleaver_single_, p); }

 private:
  Library() : handle_(dlopen(QUADRILLE_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)) {
    if (handle_ == nullptr) give_up(std::string("it needs ") + QUADRILLE_LIBRARY + " beside it: " + dlerror());
    find("quadrille_mgemm", mgemm_);
    find("quadrille_cleaver_double", cleaver_double_);
    find("quadrille_cleaver_single", cleaver_single_);
    find("quadrille_mgemm_message", message_);
    object_ = object_of(reinterpret_cast<const void*>(mgemm_));
    on_device_ = settings().backend != "cpu" && device_answers();
    check_options();
  }

  template <class Function>
  void find(const char* name, Function*& to) {
    to = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (to == nullptr) give_up(std::string(QUADRILLE_LIBRARY) + " has no " + name + ": it is of another version");
  }

  template <class T, class Cleaver>
  Done multiply(Cleaver* cleaver, const Product<T>& p) const {
    return {cleaver(backend(), p.order, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta,
                    p.c, p.ldc, settings().options.memory_cap),
            false};
  }

  /// By a product of nothing.
  bool device_answers() const {
    const quadrille_status status =
        cleaver_double_("cuda", 'C', 'N', 'N', 0, 0, 0, 1, nullptr, 1, nullptr, 1, 0, nullptr, 1, 0);
    if (status == QUADRILLE_DONE) return true;
    if (settings().backend == "cuda") give_up("QUADRILLE_BLAS_BACKEND=cuda: " + message());
    return false;
  }
  /// The same: what the module would refuse of every product.
  void check_options() const {
    const Product<double> nothing{'C', 'N', 'N', 0, 0, 0, 1, nullptr, 1, nullptr, 1, 0, nullptr, 1};
    if (multiply(nothing).status != QUADRILLE_DONE) give_up(settings().given + ": " + message());
  }

  void* handle_;
  decltype(&quadrille_mgemm) mgemm_ = nullptr;
  decltype(&quadrille_cleaver_double) cleaver_double_ = nullptr;
  decltype(&quadrille_cleaver_single) cleaver_single_ = nullptr;
  decltype(&quadrille_mgemm_message) message_ = nullptr;
  const void* object_ = nullptr;
  bool on_device_ = false;
};

template <class T>
constexpr Routine routine = std::is_same_v<T, double>  ? Routine::dgemm
                            : std::is_same_v<T, float> ? Routine::sgemm
                                                       : Routine::zgemm;

/// Complex products are never taken over. On a CPU those in single gain nothing, those in double only where they are
/// mixed, and of a size that the module does not do in double anyway.
template <class T>
bool may_gain(double size) {
  if (std::is_same_v<T, std::complex<double>> || (settings().backend == "cpu" && !settings().mixed)) return false;
  if (Library::loaded().on_device()) return true;
  return std::is_same_v<T, double> && settings().mixed &&
         (settings().options.always_split != 0 || size >= mgemm::CostModel{}.smallest_product);
}

/// What has been refused before anything was written, or where C is not read, can be passed on.
void require_whole_c(quadrille_status status, bool reads_c, const std::string& why) {
  if (status == QUADRILLE_INVALID_INPUT || status == QUADRILLE_NUMERICAL || !reads_c) return;
  give_up(why + " (in the middle of a product that adds to C, which cannot be done again)");
}

/// The choice of a form calculates with what is not finite, and so may a driver: numpy warns of the flags that it finds
/// raised after a product.
class KeptFlags {
 public:
  KeptFlags() { std::feholdexcept(&before_); }
  ~KeptFlags() { std::fesetenv(&before_); }
  KeptFlags(const KeptFlags&) = delete;
  KeptFlags& operator=(const KeptFlags&) = delete;

 private:
  std::fenv_t before_;
};

template <class T>
bool multiply(const Product<T>& product) {
  const KeptFlags flags;
  const Library& library = Library::loaded();
  const auto began = std::chrono::steady_clock::now();
  const Library::Done done = library.multiply(product);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (done.status == QUADRILLE_DONE) {
    count(routine<T>, done.split ? Outcome::split : Outcome::whole, seconds.count());
    return true;
  }
  const std::string why = library.message();
  require_whole_c(done.status, product.beta != T(0), why);
  note_refusal(why);
  count(routine<T>, Outcome::passed_on);
  return false;
}

void begin() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (settings().report) report_at_exit();
  });
}

}  // namespace

template <class T>
bool multiplied(const Product<T>& p, const void* caller) {
  if (InBelow::now()) return false;
  begin();
  const bool empty = p.m <= 0 || p.n <= 0 || p.k <= 0;  // or wrong
  const double size = double(p.m) * double(p.n) * double(p.k);
  if (empty || size < settings().smallest) {
    count(routine<T>, Outcome::small);
    return false;
  }
  if (!may_gain<T>(size)) {
    count(routine<T>, Outcome::passed_on);
    return false;
  }
  if constexpr (std::is_same_v<T, std::complex<double>>) {
    return false;
  } else {
    return !Library::loaded().has(caller) && multiply(p);
  }
}

template bool multiplied(const Product<double>&, const void*);
template bool multiplied(const Product<float>&, const void*);
template bool multiplied(const Product<std::complex<double>>&, const void*);

}  // namespace quadrille::preloaded
