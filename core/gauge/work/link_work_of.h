// LinkWork from a backend's loops: chooses the accesses for the form and layout of links and calls the bodies of
// core/gauge/work/site_links.h. Included by one source of each backend.
//
// `Loops` says which layouts it works on (with_layout) and has, for a body f called with an item of [0, count):
//   run(count, f); sums<N>(count, f): f(item, double sums[N]) adds; worst<N>(count, f): f(item, MaxLoc worst[N]) keeps
//   the largest.
#pragma once

#include "core/error.h"
#include "core/gauge/work/link_work.h"
#include "core/gauge/work/site_leaves.h"
#include "core/gauge/work/site_links.h"
#include "core/layout/lattice.h"
#include "core/layout/piece_slots.h"

#include <bit>
#include <type_traits>
#include <utility>

namespace quadrille {

/// Items are sites in the order of memory, even ones first.
template <class Body>
struct ForEachSite {
  Body body;
  LinkView order;

  template <class... Results>
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t item, Results*... results) const {
    const int parity = item >= order.extents.sites ? 1 : 0;
    body(parity, order.site(parity, int(item - std::int64_t(parity) * order.extents.sites)), results...);
  }
};

/// Items are the sites of a piece of a file that begins with the site `first`: in the file's order where sites lie in
/// that of their index, else in the order of memory over those slots of both parities that the piece can lie in, so
/// that lanes which share a cache line are met one after the other.
template <class Body>
struct ForEachOfPiece {
  Body body;
  LinkView order;
  std::int64_t first, count;
  PieceSlots slots;  ///< of each parity

  ForEachOfPiece(const Body& b, const LinkView& view, std::int64_t f, std::int64_t n)
      : body(b), order(view), first(f), count(n), slots(view.extents, view.block_t, f, n) {}
  std::int64_t items() const { return order.lanes > 0 ? 2 * std::int64_t(slots.count) : count; }

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t item) const {
    if (order.lanes == 0) {
      const SitePlace place = SitePlace::of_index(order.extents, first + item);
      body(place.parity(), place.site(order.extents), item);
      return;
    }
    const int parity = item >= slots.count ? 1 : 0;
    const int site = order.site(parity, slots.first + int(item - std::int64_t(parity) * slots.count));
    const std::int64_t at = SitePlace(order.extents, parity, site).lexicographic(order.extents) - first;
    if (at >= 0 && at < count) body(parity, site, at);
  }
};

template <class Loops>
class LinkWorkOf : public LinkWork {
 public:
  void copy(const LinkView& to, const LinkView& from, const LinkView* g, const LinkEdges& edges) const override {
    Loops::with_layout(to, [&](auto grouped) {
      const auto run = [&](const auto& target, const auto& source) {
        const auto from_gauged = gauged<grouped.value>(source, g, edges);
        over_sites(to, site_links::CopyLinks<std::decay_t<decltype(target)>, std::decay_t<decltype(from_gauged)>>{
                           target, from_gauged});
      };
      if (is_double_18(from)) {
        with_any_form<grouped.value>(
            to, [&](const auto& target) { run(target, LinkAccess<double, 18, grouped.value>(from)); });
      } else {
        demand(is_double_18(to), "links that are copied");
        with_readable<grouped.value>(
            from, [&](const auto& source) { run(LinkAccess<double, 18, grouped.value>(to), source); });
      }
    });
  }
  void leaving(double* face, const LinkView& from, const LinkView* g, const LinkEdges& edges, int mu) const override {
    Loops::with_layout(from, [&](auto grouped) {
      with_readable<grouped.value>(from, [&](const auto& source) {
        const auto from_gauged = gauged<grouped.value>(source, g, edges);
        Loops::run(face_sites(from.extents, mu),
                   site_links::LeavingLinks<std::decay_t<decltype(from_gauged)>>{from_gauged, mu, face});
      });
    });
  }
  void entering(const LinkView& to, const double* face, int mu) const override {
    Loops::with_layout(to, [&](auto grouped) {
      with_any_form<grouped.value>(to, [&](const auto& target) {
        Loops::run(face_sites(to.extents, mu),
                   site_links::EnteringLinks<std::decay_t<decltype(target)>>{target, mu, face});
      });
    });
  }
  void first_face(double* face, const LinkView& links, int matrices, int mu) const override {
    on_readable(links, [&](const auto& from) {
      Loops::run(face_sites(links.extents, mu),
                 site_links::FirstFace<std::decay_t<decltype(from)>>{from, mu, matrices, face});
    });
  }

