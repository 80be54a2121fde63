// Operators of the C API, and their products with a host's spinors.
#include "core/blas/blas.h"
#include "dirac/registry.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/systems.h"
#include "input/capi/words.h"
#include "input/job/blocks.h"

namespace quadrille::capi {

namespace {

std::shared_ptr<OperatorObject> create(const std::shared_ptr<GaugeObject>& gauge, const char* words,
                                       quadrille_operator** made) {
  std::shared_ptr<const Parameters> read;
  const OperatorEntry* entry = nullptr;
  together(gauge->context(), {"quadrille_operator_create", words}, [&] {
    (void)required(made, new_handle);
    read = read_words(operator_block(), words);
    entry = &find_operator(read->text("type"));
    entry->check(*read);
  });
  return made_together(gauge->context(),
                       [&] { return std::make_shared<OperatorObject>(gauge, entry->make(gauge->links, *read)); });
}

/// The subsets of out and in. Throws ErrorCode::invalid_input when the words say another one of `out`.
Subset subset_of_in(quadrille_product product, Subset out, const Location& where) {
  const auto demand = [&](bool fits, const char* wanted) {
    if (!fits) throw Error(ErrorCode::invalid_input, fmt::format("this product needs subset: {}", wanted), where);
  };
  switch (product) {
    case QUADRILLE_M:
    case QUADRILLE_M_DAGGER:
    case QUADRILLE_M_DAGGER_M: demand(out == Subset::Full, "full"); return Subset::Full;
    case QUADRILLE_HOP:
    case QUADRILLE_HOP_DAGGER:
      demand(out != Subset::Full, "even or odd, the parity of its result");
      return out == Subset::Even ? Subset::Odd : Subset::Even;
    case QUADRILLE_EVEN_ODD:
    case QUADRILLE_EVEN_ODD_DAGGER:
    case QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD: demand(out != Subset::Full, "even or odd"); return out;
  }
  throw Error(ErrorCode::invalid_input, fmt::format("there is no product {}; there are 0 to 7", int(product)));
}

/// y = P x; scratch are full fields.
void multiply(const DiracOperator& dirac, quadrille_product product, Field& y, const Field& x, Field& scratch,
              Field& scratch2) {
  const Subset here = y.desc().subset;
  switch (product) {
    case QUADRILLE_M: return dirac.apply(y, x, Dagger::No);
    case QUADRILLE_M_DAGGER: return dirac.apply(y, x, Dagger::Yes);
    case QUADRILLE_M_DAGGER_M: return apply(dirac, {.normal = true}, y, x, scratch, scratch2);
    case QUADRILLE_HOP:
    case QUADRILLE_HOP_DAGGER:
      blas::zero(y);
      dirac.subtract_hop(y, y, x, product == QUADRILLE_HOP ? Dagger::No : Dagger::Yes);  // y = 0 - H x
      return blas::scale(-1, y);
    case QUADRILLE_EVEN_ODD: return apply(dirac, {.even_odd = true, .subset = here}, y, x, scratch, scratch2);
    case QUADRILLE_EVEN_ODD_DAGGER:
      return apply(dirac, {.even_odd = true, .adjoint = true, .subset = here}, y, x, scratch, scratch2);
    case QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD:
      return apply(dirac, {.even_odd = true, .normal = true, .subset = here}, y, x, scratch, scratch2);
  }
}

void apply(OperatorObject& op, quadrille_product product, const char* words, const void* const* in, void* const* out,
           std::size_t count) {
  std::optional<SpinorArrays> arrays;
  Subset from = Subset::Full;
  together(op.context(), {"quadrille_operator_apply", words, count, product}, [&] {
    const auto read = read_words(spinors_table(), words, "spinors");
    arrays.emplace(*read, *op.gauge->lattice, op.gauge->points, op.dirac->kappa(), op.context().given());
    from = subset_of_in(product, arrays->subset(), read->where("subset"));
    arrays->check(in, count, "in");
    arrays->check(out, count, "out");
    for (std::optional<Field>* field : {&op.in, &op.out, &op.scratch, &op.scratch2}) {
      if (!*field) field->emplace(op.dirac->field_desc());
    }
  });
  const SpinorArrays& host = *arrays;
  const Subset to = host.subset();
  host.wait();
  const bool squared = product == QUADRILLE_M_DAGGER_M || product == QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD;
  const double unit = squared ? host.unit() * host.unit() : host.unit();
  for (std::size_t k = 0; k < count; ++k) {
    if (to == Subset::Full) {
      host.read_into(*op.in, in[k]);
      multiply(*op.dirac, product, *op.out, *op.in, *op.scratch, *op.scratch2);
      host.write_from(*op.out, out[k], unit);
    } else {
      Field x = op.in->parity(parity_of(from)), y = op.out->parity(parity_of(to));
      host.read_into(x, in[k]);
      multiply(*op.dirac, product, y, x, *op.scratch, *op.scratch2);
      host.write_from(y, out[k], unit);
    }
  }
}

void set_clover(OperatorObject& op, const char* words, const void* blocks) {
  std::optional<CloverArray> array;
  together(op.context(), {"quadrille_operator_set_clover", words}, [&] {
    const auto read = read_words(clover_table(), words, "clover");
    if (!op.dirac->has_site_matrices()) {
      throw Error(ErrorCode::invalid_input,
                  "the operator has no clover term: make it with type clover or twisted_clover and a csw other than 0");
    }
    array.emplace(*read, *op.gauge->lattice, blocks, op.dirac->kappa(), op.context().given());
  });
  array->read_into(*op.dirac);
}

}  // namespace

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_operator_create(quadrille_gauge* handle, const char* words, quadrille_operator** made) {
  return make<GaugeObject>(handle, made, [&](const auto& gauge) { return create(gauge, words, made); });
}

quadrille_status quadrille_operator_set_clover(quadrille_operator* handle, const char* words, const void* blocks) {
  return with<OperatorObject>(handle, [&](const std::shared_ptr<OperatorObject>& op) {
    set_clover(*op, words, blocks);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_operator_apply(quadrille_operator* handle, quadrille_product product, const char* words,
                                          const void* const* in, void* const* out, size_t count) {
  return with<OperatorObject>(handle, [&](const std::shared_ptr<OperatorObject>& op) {
    apply(*op, product, words, in, out, count);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_operator_destroy(quadrille_operator* handle) { return destroy<OperatorObject>(handle); }
