// What the tests of the C API share: handles that end with a test, and a host's arrays in every order, made by loops
// that know nothing of the library's.
#pragma once

#include "input/capi/quadrille.h"
#include "tests/dirac/dirac_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <vector>

namespace quadrille::testing {

#ifdef QUADRILLE_TEST_GPU
constexpr const char *context_words = "{backend: cuda, threads: 2}", *one_thread = "{backend: cuda, threads: 1}";
#else
constexpr const char *context_words = "{backend: cpu, threads: 2}", *one_thread = "{backend: cpu, threads: 1}";
#endif

/// A context with what a test makes in it.
class Host {
 public:
  explicit Host(const char* words = context_words) {
    EXPECT_EQ(quadrille_context_create(words, &context), QUADRILLE_DONE) << quadrille_message(nullptr);
  }
  ~Host() { EXPECT_EQ(quadrille_context_destroy(context), QUADRILLE_DONE); }
  Host(const Host&) = delete;

  std::string message() const { return quadrille_message(context); }
  quadrille_gauge* gauge(const std::string& words) const {
    quadrille_gauge* made = nullptr;
    EXPECT_EQ(quadrille_gauge_create(context, words.c_str(), &made), QUADRILLE_DONE) << message();
    return made;
  }
  quadrille_gauge* gauge(const std::string& words, const std::vector<const void*>& arrays) const {
    quadrille_gauge* made = nullptr;
    EXPECT_EQ(quadrille_gauge_from_memory(context, words.c_str(), arrays.data(), arrays.size(), &made), QUADRILLE_DONE)
        << message();
    return made;
  }
  quadrille_operator* op(quadrille_gauge* gauge, const std::string& words) const {
    quadrille_operator* made = nullptr;
    EXPECT_EQ(quadrille_operator_create(gauge, words.c_str(), &made), QUADRILLE_DONE) << message();
    return made;
  }
  quadrille_solver* solver(quadrille_operator* op, const std::string& words) const {
    quadrille_solver* made = nullptr;
    EXPECT_EQ(quadrille_solver_create(op, words.c_str(), &made), QUADRILLE_DONE) << message();
    return made;
  }

  quadrille_context* context = nullptr;
};

/// The place of a site among all, lexicographic or even sites first, by counting.
inline std::vector<std::int64_t> places(const Dims& dims, bool even_odd, bool odd_first = false) {
  std::vector<std::int64_t> place;
  std::int64_t next[2] = {0, even_odd ? volume(dims) / 2 : 0};
  if (odd_first) std::swap(next[0], next[1]);
  for (int t = 0; t < dims[3]; ++t)
    for (int z = 0; z < dims[2]; ++z)
      for (int y = 0; y < dims[1]; ++y)
        for (int x = 0; x < dims[0]; ++x) place.push_back(next[even_odd ? (x + y + z + t) % 2 : 0]++);
  return place;
}

/// How a host lays out links, and the same in the library's words.
struct LinkLayout {
  bool qdp, even_odd, columns, single;

  std::string words() const {
    return fmt::format("order: {}, sites: {}, matrix: {}, precision: {}",
                       qdp        ? "qdp"
                       : even_odd ? "milc"
                                  : "ildg",
                       even_odd ? "even_odd" : "lexicographic", columns ? "columns" : "rows",
                       single ? "single" : "double");
  }
};

/// The arrays of a host in that layout.
template <class Real>
struct LinkHost {
  std::vector<std::vector<std::complex<Real>>> arrays;

  LinkHost(const HostLinks& links, const LinkLayout& layout) : arrays(layout.qdp ? 4 : 1) {
    const std::int64_t sites = volume(links.dims);
    for (auto& array : arrays) array.resize(std::size_t(sites * (layout.qdp ? 9 : 36)));
    const auto place = places(links.dims, layout.even_odd);
    for (std::int64_t site = 0; site < sites; ++site)
      for (int mu = 0; mu < 4; ++mu)
        for (int row = 0; row < 3; ++row)
          for (int column = 0; column < 3; ++column) {
            const int inside = layout.columns ? column * 3 + row : row * 3 + column;
            const std::int64_t at = place[std::size_t(site)];
            auto& array = arrays[layout.qdp ? std::size_t(mu) : 0];
            array[std::size_t((layout.qdp ? at : at * 4 + mu) * 9 + inside)] =
                std::complex<Real>(links.link(site, mu)[row * 3 + column]);
          }
  }
  std::vector<const void*> in() const {
    std::vector<const void*> out;
    for (const auto& array : arrays) out.push_back(array.data());
    return out;
  }
  std::vector<void*> out() {
    std::vector<void*> out;
    for (auto& array : arrays) out.push_back(array.data());
    return out;
  }
};

/// Words of links that a gauge field of these extents is made from.
inline std::string new_links(const Dims& d, const std::string& more = "") {
  return fmt::format("{{dims: [{}, {}, {}, {}]{}{}}}", d[0], d[1], d[2], d[3], more.empty() ? "" : ", ", more);
}

}  // namespace quadrille::testing
