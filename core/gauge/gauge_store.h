// The one home of a gauge field: its links, and every form of them that somebody works with, on one backend.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/field/host_field.h"
#include "core/gauge/foreign_links.h"
#include "core/gauge/link_view.h"
#include "core/gauge/observables.h"
#include "core/gauge/start.h"
#include "core/gauge/temporal_gauge.h"
#include "core/layout/lattice.h"
#include "core/operator/operator.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace quadrille {

/// Links in one form, in two fields: those of spatial hops and those of time.
///
/// All that a site multiplies by lies together, so that a kernel reads one stream (two, where it reads time links), at
/// the price of storing each link twice: directions hops::spatial and hops::time.
struct LinkFields {
  Field spatial, time;
  std::shared_ptr<const TemporalGauge> gauge;  ///< of a form in temporal gauge
};

/// Owns links as they were read or made, in double with 18 numbers, and makes each form once, on request, on the
/// same backend, shared by all who hold it. The host holds no copy.
///
/// Links lie once (each at its site) until the form double 18 is requested: then the store becomes that form, in which
/// each lies twice, and stays it. A change brings the forms that somebody holds up to date where they are, so an
/// operator sees the new links; version() tells others. One thread at a time may change a store, and none may read it
/// meanwhile. Over several ranks each has the links of its part of the lattice, and all members but backend(),
/// lattice() and version(), and those that move a rank's own links (unpack(), pack(), host_links()), are collective.
class QUADRILLE_API GaugeStore {
 public:
  /// Links that nobody has written yet. `lattice` outlives this.
  explicit GaugeStore(const Lattice& lattice, Backend& backend = cpu_backend());
  GaugeStore(const Lattice& lattice, const HostLinks& links, Backend& backend = cpu_backend());
  GaugeStore(const Lattice& lattice, const GaugeStart& start, Backend& backend = cpu_backend());
  /// A copy of links in a field, as set() makes it.
  explicit GaugeStore(const Field& links);
  GaugeStore(const GaugeStore&) = delete;
  GaugeStore& operator=(const GaugeStore&) = delete;
  ~GaugeStore();

  const Lattice& lattice() const { return *lattice_; }
  Backend& backend() const { return *backend_; }
  /// How often the links have changed.
  std::uint64_t version() const { return version_; }

  // ---- changes of all links ----

  void set(const HostLinks& links);
  void set(const GaugeStart& start);
  /// From a field of forward links on this backend, in double or single precision with 18 or 12 numbers, exactly.
  void set(const Field& links);
  /// Links of the sites [first, first + count), lexicographic, from the bytes that they have in a file (ILDG's order,
  /// big-endian numbers of 32 or 64 bits), which lie in the backend's memory; may return before they are read. When all
  /// have come, changed() must be called.
  void unpack(const void* bytes, int bits, std::int64_t first, std::int64_t count);
  void changed();
  /// From another program's arrays in the backend's memory, of the links of this process; gives what unitarity() would.
  /// Where somebody holds links in temporal gauge, set(), changed() and read() throw ErrorCode::numerical for time
  /// links that have no nearest SU(3) matrix; forms are not brought up to date then.
  Unitarity read(const ForeignLinks& from);
  /// Projects every link on SU(3) (core/su3/su3_project.h) and gives the largest |change| of an element. Errors:
  /// ErrorCode::numerical naming site and direction of a link that has no nearest SU(3) matrix; the others are
  /// projected by then, and forms are not brought up to date.
  double project();

  // ---- reading ----

  /// The other way of unpack().
  void pack(void* bytes, int bits, std::int64_t first, std::int64_t count) const;
  /// The other way of read().
  void write(const ForeignLinks& to) const;
  HostLinks host_links() const;
  /// Into a field of links of any directions and form on this backend, without gauge fixing; overwritten.
  void copy_to(Field& links) const;
  /// Of the whole lattice.
  GaugeObservables observables() const;
  Unitarity unitarity() const;

  /// The links in a form. Made when nobody holds it, freed when nobody holds it any more.
  std::shared_ptr<const LinkFields> form(const OperatorForm& form) const;
  /// The transformation to temporal gauge.
  std::shared_ptr<const TemporalGauge> temporal_gauge() const;

 private:
  struct Made {
    OperatorForm form;
    std::weak_ptr<LinkFields> links;
  };

  /// Counts a change and brings forms up to date; links of backward hops are as `doubled` says already.
  void refresh(bool doubled);
  /// Doubles the links where they are.
  void become_double_18() const;
  std::shared_ptr<const TemporalGauge> gauge() const;
  void fill(LinkFields& links) const;
  void copy(const LinkView& to, const LinkView& from, const LinkView* g = nullptr) const;

  const Lattice* lattice_;
  Backend* backend_;
  std::uint64_t version_ = 0;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::shared_ptr<LinkFields> links_;
  mutable std::vector<Made> made_;
  mutable std::weak_ptr<TemporalGauge> gauge_;
};

}  // namespace quadrille
