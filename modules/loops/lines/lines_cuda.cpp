// Lines on the GPU: all fields in the device's memory.
#include "modules/loops/lines/lines_cuda.h"
#include "core/gauge/around/grouped_field.h"
#include "modules/loops/lines/turns.h"

namespace quadrille::loops {

namespace {

class CudaLines final : public LineTurns<GroupedField> {
 public:
  explicit CudaLines(const GaugeStore& links) : LineTurns(links), links_(links) {}

  std::string architecture() const override {
    const FieldDesc& desc = links_.desc();
    return desc.backend->architecture(desc.layout, desc.precision);
  }

 private:
  void copy(int mu, GroupedField& to) override { launch_copy(links_.around(), mu, to.around()); }
  void copy_ahead(int mu, int nu, GroupedField& to) override {
    launch_copy_ahead(links_.around(), mu, nu, to.around());
  }
  void shift(const GroupedField& from, int mu, GroupedField& to) override {
    launch_shift(from.around(), mu, to.around());
  }
  void extend(const GroupedField& line, int mu, GroupedField& to) override {
    launch_extension(links_.around(), line.around(), mu, to.around());
  }
  double lift(const GroupedField& edge, const GroupedField& side, const GroupedField& line, int nu,
              GroupedField& to) override {
    double sum = 0;
    lift_edges(links_.around(), edge.around(), side.around(), line.around(), nu, to.around(), &sum);
    return sum;
  }
  std::array<double, 2> trace_of(const GroupedField& line) override {
    std::array<double, 2> sums{};
    sum_traces(line.around(), sums.data());
    return sums;
  }

  GroupedField links_;
};

}  // namespace

std::unique_ptr<LineWork> make_lines_cuda(const GaugeStore& links) { return std::make_unique<CudaLines>(links); }

}  // namespace quadrille::loops
