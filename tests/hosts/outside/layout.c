/* The layout of what a host compiles in: sizes and offsets of structs, values of enumerators, one a line as in
 * ../abi.txt. */
#include <modules/block_dft/capi/c_api.h>
#include <modules/eigen/capi/c_api.h>
#include <modules/md/capi/c_api.h>
#include <modules/mgemm/capi/c_api.h>
#include <modules/ri_mp2/capi/c_api.h>
#include <quadrille.h>

#include <stddef.h>
#include <stdio.h>

#define MEMBER(type, member) \
  printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member), sizeof(((type*)0)->member))
#define VALUE(name) printf("%s %d\n", #name, (int)name)

int main(void) {
  printf("quadrille_report %zu\n", sizeof(quadrille_report));
  MEMBER(quadrille_report, struct_size);
  MEMBER(quadrille_report, stop_reason);
  MEMBER(quadrille_report, iterations);
  MEMBER(quadrille_report, reliable_updates);
  MEMBER(quadrille_report, restarts);
  MEMBER(quadrille_report, converged);
  MEMBER(quadrille_report, residual);
  MEMBER(quadrille_report, solve_seconds);
  MEMBER(quadrille_report, import_seconds);
  MEMBER(quadrille_report, export_seconds);
  MEMBER(quadrille_report, flops);
  MEMBER(quadrille_report, host_bytes);
  printf("enums %zu %zu %zu %zu\n", sizeof(quadrille_status), sizeof(quadrille_log_level), sizeof(quadrille_product),
         sizeof(quadrille_stop_reason));
  VALUE(QUADRILLE_DONE);
  VALUE(QUADRILLE_FAILED);
  VALUE(QUADRILLE_STOPPED);
  VALUE(QUADRILLE_INVALID_INPUT);
  VALUE(QUADRILLE_FILE_ERROR);
  VALUE(QUADRILLE_UNSUPPORTED);
  VALUE(QUADRILLE_NUMERICAL);
  VALUE(QUADRILLE_INTERNAL);
  VALUE(QUADRILLE_INVALID_HANDLE);
  VALUE(QUADRILLE_NO_MEMORY);
  VALUE(QUADRILLE_NOT_CONVERGED);
  VALUE(QUADRILLE_FAILED_ELSEWHERE);
  VALUE(QUADRILLE_INACCURATE);
  VALUE(QUADRILLE_LOG_DEBUG);
  VALUE(QUADRILLE_LOG_INFO);
  VALUE(QUADRILLE_LOG_WARNING);
  VALUE(QUADRILLE_LOG_ERROR);
  VALUE(QUADRILLE_M);
  VALUE(QUADRILLE_M_DAGGER);
  VALUE(QUADRILLE_M_DAGGER_M);
  VALUE(QUADRILLE_HOP);
  VALUE(QUADRILLE_HOP_DAGGER);
  VALUE(QUADRILLE_EVEN_ODD);
  VALUE(QUADRILLE_EVEN_ODD_DAGGER);
  VALUE(QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD);
  VALUE(QUADRILLE_CONVERGED);
  VALUE(QUADRILLE_MAX_ITERATIONS);
  VALUE(QUADRILLE_BREAKDOWN);
  VALUE(QUADRILLE_DIVERGED);
  VALUE(QUADRILLE_NOT_FINITE);
  VALUE(QUADRILLE_STAGNATED);
  printf("quadrille_block_function_report %zu\n", sizeof(quadrille_block_function_report));
  MEMBER(quadrille_block_function_report, struct_size);
  MEMBER(quadrille_block_function_report, iterations);
  MEMBER(quadrille_block_function_report, residual);
  MEMBER(quadrille_block_function_report, occupation);
  MEMBER(quadrille_block_function_report, condition);
  MEMBER(quadrille_block_function_report, flops);
  MEMBER(quadrille_block_function_report, bound);
  printf("quadrille_block_report %zu\n", sizeof(quadrille_block_report));
  MEMBER(quadrille_block_report, struct_size);
  MEMBER(quadrille_block_report, padding);
  MEMBER(quadrille_block_report, products);
  MEMBER(quadrille_block_report, skipped);
  MEMBER(quadrille_block_report, filtered_blocks);
  MEMBER(quadrille_block_report, flops);
  MEMBER(quadrille_block_report, bound);
  MEMBER(quadrille_block_report, seconds);
  printf("quadrille_eigen_options %zu\n", sizeof(quadrille_eigen_options));
  MEMBER(quadrille_eigen_options, struct_size);
  MEMBER(quadrille_eigen_options, triangle);
  MEMBER(quadrille_eigen_options, vectors);
  MEMBER(quadrille_eigen_options, padding);
  MEMBER(quadrille_eigen_options, first);
  MEMBER(quadrille_eigen_options, last);
  MEMBER(quadrille_eigen_options, low);
  MEMBER(quadrille_eigen_options, high);
  MEMBER(quadrille_eigen_options, room);
  MEMBER(quadrille_eigen_options, refine);
  MEMBER(quadrille_eigen_options, backend);
  printf("quadrille_eigen_report %zu\n", sizeof(quadrille_eigen_report));
  MEMBER(quadrille_eigen_report, struct_size);
  MEMBER(quadrille_eigen_report, padding);
  MEMBER(quadrille_eigen_report, first);
  MEMBER(quadrille_eigen_report, count);
  MEMBER(quadrille_eigen_report, standard_form_seconds);
  MEMBER(quadrille_eigen_report, tridiagonalization_seconds);
  MEMBER(quadrille_eigen_report, tridiagonal_seconds);
  MEMBER(quadrille_eigen_report, back_transformation_seconds);
  MEMBER(quadrille_eigen_report, refinement_seconds);
  MEMBER(quadrille_eigen_report, refinements);
  MEMBER(quadrille_eigen_report, defect_before);
  MEMBER(quadrille_eigen_report, defect);
  printf("quadrille_eigen_distribution %zu\n", sizeof(quadrille_eigen_distribution));
  MEMBER(quadrille_eigen_distribution, struct_size);
  MEMBER(quadrille_eigen_distribution, rows);
  MEMBER(quadrille_eigen_distribution, columns);
  MEMBER(quadrille_eigen_distribution, order);
  MEMBER(quadrille_eigen_distribution, padding);
  MEMBER(quadrille_eigen_distribution, block);
  MEMBER(quadrille_eigen_distribution, library);
  printf("quadrille_eigen_part %zu\n", sizeof(quadrille_eigen_part));
  MEMBER(quadrille_eigen_part, struct_size);
  MEMBER(quadrille_eigen_part, rows);
  MEMBER(quadrille_eigen_part, columns);
  MEMBER(quadrille_eigen_part, row);
  MEMBER(quadrille_eigen_part, column);
  MEMBER(quadrille_eigen_part, padding);
  MEMBER(quadrille_eigen_part, block);
  MEMBER(quadrille_eigen_part, local_rows);
  MEMBER(quadrille_eigen_part, local_columns);
  printf("quadrille_md_options %zu\n", sizeof(quadrille_md_options));
  MEMBER(quadrille_md_options, struct_size);
  MEMBER(quadrille_md_options, on_device);
  MEMBER(quadrille_md_options, backend);
  MEMBER(quadrille_md_options, method);
  MEMBER(quadrille_md_options, coulomb);
  MEMBER(quadrille_md_options, coulomb_constant);
  MEMBER(quadrille_md_options, cutoff);
  MEMBER(quadrille_md_options, dielectric);
  MEMBER(quadrille_md_options, afterwards);
  MEMBER(quadrille_md_options, exclusion_count);
  MEMBER(quadrille_md_options, exclusions);
  MEMBER(quadrille_md_options, skin);
  MEMBER(quadrille_md_options, truncation);
  printf("quadrille_mgemm_options %zu\n", sizeof(quadrille_mgemm_options));
  MEMBER(quadrille_mgemm_options, struct_size);
  MEMBER(quadrille_mgemm_options, on_device);
  MEMBER(quadrille_mgemm_options, backend);
  MEMBER(quadrille_mgemm_options, form);
  MEMBER(quadrille_mgemm_options, memory_cap);
  MEMBER(quadrille_mgemm_options, depth);
  MEMBER(quadrille_mgemm_options, delta);
  MEMBER(quadrille_mgemm_options, target_error);
  MEMBER(quadrille_mgemm_options, always_split);
  MEMBER(quadrille_mgemm_options, measured);
  printf("quadrille_mgemm_report %zu\n", sizeof(quadrille_mgemm_report));
  MEMBER(quadrille_mgemm_report, struct_size);
  MEMBER(quadrille_mgemm_report, split);
  MEMBER(quadrille_mgemm_report, analysed);
  MEMBER(quadrille_mgemm_report, padding);
  MEMBER(quadrille_mgemm_report, delta);
  MEMBER(quadrille_mgemm_report, depth);
  MEMBER(quadrille_mgemm_report, large_a);
  MEMBER(quadrille_mgemm_report, large_b);
  MEMBER(quadrille_mgemm_report, bound);
  MEMBER(quadrille_mgemm_report, probable_bound);
  MEMBER(quadrille_mgemm_report, measured);
  MEMBER(quadrille_mgemm_report, expected_speedup);
  MEMBER(quadrille_mgemm_report, panel_bytes);
  MEMBER(quadrille_mgemm_report, reason);
  printf("quadrille_ri_mp2_options %zu\n", sizeof(quadrille_ri_mp2_options));
  MEMBER(quadrille_ri_mp2_options, struct_size);
  MEMBER(quadrille_ri_mp2_options, always_split);
  MEMBER(quadrille_ri_mp2_options, backend);
  MEMBER(quadrille_ri_mp2_options, precision);
  MEMBER(quadrille_ri_mp2_options, assurance);
  MEMBER(quadrille_ri_mp2_options, memory);
  MEMBER(quadrille_ri_mp2_options, delta);
  MEMBER(quadrille_ri_mp2_options, target_error);
  MEMBER(quadrille_ri_mp2_options, memory_cap);
  MEMBER(quadrille_ri_mp2_options, scratch);
  printf("quadrille_ri_mp2_energy %zu\n", sizeof(quadrille_ri_mp2_energy));
  MEMBER(quadrille_ri_mp2_energy, struct_size);
  MEMBER(quadrille_ri_mp2_energy, padding);
  MEMBER(quadrille_ri_mp2_energy, correlation);
  MEMBER(quadrille_ri_mp2_energy, opposite_spin);
  MEMBER(quadrille_ri_mp2_energy, same_spin);
  MEMBER(quadrille_ri_mp2_energy, error);
  MEMBER(quadrille_ri_mp2_energy, seconds);
  MEMBER(quadrille_ri_mp2_energy, batch);
  MEMBER(quadrille_ri_mp2_energy, form);
  MEMBER(quadrille_ri_mp2_energy, streamed);
  VALUE(QUADRILLE_BLOCK_GENERAL);
  VALUE(QUADRILLE_BLOCK_SYMMETRIC);
  VALUE(QUADRILLE_BLOCK_ANTISYMMETRIC);
  return 0;
}
