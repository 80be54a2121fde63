#include "core/tuning/kernel_log.h"

#include <deque>

namespace quadrille {
namespace {

std::deque<KernelRecord>& records() {  // a deque: growing it moves no record
  static std::deque<KernelRecord> all;
  return all;
}

}  // namespace

KernelRecord& kernel_record(const std::string& name, const std::string& isa, double bytes_per_site) {
  for (KernelRecord& record : records()) {
    if (record.name == name && record.isa == isa && record.bytes_per_site == bytes_per_site) return record;
  }
  return records().emplace_back(KernelRecord{name, isa, bytes_per_site});
}

std::vector<KernelRecord> kernel_records() { return {records().begin(), records().end()}; }

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
