// What ran: a count of every kernel that a dispatcher launched, as proof of the precision that worked.
#pragma once

#include "core/api.h"

#include <any>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace quadrille {

struct KernelRecord {
  std::string name;           ///< "wilson_half_12"
  std::string isa;            ///< instruction set, or device architecture
  double bytes_per_site = 0;  ///< compulsory bytes: what must be read and written once
  std::int64_t calls = 0;
  std::int64_t sites = 0;  ///< output sites over all calls
  double seconds = 0;      ///< wall time; stays 0 where calls return before their work is done
};

/// A list of records, in the order in which they were made. One thread at a time may use it.
class QUADRILLE_API KernelLog {
 public:
  /// The record of this name, instruction set and traffic; made on first use, and valid as long as this log.
  KernelRecord& record(const std::string& name, const std::string& isa, double bytes_per_site);
  std::vector<KernelRecord> records() const { return {records_.begin(), records_.end()}; }

  std::any field_algebra;  ///< what core/blas keeps of its records

 private:
  std::deque<KernelRecord> records_;  // growing it moves no record
};

/// The log of the calling thread: the process' own, or that of the innermost UseKernelLog on this thread.
QUADRILLE_API KernelLog& kernel_log();

/// Operators that are made, and field algebra that is done, on this thread during its life count in `log`, which
/// outlives the operators.
class QUADRILLE_API UseKernelLog {
 public:
  explicit UseKernelLog(KernelLog& log);
  ~UseKernelLog();
  UseKernelLog(const UseKernelLog&) = delete;
  UseKernelLog& operator=(const UseKernelLog&) = delete;

 private:
  KernelLog* before_;
};

/// Of kernel_log().
QUADRILLE_API KernelRecord& kernel_record(const std::string& name, const std::string& isa, double bytes_per_site);
/// All records so far; and what was added since an earlier list.
QUADRILLE_API std::vector<KernelRecord> kernel_records();
QUADRILLE_API std::vector<KernelRecord> kernel_records_since(const std::vector<KernelRecord>& earlier);

/// Adds one call over `sites` sites, from construction to destruction; its time only if `waits`: the call returns when
/// its work is done (Backend::host_memory()).
class KernelTimer {
 public:
  KernelTimer(KernelRecord& record, std::int64_t sites, bool waits)
      : record_(record), sites_(sites), waits_(waits), start_(std::chrono::steady_clock::now()) {}
  ~KernelTimer() {
    if (waits_) record_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    record_.sites += sites_;
    ++record_.calls;
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  KernelRecord& record_;
  std::int64_t sites_;
  bool waits_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace quadrille
