// The rows that every benchmark gives, as a table on the terminal and as JSON.
#pragma once

#include "core/dims.h"
#include "input/bench/memory.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::bench {

struct Row {
  std::string kernel;              ///< "dslash", "axpy_norm2", "bicgstab", ...
  std::string precision;           ///< "double", "single", "half"
  std::optional<int> reconstruct;  ///< numbers per link; none where no links are read
  bool temporal_gauge = false;
  bool xpay = false;
  int rhs = 1;          ///< right-hand sides of one call, which share links
  bool copies = false;  ///< field algebra that writes: the copy rate is its ceiling, not the read rate
  std::string parity;   ///< "one": a result on one parity; "both"
  Dims dims{};
  Dims grid{1, 1, 1, 1};      ///< of ranks
  std::int64_t sites = 0;     ///< sites of the result of one right-hand side, of all ranks
  double bytes_per_site = 0;  ///< of one right-hand side, compulsory: everything read and written once
  double flops_per_site = 0;  ///< the standard count, 1320 for the Wilson dslash
  std::string backend, isa;
  int threads = 0;
  double seconds = 0;  ///< median of one call; of one iteration for a solver
  /// Of a solver's iteration by its own traffic: its operator at its measured time, field algebra at the copy rate.
  std::optional<double> traffic_seconds;
  std::optional<double> operator_gflops;     ///< of a solver's operator alone
  std::optional<std::int64_t> link_updates;  ///< of a gauge update: in one call
  std::string resources;                     ///< of a kernel on a GPU: HopKernel::resources()

  /// Summed over right-hand sides, as gbs().
  double gflops() const { return flops_per_site * double(sites) * rhs / seconds * 1e-9; }
  double link_updates_per_second() const { return double(link_updates.value_or(0)) / seconds; }
  double gbs() const { return bytes_per_site * double(sites) * rhs / seconds * 1e-9; }
};

struct Table {
  MemoryRates memory;
  std::vector<Row> rows;

  /// The rows' share of the measured read rate, and of the copy rate for field algebra that writes; over 1 where the
  /// data stay in the caches.
  double fraction(const Row& row) const { return row.gbs() / (row.copies ? memory.copy : memory.read); }
};

std::string text(const MemoryRates& rates);
std::string heading();
std::string text(const Table& table, const Row& row);
nlohmann::ordered_json json(const Table& table);

}  // namespace quadrille::bench
