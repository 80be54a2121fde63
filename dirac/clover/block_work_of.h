// BlockWork from a backend's loops (core/gauge/work/site_loops.h, .cuh). Included by one source of each backend.
#pragma once

#include "core/error.h"
#include "core/gauge/link_view.h"
#include "dirac/clover/block_work.h"
#include "dirac/clover/foreign_blocks.h"
#include "dirac/clover/site_blocks.h"

#include <cstdint>

namespace quadrille {

/// Items are sites in the order of memory, even ones first.
template <class Body>
struct ForEachBlock {
  Body body;
  SiteView order;

  template <class... Results>
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t item, Results*... results) const {
    const int parity = item >= order.extents.sites ? 1 : 0;
    body(parity, order.site(parity, int(item - std::int64_t(parity) * order.extents.sites)), results...);
  }
};

template <class Loops>
class BlockWorkOf final : public BlockWork {
 public:
  void set(Field& blocks, double number) const override {
    on_double(blocks, [&](const auto& access) {
      run(access.view(), site_blocks::SetNumber<std::decay_t<decltype(access)>>{access, number});
    });
  }
  MaxLoc read(Field& blocks, const ForeignBlocks& from) const override {
    MaxLoc worst;
    on_double(blocks, [&]<class Access>(const Access& access) {
      const auto read_as = [&](auto number) {
        using Body = site_blocks::ReadForeign<Access, decltype(number)>;
        worst =
            Loops::template worst<1>(count(access.view()), ForEachBlock<Body>{Body{access, from}, access.view()})[0];
      };
      from.bits == 64 ? read_as(double{}) : read_as(float{});
    });
    return worst;
  }
  void add_plane(Field& blocks, const Field& leaves, int k, std::array<double, 2> coefficient) const override {
    const LinkView plane = view_of(leaves);
    on_double(blocks, [&]<class Access>(const Access& access) {
      using Leaves = LinkAccess<double, 18, Access::in_groups>;
      run(access.view(),
          site_blocks::AddPlane<Access, Leaves>{access, Leaves(plane), k, {coefficient[0], coefficient[1]}});
    });
  }
  void exponentiate(Field& blocks, double number) const override {
    on_double(blocks, [&]<class Access>(const Access& access) {
      run(access.view(), site_blocks::Exponentiate<Access>{access, number});
    });
  }
  MaxLoc invert(Field& to, Field* twisted, const Field& from, double mu) const override {
    MaxLoc worst;
    on_double(from, [&]<class Access>(const Access& access) {
      using Body = site_blocks::Invert<Access>;
      const Body body{Access(SiteView::of(to)), Access(SiteView::of(twisted != nullptr ? *twisted : to)), access, mu};
      worst = Loops::template worst<1>(count(access.view()), ForEachBlock<Body>{body, access.view()})[0];
    });
    return worst;
  }
  std::array<double, 4> log_det(const Field& blocks, double mu, double all_sites) const override {
    constexpr double largest = 1024;  // of twelve eigenvalues in double
    std::array<double, 4> sums{};
    on_double(blocks, [&]<class Access>(const Access& access) {
      using Body = site_blocks::AddLogDet<Access>;
      const Body body{access, mu, ExactQuanta::of(2 * all_sites, largest)};
      sums = Loops::template sums<4>(count(access.view()), ForEachBlock<Body>{body, access.view()});
    });
    return sums;
  }
  void rotate(Field& to, const Field& from, const Field& g) const override {
    const LinkView matrices = view_of(g);
    on_double(from, [&]<class Access>(const Access& access) {
      using Matrices = LinkAccess<double, 18, Access::in_groups>;
      run(access.view(), site_blocks::Rotate<Access, Matrices>{Access(SiteView::of(to)), access, Matrices(matrices)});
    });
  }
  void copy(Field& to, const Field& from) const override {
    on_double(from, [&]<class From>(const From& source) {
      const auto run_to = [&](auto number) {
        using To = SiteNumbers<decltype(number), 2, site_blocks::numbers, From::in_groups>;
        run(source.view(), site_blocks::Copy<To, From>{To(SiteView::of(to)), source});
      };
      switch (to.desc().precision) {
        case Precision::Double: return run_to(double{});
        case Precision::Single: return run_to(float{});
        case Precision::Half: return run_to(std::int16_t{});
      }
    });
  }

 private:
  static std::int64_t count(const SiteView& view) { return 2 * std::int64_t(view.extents.sites); }
  template <class Body>
  static void run(const SiteView& order, const Body& body) {
    Loops::run(count(order), ForEachBlock<Body>{body, order});
  }
  template <class F>
  static void on_double(const Field& field, F&& f) {
    const SiteView view = SiteView::of(field);
    if (view.precision != Precision::Double) throw Error(ErrorCode::internal, "chiral blocks are not in double");
    Loops::with_layout(view,
                       [&](auto grouped) { f(SiteNumbers<double, 2, site_blocks::numbers, grouped.value>(view)); });
  }
};

}  // namespace quadrille
