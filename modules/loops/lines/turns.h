// The order of LineWork's steps, which all backends share: what is read, what is written, what begins anew.
#pragma once

#include "modules/loops/lines/line_work.h"

#include <array>
#include <cstddef>

namespace quadrille::loops {

/// A field that is made from itself: of the two one is read and the other written.
template <class One>
struct Turns {
  std::array<One, 2> fields;
  std::size_t now = 0;

  Turns(const Lattice& lattice, Backend& backend) : fields{{One(lattice, backend), One(lattice, backend)}} {}
  const One& read() const { return fields[now]; }
  One& write() { return fields[1 - now]; }
  void turn() {
    write().exchange();
    now = 1 - now;
  }
};

/// LineWork from the steps of a backend on its fields `One` of one matrix a site:
///   copy(mu, to), copy_ahead(mu, nu, to), shift(from, mu, to), extend(line, mu, to), lift(edge, side, line, nu, to),
///   which gives the sum over the sites, and trace_of(line) (kernels.h).
template <class One>
class LineTurns : public LineWork {
 public:
  explicit LineTurns(const GaugeStore& links)
      : line_(links.lattice(), links.backend()),
        side_(links.lattice(), links.backend()),
        edge_(links.lattice(), links.backend()) {}

  void begin(int mu) final {
    mu_ = mu;
    nu_ = -1;
    lifted_ = false;
    copy(mu, line_.write());
    line_.turn();
  }
  void begin(int mu, int nu) final {
    begin(mu);
    nu_ = nu;
    copy_ahead(mu, nu, side_.write());
    side_.turn();
  }
  void extend() final {
    extend(line_.read(), mu_, line_.write());
    line_.turn();
    lifted_ = false;
    if (nu_ < 0) return;
    shift(side_.read(), mu_, side_.write());
    side_.turn();
  }
  double lift() final {
    const double sum = lift(lifted_ ? edge_.read() : line_.read(), side_.read(), line_.read(), nu_, edge_.write());
    edge_.turn();
    lifted_ = true;
    return sum;
  }
  std::array<double, 2> trace() final { return trace_of(line_.read()); }

 private:
  virtual void copy(int mu, One& to) = 0;
  virtual void copy_ahead(int mu, int nu, One& to) = 0;
  virtual void shift(const One& from, int mu, One& to) = 0;
  virtual void extend(const One& line, int mu, One& to) = 0;
  virtual double lift(const One& edge, const One& side, const One& line, int nu, One& to) = 0;
  virtual std::array<double, 2> trace_of(const One& line) = 0;

  Turns<One> line_, side_, edge_;
  int mu_ = 0, nu_ = -1;
  bool lifted_ = false;  ///< edges are of these lines
};

}  // namespace quadrille::loops
