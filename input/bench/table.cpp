#include "input/bench/table.h"

#include <fmt/format.h>

namespace quadrille::bench {

std::string text(const MemoryRates& rates) {
  return fmt::format("memory, GB/s: read {:.2f}, copy {:.2f}, triad {:.2f}\n", rates.read, rates.copy, rates.triad);
}

std::string heading() {
  return fmt::format("{:<16} {:<20} {:<34} {:>9} {:>11} {:>9} {:>8} {:>8}\n", "lattice", "kernel", "form", "bytes/site",
                     "us", "GFLOP/s", "GB/s", "fraction");
}

namespace {

/// "-" for what a row does not count.
std::string counted(double number, int digits) { return number == 0 ? "-" : fmt::format("{:.{}f}", number, digits); }

}  // namespace

std::string text(const Table& table, const Row& row) {
  const std::string lattice = fmt::format("{} {} {} {}", row.dims[0], row.dims[1], row.dims[2], row.dims[3]);
  const std::string form =
      fmt::format("{}{}{}{}{}", row.precision, row.reconstruct ? fmt::format(" {}", *row.reconstruct) : "",
                  row.temporal_gauge ? " temporal gauge" : "", row.xpay ? " xpay" : "",
                  row.rhs > 1 ? fmt::format(" {} rhs", row.rhs) : "");
  std::string more = row.resources.empty() ? "" : "  " + row.resources;
  if (row.traffic_seconds)
    more = fmt::format("  {:.2f} x the bandwidth expected for this traffic", *row.traffic_seconds / row.seconds);
  if (row.operator_gflops)
    more += fmt::format(", {:.2f} of the operator's GFLOP/s", row.gflops() / *row.operator_gflops);
  if (row.link_updates) more = fmt::format("  {:.1f} million link updates/s", row.link_updates_per_second() * 1e-6);
  return fmt::format("{:<16} {:<20} {:<34} {:>9} {:>11.1f} {:>9} {:>8} {:>8}{}\n", lattice, row.kernel, form,
                     counted(row.bytes_per_site, 0), row.seconds * 1e6, counted(row.gflops(), 2), counted(row.gbs(), 2),
                     counted(table.fraction(row), 3), more);
}

nlohmann::ordered_json json(const Table& table) {
  nlohmann::ordered_json out;
  out["memory"] = {{"read_gbs", table.memory.read}, {"copy_gbs", table.memory.copy}, {"triad_gbs", table.memory.triad}};
  out["kernels"] = nlohmann::ordered_json::array();
  for (const Row& row : table.rows) {
    nlohmann::ordered_json entry;
    entry["kernel"] = row.kernel;
    entry["precision"] = row.precision;
    entry["reconstruct"] = row.reconstruct ? nlohmann::ordered_json(*row.reconstruct) : nlohmann::ordered_json(nullptr);
    entry["temporal_gauge"] = row.temporal_gauge;
    entry["xpay"] = row.xpay;
    entry["rhs"] = row.rhs;
    entry["parity"] = row.parity;
    entry["dims"] = row.dims;
    entry["grid"] = row.grid;
    entry["sites"] = row.sites;
    entry["bytes_per_site"] = row.bytes_per_site;
    entry["backend"] = row.backend;
    entry["isa"] = row.isa;
    entry["threads"] = row.threads;
    entry["seconds"] = row.seconds;
    entry["gflops"] = row.gflops();
    entry["gbs"] = row.gbs();
    entry["fraction"] = table.fraction(row);
    if (row.traffic_seconds) entry["traffic_seconds"] = *row.traffic_seconds;
    if (row.operator_gflops) entry["operator_gflops"] = *row.operator_gflops;
    if (row.link_updates) entry["link_updates_per_second"] = row.link_updates_per_second();
    if (!row.resources.empty()) entry["resources"] = row.resources;
    out["kernels"].push_back(entry);
  }
  return out;
}

}  // namespace quadrille::bench
