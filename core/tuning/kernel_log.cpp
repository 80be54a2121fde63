#include "core/tuning/kernel_log.h"

namespace quadrille {
namespace {

thread_local KernelLog* used_here = nullptr;

}  // namespace

KernelRecord& KernelLog::record(const std::string& name, const std::string& isa, double bytes_per_site) {
  for (KernelRecord& record : records_) {
    if (record.name == name && record.isa == isa && record.bytes_per_site == bytes_per_site) return record;
  }
  return records_.emplace_back(KernelRecord{name, isa, bytes_per_site});
}

KernelLog& kernel_log() {
  static KernelLog of_process;
  return used_here != nullptr ? *used_here : of_process;
}

UseKernelLog::UseKernelLog(KernelLog& log) : before_(used_here) { used_here = &log; }
UseKernelLog::~UseKernelLog() { used_here = before_; }

KernelRecord& kernel_record(const std::string& name, const std::string& isa, double bytes_per_site) {
  return kernel_log().record(name, isa, bytes_per_site);
}

std::vector<KernelRecord> kernel_records() { return kernel_log().records(); }

std::vector<KernelRecord> kernel_records_since(const std::vector<KernelRecord>& earlier) {
  std::vector<KernelRecord> added;
  const std::vector<KernelRecord> now = kernel_records();
  for (std::size_t i = 0; i < now.size(); ++i) {
    KernelRecord record = now[i];
    if (i < earlier.size()) {
      record.calls -= earlier[i].calls;
      record.sites -= earlier[i].sites;
      record.seconds -= earlier[i].seconds;
    }
    if (record.calls > 0) added.push_back(record);
  }
  return added;
}

}  // namespace quadrille