  void plaquettes(const LinkView& to, const LinkView& links, const LinkEdges& edges, int mu, int nu) const override {
    on_double_18(to, [&](const auto& matrices) {
      using Double = std::decay_t<decltype(matrices)>;
      over_sites(to, site_links::Plaquettes<Double, Double>{matrices, Double(links), edges, mu, nu});
    });
  }
  void transported_face(double* face, const LinkView& matrices, const LinkView& links, int mu) const override {
    on_double_18(matrices, [&](const auto& from) {
      using Double = std::decay_t<decltype(from)>;
      Loops::run(face_sites(links.extents, mu),
                 site_links::TransportedFace<Double, Double>{Double(links), from, mu, face});
    });
  }
  void add_transported(const LinkView& to, const LinkView& from, const LinkView& links, const double* face,
                       int mu) const override {
    on_double_18(to, [&](const auto& matrices) {
      using Double = std::decay_t<decltype(matrices)>;
      over_sites(to,
                 site_links::AddTransported<Double, Double, Double>{matrices, Double(links), Double(from), mu, face});
    });
  }

  std::array<double, 3> strength_sums(const LinkView& f, const LinkView& g) const override {
    std::array<double, 3> sums{};
    on_double_18(f, [&](const auto& first) {
      using Double = std::decay_t<decltype(first)>;
      using Body = site_links::AddStrengths<Double>;
      sums = Loops::template sums<3>(both_parities(f), ForEachSite<Body>{{first, Double(g)}, f});
    });
    return sums;
  }

  void unpack(const LinkView& to, const void* bytes, int bits, std::int64_t first, std::int64_t count) const override {
    on_double_18(to, [&](const auto& links) {
      over_piece(to, first, count, site_links::UnpackLinks<std::decay_t<decltype(links)>>{links, bytes, bits});
    });
  }
  void pack(void* bytes, int bits, const LinkView& links, std::int64_t first, std::int64_t count) const override {
    on_readable(links, [&](const auto& from) {
      over_piece(links, first, count, site_links::PackLinks<std::decay_t<decltype(from)>>{from, bytes, bits});
    });
  }
  std::array<MaxLoc, 2> read(const LinkView& to, const ForeignLinks& from) const override {
    on_double_18(to, [&](const auto& links) {
      over_sites(to, site_links::ReadLinks<std::decay_t<decltype(links)>>{links, from});
    });
    return defects(to);
  }
  void write(const ForeignLinks& to, const LinkView& links) const override {
    on_readable(links, [&](const auto& from) {
      over_sites(links, site_links::WriteLinks<std::decay_t<decltype(from)>>{from, to});
    });
  }
  void start(const LinkView& to, const GaugeStart& start, const Lattice& lattice) const override {
    const Dims &global = lattice.global_dims(), &origin = lattice.origin();
    on_double_18(to, [&](const auto& links) {
      over_sites(to,
                 site_links::StartLinks<std::decay_t<decltype(links)>>{links,
                                                                       start,
                                                                       {global[0], global[1], global[2], global[3], 0},
                                                                       {origin[0], origin[1], origin[2], origin[3]}});
    });
  }

