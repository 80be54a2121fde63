#include "core/gauge/gauge_store.h"
#include "core/system/team.h"
#include "input/bench/measurements.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/words.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille::bench {
namespace {

constexpr std::uint64_t links_seed = 20091118;

/// A host's array of links in ILDG's order, and how the C API takes it.
class HostArray {
 public:
  HostArray(const Bench& bench, Precision precision)
      : words_(capi::read_words(capi::links_table(), ("precision: " + to_string(precision)).c_str(), "links")),
        numbers_(std::size_t(bench.lattice.volume()) * 72 * number_bytes(precision)),
        array_(numbers_.data()),
        links_(*words_, bench.lattice, &array_, 1, {bench.backend}) {}

  std::size_t bytes() const { return numbers_.size(); }
  const std::byte* data() const { return numbers_.data(); }
  const capi::LinkArrays& links() const { return links_; }

 private:
  std::shared_ptr<const Parameters> words_;
  std::vector<std::byte> numbers_;
  const void* array_;
  capi::LinkArrays links_;
};

}  // namespace

void measure_links(const Bench& bench) {
  for (const Precision precision : bench.precisions()) {
    if (precision == Precision::Half) continue;
    const HostArray host(bench, precision);
    GaugeStore store(bench.lattice, GaugeStart::hot(links_seed), bench.backend);
    host.links().write_from(store);
    std::vector<std::byte> copy(host.bytes());
    const auto add = [&](const char* kernel, auto&& call) {
      Row row = bench.row(kernel, precision);
      row.parity = "both";
      row.sites = bench.lattice.volume();
      row.bytes_per_site = 2 * double(host.bytes()) / double(row.sites);
      row.copies = true;
      row.seconds = bench.time(call);
      bench.add(row);
    };
    add("memcpy", [&] { team_copy(copy.data(), host.data(), host.bytes()); });
    add("read", [&] { host.links().read_into(store); });
    add("write", [&] { host.links().write_from(store); });
    const auto held = store.form({});  // an operator's, in which each link lies twice
    add("read_operator", [&] { host.links().read_into(store); });
  }
}

}  // namespace quadrille::bench
