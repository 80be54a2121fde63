#include "core/error.h"
#include "dirac/dslash.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/words.h"
#include "input/files/gauge_file.h"
#include "input/job/gauge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille::capi {

namespace {

constexpr std::size_t link_reals = 18;

/// What the directions, sites and numbers of an order are in, the slowest first.
enum class Nesting { site_mu, mu_site, mu_site_halo, mu_number_site, openqcd };

/// What the name of an order stands for.
struct LinkOrder {
  const char* name;
  std::size_t arrays;
  const char* said;  ///< of the arrays
  Nesting nesting;
  SiteOrder sites;
  bool columns;
};
constexpr LinkOrder orders[] = {
    {"ildg", 1, "one array", Nesting::site_mu, SiteOrder::lexicographic, false},
    {"milc", 1, "one array", Nesting::site_mu, SiteOrder::even_odd, false},
    {"cps", 1, "one array", Nesting::site_mu, SiteOrder::even_odd, true},
    {"tifr", 1, "one array", Nesting::mu_site, SiteOrder::even_odd, true},
    {"bqcd", 1, "one array", Nesting::mu_site_halo, SiteOrder::even_odd, true},
    {"qdp", 4, "four arrays (one for each mu)", Nesting::mu_site, SiteOrder::even_odd, false},
    {"qdpjit", 4, "four arrays (one for each mu)", Nesting::mu_number_site, SiteOrder::even_odd, false},
    {"openqcd", 2, "two arrays (the links and ipt)", Nesting::openqcd, SiteOrder::even_odd, false},
};

const LinkOrder& order_of(const std::string& name) {
  return *std::ranges::find_if(orders, [&](const LinkOrder& order) { return name == order.name; });
}

}  // namespace

LinkArrays::LinkArrays(const Parameters& words, const Lattice& lattice, const void* const* arrays, std::size_t count,
                       const Given& given)
    : words_(words, given), lattice_(lattice) {
  const Dims& dims = lattice.dims();
  const LinkOrder& order = order_of(words.text("order"));
  if (count != order.arrays) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("order: {} takes {} of links, not {}", order.name, order.said, count),
                words.where("order"));
  }
  const bool openqcd = order.nesting == Nesting::openqcd;
  const bool divided = lattice.communicator().size() > 1;
  if (openqcd && divided && words_.on_device()) {
    throw Error(ErrorCode::unsupported,
                "'order: openqcd' takes arrays in host memory on several ranks, where openQCD keeps them",
                words.where("where"));
  }
  const std::size_t of_links = openqcd ? 1 : count;
  words_.check(arrays, of_links, "links");
  for (std::size_t k = 0; k < of_links; ++k) arrays_.push_back(static_cast<std::byte*>(const_cast<void*>(arrays[k])));
  const std::size_t link_bytes = link_reals * std::size_t(words_.bits()) / 8;
  layout_.extents = {dims[0], dims[1], dims[2], dims[3], int(volume(dims) / 2)};
  layout_.bits = words_.bits();
  layout_.columns = words.has("matrix") ? words.text("matrix") == "columns" : order.columns;
  layout_.order = words.has("sites") ? site_order(words.text("sites")) : order.sites;
  const std::int64_t sites = volume(dims);
  if (order.nesting == Nesting::mu_site_halo) {
    layout_.halo = std::int64_t(dims[0] / 2 + 2) * (dims[1] + 2) * (dims[2] + 2) * (dims[3] + 2) - sites / 2;
  }
  if (order.nesting == Nesting::mu_number_site) layout_.apart = sites;
  const std::int64_t places = sites + 2 * layout_.halo;
  array_bytes_ = std::size_t(places) * link_bytes * 4 / of_links;
  const bool one_by_one = order.nesting == Nesting::site_mu || openqcd;
  layout_.stride = std::int64_t(layout_.apart != 0 ? link_bytes / link_reals
                                : one_by_one       ? 4 * link_bytes
                                                   : link_bytes);
  between_mu_ = std::int64_t(one_by_one ? link_bytes : std::size_t(places) * link_bytes);
  ArrayWords::check_bytes(words, array_bytes_);
  demand_part(words, dims);
  undo_factors(words);
  if (!openqcd) return;
  words_.check(arrays[1], "links[1], the list of points ipt,", sizeof(int), false);
  const int* const points = static_cast<const int*>(arrays[1]);
  take_points(points);
  if (divided) faces_ = std::make_unique<OpenQcdFaces>(lattice, arrays_[0], points, words_.bits());
}

/// Arrays of as many sites that are cut otherwise have the right size, too.
void LinkArrays::demand_part(const Parameters& words, const Dims& dims) {
  if (!words.has("part") || words.integer4("part") == dims) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'part': the arrays must hold {} sites along x, y, z, t, not {}", fmt::join(dims, " x "),
                          fmt::join(words.integer4("part"), " x ")),
              words.where("part"));
}