  std::array<ExactSum, 7> plane_sums(const LinkView& links, const LinkEdges& edges,
                                     std::int64_t all_sites) const override {
    constexpr double largest = 12;  // Re tr of four links
    const ExactQuanta quanta = ExactQuanta::of(double(all_sites), largest);
    std::array<double, 14> sums{};
    on_readable(links, [&](const auto& from) {
      using Body = site_links::AddPlanes<std::decay_t<decltype(from)>>;
      sums = Loops::template sums<14>(both_parities(links), ForEachSite<Body>{{from, edges, quanta}, links});
    });
    return std::bit_cast<std::array<ExactSum, 7>>(sums);
  }
  std::array<MaxLoc, 2> defects(const LinkView& links) const override {
    std::array<MaxLoc, 2> worst{};
    on_readable(links, [&](const auto& from) {
      using Body = site_links::MeetDefects<std::decay_t<decltype(from)>>;
      worst = Loops::template worst<2>(both_parities(links), ForEachSite<Body>{{from}, links});
    });
    return worst;
  }
  std::array<MaxLoc, 2> project(const LinkView& links) const override {
    std::array<MaxLoc, 2> worst{};
    on_double_18(links, [&](const auto& access) {
      using Body = site_links::ProjectLinks<std::decay_t<decltype(access)>>;
      worst = Loops::template worst<2>(both_parities(links), ForEachSite<Body>{{access}, links});
    });
    return worst;
  }
  bool fix_time(const LinkView& g, const LinkView& links, bool begins, double* lines) const override {
    double bad = 0;
    on_double_18(links, [&](const auto& from) {
      using Double = std::decay_t<decltype(from)>;
      const Extents& e = links.extents;
      const site_links::FixLine<Double, Double> body{Double(g), from, begins, lines};
      bad = Loops::template worst<1>(std::int64_t(e.x) * e.y * e.z, body)[0].value;
    });
    return bad == 0;
  }

 protected:
  static bool is_double_18(const LinkView& view) {
    return view.precision == Precision::Double && view.reconstruct == Reconstruct::R18;
  }

 private:
  template <bool grouped, class Source>
  static auto gauged(const Source& source, const LinkView* g, const LinkEdges& edges) {
    using Double = LinkAccess<double, 18, grouped>;
    return site_links::GaugedLink<Source, Double>{source, Double(g != nullptr ? *g : source.view()), g != nullptr,
                                                  edges};
  }

  static void demand(bool holds, const char* what) {
    if (!holds) throw Error(ErrorCode::internal, std::string(what) + " are in a form that this is not made for");
  }
  static std::int64_t both_parities(const LinkView& view) { return 2 * std::int64_t(view.extents.sites); }

  template <class Body>
  static void over_sites(const LinkView& order, const Body& body) {
    Loops::run(both_parities(order), ForEachSite<Body>{body, order});
  }
  template <class Body>
  static void over_piece(const LinkView& order, std::int64_t first, std::int64_t count, const Body& body) {
    const ForEachOfPiece<Body> each(body, order, first, count);
    Loops::run(each.items(), each);
  }

  template <class F>
  static void on_double_18(const LinkView& view, F&& f) {
    demand(is_double_18(view), "links that are changed");
    Loops::with_layout(view, [&](auto grouped) { f(LinkAccess<double, 18, grouped.value>(view)); });
  }
  template <class F>
  static void on_readable(const LinkView& view, F&& f) {
    Loops::with_layout(view, [&](auto grouped) { with_readable<grouped.value>(view, f); });
  }

  /// Calls f with an access to links in double or single with 18 or 12 numbers.
  template <bool grouped, class F>
  static void with_readable(const LinkView& view, F&& f) {
    demand(view.precision != Precision::Half && view.reconstruct != Reconstruct::R8, "links that are read");
    const bool twelve = view.reconstruct == Reconstruct::R12;
    if (view.precision == Precision::Double) {
      twelve ? f(LinkAccess<double, 12, grouped>(view)) : f(LinkAccess<double, 18, grouped>(view));
    } else {
      twelve ? f(LinkAccess<float, 12, grouped>(view)) : f(LinkAccess<float, 18, grouped>(view));
    }
  }
  template <bool grouped, class F>
  static void with_any_form(const LinkView& view, F&& f) {
    const auto with_number = [&](auto number) {
      using Number = decltype(number);
      switch (view.reconstruct) {
        case Reconstruct::R18: return f(LinkAccess<Number, 18, grouped>(view));
        case Reconstruct::R12: return f(LinkAccess<Number, 12, grouped>(view));
        case Reconstruct::R8: return f(LinkAccess<Number, 8, grouped>(view));
      }
    };
    switch (view.precision) {
      case Precision::Double: return with_number(double{});
      case Precision::Single: return with_number(float{});
      case Precision::Half: return with_number(std::int16_t{});
    }
  }
};

}  // namespace quadrille