void LinkArrays::undo_factors(const Parameters& words) {
  const HopScalars factors{words.boundary("boundary"), 1};
  const double spatial = words.real("spatial_factor");
  for (std::size_t mu = 0; mu < 4; ++mu) {
    layout_.undo[mu] = mu < 3 ? 1 / spatial : 1.0;
    const bool at_edge = lattice_.communicator().at_edge(int(mu));
    layout_.undo_last[mu] = layout_.undo[mu] * (at_edge ? std::conj(boundary_factor(factors, int(mu))) : 1.0);
    layout_.undoes = layout_.undoes || layout_.undo[mu] != 1.0 || layout_.undo_last[mu] != 1.0;
  }
}

/// Even points must be the first half of all, each once, odd ones the second.
void LinkArrays::take_points(const int* points) {
  const Extents& extents = layout_.extents;
  std::vector<bool> met(std::size_t(2 * std::int64_t(extents.sites)));
  for (int parity = 0; parity < 2; ++parity) {
    for (int site = 0; site < extents.sites; ++site) {
      const SitePlace x(extents, parity, site);
      const std::int64_t number = point_number(extents, x);
      const int point = points[number], first = parity * extents.sites;
      const bool fits = point >= first && point < first + extents.sites;
      if (!fits || met[std::size_t(point)]) {
        throw Error(ErrorCode::invalid_input,
                    fmt::format("links[1] is not openQCD's ipt of this lattice: entry {} (t, x, y, z = {}, {}, {}, {}) "
                                "is {}{}; the {} points are {} to {}, each once",
                                number, x.t, x.x, x.y, x.z, point, fits ? ", as an earlier one" : "",
                                parity == 0 ? "even" : "odd", first, first + extents.sites - 1));
      }
      met[std::size_t(point)] = true;
    }
  }
  const std::size_t bytes = met.size() * sizeof(int);
  auto kept = std::make_shared<BackendArray>(words_.backend(), bytes);
  words_.backend().copy_in(kept->get(), points, bytes);
  points_ = std::move(kept);
}

template <class Work>
void LinkArrays::with_layout(Reached::Copy copy, const Work& work) const {
  words_.wait();
  ForeignLinks layout = layout_;
  if (points_) layout.points = reinterpret_cast<const std::int32_t*>(points_->get());
  if (faces_ && copy == Reached::Copy::in) faces_->fetch();
  std::vector<Reached> faces;
  for (int mu = 0; faces_ && mu < 4; ++mu) {
    std::vector<std::byte>& face = faces_->face(mu);
    if (face.empty()) continue;
    faces.emplace_back(words_.backend(), face.data(), face.size(), false, copy);
    layout.face[mu] = faces.back().get();
  }
  std::vector<Reached> reached;
  // What is no site of an array that is written stays.
  const Reached::Copy first = layout.halo != 0 ? Reached::Copy::in : copy;
  for (std::byte* array : arrays_) reached.push_back(words_.reached(array, array_bytes_, first));
  for (std::size_t mu = 0; mu < 4; ++mu) {
    layout.first[mu] = reached.size() == 4 ? reached[mu].get() : reached[0].get() + std::int64_t(mu) * between_mu_;
  }
  work(layout);
  words_.backend().synchronize();
  if (copy == Reached::Copy::in) return;
  for (const Reached& array : reached) array.copy_out();
  for (const Reached& face : faces) face.copy_out();
  if (faces_) faces_->give();
}

void LinkArrays::read_into(GaugeStore& store) const {
  Unitarity found;
  with_layout(Reached::Copy::in, [&](const ForeignLinks& from) { found = store.read(from); });
  demand_su3(found);
}

void LinkArrays::write_from(const GaugeStore& store) const {
  with_layout(Reached::Copy::none, [&](const ForeignLinks& to) { store.write(to); });
}

void LinkArrays::demand_su3(const Unitarity& found) const {
  const double most = link_tolerance(words_.bits());
  const Dims& dims = lattice_.global_dims();
  demand_finite(found, dims);
  if (found.unitarity > most) {
    throw Error(
        ErrorCode::numerical,
        fmt::format(
            "the links are not in SU(3): the largest |U U^+ - 1| is {:.3g} at {}; with {} bits it may be "
            "at most {:.0e}. Are order, sites, matrix and precision right?{}",
            found.unitarity, link_name(dims, found.unitarity_site, found.unitarity_direction), words_.bits(), most,
            found.unitarity_direction == 3 ? ""
                                           : " If the links of x, y and z contain an anisotropy factor, name it, as in "
                                             "`spatial_factor: 0.4`: it is divided out"));
  }
  if (found.determinant <= most) return;
  const Dims x = site_coordinates(dims, found.determinant_site);
  const auto mu = std::size_t(found.determinant_direction);
  const bool at_boundary = x[mu] == dims[mu] - 1;
  throw Error(
      ErrorCode::numerical,
      fmt::format("the links are not in SU(3): they are unitary, but |det U - 1| is {:.3g} at {}{}", found.determinant,
                  link_name(dims, found.determinant_site, found.determinant_direction),
                  at_boundary
                      ? ", on the last slice. If the links contain boundary factors, name them, as in `boundary: "
                        "[periodic, periodic, periodic, antiperiodic]`: they are divided out"
                      : ". A phase that the links contain must be divided out before"));
}

}  // namespace quadrille::capi
