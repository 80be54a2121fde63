# Compiler settings, dependencies and the functions that CMakeLists.txt of folders use.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "Quadrille is built with g++ 12 or later (vector extensions); found "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Set CXX=g++-12.")
endif()

# The CUDA backend: compute capabilities 8.0 and 9.0 unless CMAKE_CUDA_ARCHITECTURES says otherwise. What nvcc cannot do
# with this C++ compiler is tried before CMake stops at it.
set(quadrille_use_cuda OFF)
if(QUADRILLE_CUDA STREQUAL "AUTO" OR QUADRILLE_CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(quadrille_nvcc ${CMAKE_CUDA_COMPILER})
  elseif(DEFINED ENV{CUDACXX})
    set(quadrille_nvcc $ENV{CUDACXX})
  else()
    find_program(quadrille_nvcc nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin PATHS /usr/local/cuda/bin)
  endif()
  set(quadrille_cuda_trouble "there is no nvcc: name it by the environment variable CUDACXX or -DCMAKE_CUDA_COMPILER=PATH")
  if(quadrille_nvcc)
    file(WRITE ${CMAKE_BINARY_DIR}/cuda_probe.cu "#include <cuda_runtime.h>\n#include <concepts>\n"
         "template <std::floating_point T> __global__ void probe(T* x) { *x = 1; }\ntemplate __global__ void probe(double*);\n")
    execute_process(COMMAND ${quadrille_nvcc} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -c cuda_probe.cu -o cuda_probe.o
                    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    set(quadrille_cuda_trouble "${quadrille_nvcc} cannot compile C++20 with ${CMAKE_CXX_COMPILER} (nvcc 12 or later is needed, "
        "and a g++ that it knows):\n${said}")
    if(status EQUAL 0)
      set(CMAKE_CUDA_COMPILER ${quadrille_nvcc} CACHE FILEPATH "CUDA compiler")
      set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Compute capabilities that CUDA kernels are built for")
      set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "Compiler of the host's part of CUDA sources")
      enable_language(CUDA)
      find_package(CUDAToolkit 12 REQUIRED)
      set(CMAKE_CUDA_STANDARD 20)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 and later have it
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
      endif()
      set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
      if(TARGET CUDA::cublas AND TARGET CUDA::cublasLt)
        set(quadrille_use_cuda ON)
      else()
        set(quadrille_cuda_trouble "the toolkit of ${quadrille_nvcc} has no cuBLAS")
      endif()
    endif()
  endif()
  string(CONCAT quadrille_cuda_trouble ${quadrille_cuda_trouble})
  if(quadrille_use_cuda)
    message(STATUS "CUDA backend: ${quadrille_nvcc} for compute capabilities ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(QUADRILLE_CUDA STREQUAL "AUTO")
    message(STATUS "No CUDA backend: ${quadrille_cuda_trouble}")
  else()
    message(FATAL_ERROR "QUADRILLE_CUDA=${QUADRILLE_CUDA}: ${quadrille_cuda_trouble}")
  endif()
endif()

# MPI, for libquadrille_ranks.so alone.
set(quadrille_use_mpi OFF)
if(NOT QUADRILLE_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  set(quadrille_use_mpi ${MPI_CXX_FOUND})
  if(quadrille_use_mpi)
    message(STATUS "Several ranks by MPI ${MPI_CXX_VERSION}: ${MPI_CXX_COMPILER}")
  elseif(QUADRILLE_MPI STREQUAL "AUTO")
    message(STATUS "One rank only: CMake finds no MPI (Debian: libopenmpi-dev)")
  else()
    message(FATAL_ERROR "QUADRILLE_MPI=${QUADRILLE_MPI}: CMake finds no MPI: install libopenmpi-dev, or set QUADRILLE_MPI to "
                        "AUTO or OFF")
  endif()
endif()

# ScaLAPACK and ELPA (which needs ScaLAPACK), for libquadrille_eigen_ranks.so alone. A small program that calls them is linked;
# it must not load two MPIs. Debian names ScaLAPACK's library after the MPI.
set(quadrille_use_scalapack OFF)
set(quadrille_use_elpa OFF)
function(quadrille_try_spread result library program)  # LIBRARY...
  file(WRITE ${CMAKE_BINARY_DIR}/${library}_probe.cpp "${program}")
  try_compile(links ${CMAKE_BINARY_DIR}/${library}_probe SOURCES ${CMAKE_BINARY_DIR}/${library}_probe.cpp
              LINK_LIBRARIES ${ARGN} MPI::MPI_CXX OUTPUT_VARIABLE said
              COPY_FILE ${CMAKE_BINARY_DIR}/${library}_probe.out COPY_FILE_ERROR copied)
  if(links)
    execute_process(COMMAND ldd ${CMAKE_BINARY_DIR}/${library}_probe.out OUTPUT_VARIABLE loaded ERROR_QUIET)
    if(loaded MATCHES "libmpi[.]so" AND loaded MATCHES "libmpich[.]so")
      set(links OFF)
      set(said "it is built with another MPI than ${MPI_CXX_COMPILER}")
    endif()
  endif()
  set(${result} ${links} PARENT_SCOPE)
  set(${result}_said "${said}" PARENT_SCOPE)
endfunction()
if(quadrille_use_mpi AND NOT QUADRILLE_SCALAPACK STREQUAL "OFF")
  find_library(QUADRILLE_SCALAPACK_LIBRARY NAMES scalapack scalapack-openmpi scalapack-mpich)
  if(QUADRILLE_SCALAPACK_LIBRARY)
    quadrille_try_spread(quadrille_use_scalapack scalapack "extern \"C\" void pdstedc_();\nextern \"C\" void pzhengst_();\n\
extern \"C\" int Csys2blacs_handle(int);\nint main() { pdstedc_(); pzhengst_(); return Csys2blacs_handle(0); }\n"
      ${QUADRILLE_SCALAPACK_LIBRARY})
    set(quadrille_scalapack_trouble "${QUADRILLE_SCALAPACK_LIBRARY} cannot be linked:\n${quadrille_use_scalapack_said}")
  else()
    set(quadrille_scalapack_trouble "CMake finds no ScaLAPACK (Debian: libscalapack-openmpi-dev)")
  endif()
  if(quadrille_use_scalapack)
    message(STATUS "Eigenproblems on ranks by ScaLAPACK: ${QUADRILLE_SCALAPACK_LIBRARY}")
  elseif(QUADRILLE_SCALAPACK STREQUAL "AUTO")
    message(STATUS "No eigenproblems on ranks: ${quadrille_scalapack_trouble}")
  else()
    message(FATAL_ERROR "QUADRILLE_SCALAPACK=${QUADRILLE_SCALAPACK}: ${quadrille_scalapack_trouble}, or set QUADRILLE_SCALAPACK "
                        "to AUTO or OFF")
  endif()
elseif(QUADRILLE_SCALAPACK STREQUAL "ON")
  message(FATAL_ERROR "QUADRILLE_SCALAPACK=ON: ScaLAPACK works on MPI's ranks, and this build is without MPI")
endif()
if(NOT QUADRILLE_ELPA STREQUAL "OFF")
  set(quadrille_elpa_trouble "it needs ScaLAPACK and MPI, and this build is without one of them")
  if(quadrille_use_scalapack)
    find_library(QUADRILLE_ELPA_LIBRARY NAMES elpa elpa_openmp)
    set(quadrille_elpa_trouble "CMake finds no ELPA (Debian: libelpa-dev)")
    if(QUADRILLE_ELPA_LIBRARY)
      quadrille_try_spread(quadrille_use_elpa elpa "extern \"C\" int elpa_init(int);\nextern \"C\" void \
elpa_eigenvectors_a_h_a_dc();\nint main() { elpa_eigenvectors_a_h_a_dc(); return elpa_init(0); }\n"
        ${QUADRILLE_ELPA_LIBRARY} ${QUADRILLE_SCALAPACK_LIBRARY})
      set(quadrille_elpa_trouble "${QUADRILLE_ELPA_LIBRARY} cannot be used (2021.05 or later is needed):\n${quadrille_use_elpa_said}")
    endif()
  endif()
  if(quadrille_use_elpa)
    message(STATUS "Eigenproblems on ranks by ELPA: ${QUADRILLE_ELPA_LIBRARY}")
  elseif(QUADRILLE_ELPA STREQUAL "ON")
    message(FATAL_ERROR "QUADRILLE_ELPA=ON: ${quadrille_elpa_trouble}, or set QUADRILLE_ELPA to AUTO or OFF")
  elseif(quadrille_use_scalapack)
    message(STATUS "No ELPA: ${quadrille_elpa_trouble}")
  endif()
endif()

# NCCL, for libquadrille_ranks.so alone.
set(quadrille_use_nccl OFF)
if(NOT QUADRILLE_NCCL STREQUAL "OFF")
  if(NOT quadrille_use_cuda OR NOT quadrille_use_mpi)
    set(quadrille_nccl_trouble "it joins the GPUs of MPI's ranks, and this build is without CUDA or MPI")
  else()
    find_path(QUADRILLE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(QUADRILLE_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR})
    if(QUADRILLE_NCCL_INCLUDE AND QUADRILLE_NCCL_LIBRARY)
      file(WRITE ${CMAKE_BINARY_DIR}/nccl_probe.cpp
           "#include <nccl.h>\nauto probe() { return ncclCommInitRankConfig; }\nauto end() { return ncclCommFinalize; }\n")
      try_compile(quadrille_nccl_links ${CMAKE_BINARY_DIR}/nccl_probe SOURCES ${CMAKE_BINARY_DIR}/nccl_probe.cpp
                  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${QUADRILLE_NCCL_INCLUDE}\;${CUDAToolkit_INCLUDE_DIRS}"
                  COMPILE_DEFINITIONS -fPIC LINK_OPTIONS -shared LINK_LIBRARIES ${QUADRILLE_NCCL_LIBRARY}
                  OUTPUT_VARIABLE quadrille_nccl_said)
      set(quadrille_use_nccl ${quadrille_nccl_links})
      set(quadrille_nccl_trouble "${QUADRILLE_NCCL_LIBRARY} cannot be used (2.14 or later is needed):\n${quadrille_nccl_said}")
    else()
      set(quadrille_nccl_trouble "CMake finds no NCCL (libnccl-dev)")
    endif()
  endif()
  if(quadrille_use_nccl)
    message(STATUS "NCCL between the GPUs of ranks: ${QUADRILLE_NCCL_LIBRARY}")
  elseif(QUADRILLE_NCCL STREQUAL "ON")
    message(FATAL_ERROR "QUADRILLE_NCCL=ON: ${quadrille_nccl_trouble}, or set QUADRILLE_NCCL to AUTO or OFF")
  elseif(quadrille_use_cuda AND quadrille_use_mpi)
    message(STATUS "No NCCL: ${quadrille_nccl_trouble}")
  endif()
endif()

include(GNUInstallDirs)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(pugixml REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# CMake's own FindHDF5 needs the language C. Debian keeps the serial library in folders of its own.
find_path(QUADRILLE_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(QUADRILLE_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial REQUIRED)
add_library(quadrille_hdf5 INTERFACE)
target_include_directories(quadrille_hdf5 SYSTEM INTERFACE ${QUADRILLE_HDF5_INCLUDE})
target_link_libraries(quadrille_hdf5 INTERFACE ${QUADRILLE_HDF5_LIBRARY})

# OpenBLAS multiplies dense matrices. Its own package file is used, as that names the header and the library of one flavour.
find_package(OpenBLAS CONFIG)
if(NOT OpenBLAS_FOUND)
  message(FATAL_ERROR "CMake finds no package OpenBLAS: install libopenblas-dev, or give its folder with -DOpenBLAS_DIR=...")
endif()
add_library(quadrille_openblas INTERFACE)
target_include_directories(quadrille_openblas SYSTEM INTERFACE ${OpenBLAS_INCLUDE_DIRS})
target_link_libraries(quadrille_openblas INTERFACE ${OpenBLAS_LIBRARIES})

# libxsmm, one of the drivers of block-sparse products (Debian: libxsmm-dev, static libraries). It wants a BLAS for what it
# has no kernel for: OpenBLAS. Its own library libxsmmnoblas would take the place of OpenBLAS's symbols for everybody.
set(quadrille_use_xsmm OFF)
if(NOT QUADRILLE_XSMM STREQUAL "OFF")
  find_path(QUADRILLE_XSMM_INCLUDE libxsmm.h)
  find_library(QUADRILLE_XSMM_LIBRARY xsmm)
  if(QUADRILLE_XSMM_INCLUDE AND QUADRILLE_XSMM_LIBRARY)
    file(WRITE ${CMAKE_BINARY_DIR}/xsmm_probe.cpp
         "#include <libxsmm.h>\nvoid* probe() { libxsmm_init(); return (void*)libxsmm_dmmdispatch(4, 4, 4, 0, 0, 0, 0, 0, 0, 0); }\n")
    set(quadrille_xsmm_libraries ${QUADRILLE_XSMM_LIBRARY} ${OpenBLAS_LIBRARIES} ${CMAKE_DL_LIBS} m)
    try_compile(quadrille_xsmm_links ${CMAKE_BINARY_DIR}/xsmm_probe SOURCES ${CMAKE_BINARY_DIR}/xsmm_probe.cpp
                CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${QUADRILLE_XSMM_INCLUDE} COMPILE_DEFINITIONS -fPIC
                LINK_OPTIONS -shared LINK_LIBRARIES ${quadrille_xsmm_libraries} OUTPUT_VARIABLE quadrille_xsmm_said)
    set(quadrille_use_xsmm ${quadrille_xsmm_links})
    set(quadrille_xsmm_trouble "${QUADRILLE_XSMM_LIBRARY} cannot be linked into a shared library:\n${quadrille_xsmm_said}")
  else()
    set(quadrille_xsmm_trouble "CMake finds no libxsmm (Debian: libxsmm-dev)")
  endif()
  if(quadrille_use_xsmm)
    message(STATUS "libxsmm as a driver of block-sparse products: ${QUADRILLE_XSMM_LIBRARY}")
    add_library(quadrille_xsmm INTERFACE)
    target_include_directories(quadrille_xsmm SYSTEM INTERFACE ${QUADRILLE_XSMM_INCLUDE})
    target_link_libraries(quadrille_xsmm INTERFACE ${quadrille_xsmm_libraries})
    target_link_options(quadrille_xsmm INTERFACE LINKER:--exclude-libs,libxsmm.a)  # its symbols are nobody else's
    target_compile_definitions(quadrille_xsmm INTERFACE QUADRILLE_HAVE_XSMM)
  elseif(QUADRILLE_XSMM STREQUAL "ON")
    message(FATAL_ERROR "QUADRILLE_XSMM=ON: ${quadrille_xsmm_trouble}, or set QUADRILLE_XSMM to AUTO or OFF")
  else()
    message(STATUS "No libxsmm: ${quadrille_xsmm_trouble}")
  endif()
endif()

# c-lime is in no Debian suite (liblime-dev is another library); the built-in codec does without it. Its own default is a
# static library that cannot be part of libquadrille.so, so that is tried here rather than found at the end of the build.
set(quadrille_use_clime OFF)
if(NOT QUADRILLE_LIME STREQUAL "OFF")
  find_package(CLime CONFIG QUIET)
  if(TARGET CLime::lime)
    file(WRITE ${CMAKE_BINARY_DIR}/clime_probe.cpp
         "extern \"C\" {\n#include <lime.h>\n}\nvoid* probe() { return limeCreateReader(0) ? limeCreateWriter(0) : nullptr; }\n")
    try_compile(quadrille_clime_links ${CMAKE_BINARY_DIR}/clime_probe SOURCES ${CMAKE_BINARY_DIR}/clime_probe.cpp
                COMPILE_DEFINITIONS -fPIC LINK_OPTIONS -shared LINK_LIBRARIES CLime::lime)
    set(quadrille_use_clime ${quadrille_clime_links})
    set(quadrille_clime_trouble "c-lime in ${CLime_DIR} cannot be linked into a shared library: build it with "
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON or -DBUILD_SHARED_LIBS=ON")
  else()
    set(quadrille_clime_trouble "CMake finds no package CLime (c-lime): give its folder with -DCMAKE_PREFIX_PATH=...")
  endif()
  string(CONCAT quadrille_clime_trouble ${quadrille_clime_trouble})
  if(quadrille_use_clime)
    message(STATUS "c-lime moves the bytes of LIME files: ${CLime_DIR}")
  elseif(QUADRILLE_LIME STREQUAL "ON")
    message(FATAL_ERROR "QUADRILLE_LIME=ON: ${quadrille_clime_trouble}, or set QUADRILLE_LIME to AUTO or OFF")
  else()
    message(STATUS "The built-in codec moves the bytes of LIME files: ${quadrille_clime_trouble}")
  endif()
endif()

add_library(quadrille_settings INTERFACE)
target_include_directories(quadrille_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(quadrille_settings INTERFACE QUADRILLE_VERSION="${PROJECT_VERSION}")
# g++ 12 reports std::optional<std::string> and its own AVX-512 headers as used uninitialized.
target_compile_options(quadrille_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-maybe-uninitialized;-fno-math-errno;-fno-trapping-math>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>)
if(quadrille_use_cuda)
  target_include_directories(quadrille_settings SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(quadrille_settings INTERFACE CUDA::cudart_static)
endif()
target_link_libraries(quadrille_settings INTERFACE OpenMP::OpenMP_CXX spdlog::spdlog fmt::fmt)

# A field that was never written cannot pass for one that was: for debugging, as it costs a pass over fresh memory.
set(quadrille_poison OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(quadrille_poison ON)
endif()
option(QUADRILLE_POISON "Fill the fresh memory of fields with not-a-number" ${quadrille_poison})
if(QUADRILLE_POISON)
  target_compile_definitions(quadrille_settings INTERFACE QUADRILLE_POISON)
endif()

# For a build from scratch: headers that never change and that most sources of the library read are compiled once, and
# the sources of a room as one. A compiler cache does better without, and so does who changes a source: without, one that
# lacks an include of its own fails to compile (preset dev).
set(quadrille_at_once ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(quadrille_at_once OFF)
endif()
option(QUADRILLE_AT_ONCE "Precompile headers and compile the sources of a room as one: faster from scratch" ${quadrille_at_once})
if(QUADRILLE_AT_ONCE)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
  add_library(quadrille_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(quadrille_precompiled PRIVATE quadrille_settings nlohmann_json::nlohmann_json)
  set(quadrille_precompiled_headers
    <algorithm> <array> <atomic> <chrono> <cmath> <complex> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
    <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <thread> <variant> <vector> <fmt/format.h>
    <nlohmann/json.hpp> <spdlog/spdlog.h>)
  target_precompile_headers(quadrille_precompiled PRIVATE ${quadrille_precompiled_headers})
endif()
function(quadrille_compile_together target)
  if(QUADRILLE_AT_ONCE)
    target_precompile_headers(${target} REUSE_FROM quadrille_precompiled)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # Types of a source's own are taken for those of a header, whose every includer would have another.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      get_filename_component(room ${source} DIRECTORY)
      string(MAKE_C_IDENTIFIER "room_${room}" group)
      if(source MATCHES "[.]cu$")  # what nvcc compiles is long already
        set_property(SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      else()
        set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
      endif()
    endforeach()
  endif()
endfunction()

# quadrille_add_objects(NAME SOURCE...): the same as below for sources with instruction sets of their own.
function(quadrille_add_objects name)
  add_library(quadrille_${name} OBJECT ${ARGN})
  target_link_libraries(quadrille_${name} PUBLIC quadrille_settings)
  set_property(GLOBAL APPEND PROPERTY QUADRILLE_FOLDERS quadrille_${name})
endfunction()

# quadrille_add_folder(NAME SOURCE... [QUICKLY SOURCE...]): the object library quadrille_NAME, part of libquadrille.so. Those
# QUICKLY, whose own time is nothing beside what they call (tasks, tables, messages), are compiled by -O1.
function(quadrille_add_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "" QUICKLY)
  quadrille_add_objects(${name} ${of_UNPARSED_ARGUMENTS})
  quadrille_compile_together(quadrille_${name})
  if(of_QUICKLY)
    quadrille_add_objects(${name}_quickly ${of_QUICKLY})
    target_link_libraries(quadrille_${name}_quickly PUBLIC quadrille_${name})
    target_compile_options(quadrille_${name}_quickly PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
    quadrille_compile_together(quadrille_${name}_quickly)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)  # which wants headers that are precompiled by -O1, too
      set_target_properties(quadrille_${name}_quickly PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    endif()
  endif()
endfunction()

# quadrille_add_module(NAME [USES MODULE...] [FOR_OTHERS HEADER...]): the folder NAME, whose sources define the descriptor
# quadrille_module_NAME (modules/shared/plugin/module.h), and whose report/*.py `quadrille report` runs; the modules whose
# headers it includes; its headers for others.
function(quadrille_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "" "USES;FOR_OTHERS")
  foreach(header ${of_FOR_OTHERS})
    if(quadrille_use_cuda OR NOT header MATCHES "cuda/")
      set_property(GLOBAL APPEND PROPERTY QUADRILLE_HEADERS_FOR_OTHERS modules/${name}/${header})
    endif()
  endforeach()
  add_subdirectory(${name})
  set_property(GLOBAL APPEND PROPERTY QUADRILLE_MODULE_LIST ${name})
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/report/*.py)
  quadrille_add_module_reports(${scripts})
endfunction()

# quadrille_add_module_reports(SCRIPT...): in the build tree a link, so that they are always those of the sources.
function(quadrille_add_module_reports)
  set(place quadrille/module_reports)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/${place})
  foreach(script ${ARGN})
    get_filename_component(name ${script} NAME)
    get_property(known GLOBAL PROPERTY QUADRILLE_MODULE_REPORTS)
    if(name IN_LIST known)
      message(FATAL_ERROR "${script}: another module has a report of that name")
    endif()
    set_property(GLOBAL APPEND PROPERTY QUADRILLE_MODULE_REPORTS ${name})
    file(CREATE_LINK ${script} ${CMAKE_BINARY_DIR}/share/${place}/${name} SYMBOLIC)
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${place})
  endforeach()
endfunction()

# quadrille_write_module_list(): module_list.inc in the build folder, X(NAME) for each module.
function(quadrille_write_module_list)
  get_property(names GLOBAL PROPERTY QUADRILLE_MODULE_LIST)
  set(lines "// Generated: X(name) for each module of the library.\n")
  foreach(name ${names})
    string(APPEND lines "X(${name})\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/module_list.inc CONTENT "${lines}")
endfunction()

# quadrille_install_documents(): READMEs, example jobs and show_results.py, in the folders that READMEs name.
function(quadrille_install_documents)
  set(place ${CMAKE_INSTALL_DATADIR}/doc/quadrille)
  file(GLOB root RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/LICENSE)
  set(documents ${root})
  foreach(folder cmake codegen core dirac input modules solvers tests)
    file(GLOB_RECURSE inside RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.md)
    list(APPEND documents ${inside})
  endforeach()
  file(GLOB examples RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/input/examples/*.yaml
       ${PROJECT_SOURCE_DIR}/input/examples/*.py)
  foreach(document ${documents} ${examples})
    get_filename_component(folder ${document} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${place}/${folder})
  endforeach()
endfunction()

# quadrille_install_headers(): the public headers (modules/README.md), and what they include.
function(quadrille_install_headers)
  set(public
    core/backend/backend.h core/backend/transfer_buffer.h core/blas/blas.h core/blas/random_fill.h core/comm/agreement.h
    core/comm/communicator.h core/dims.h core/error.h core/field/convert.h core/field/field.h core/field/host_field.h
    core/field/propagator.h core/gauge/gauge_store.h core/gauge/observables.h core/layout/grouped_layout.h
    core/layout/lattice.h core/layout/vector_layout.h core/numbers/chunked_sum.h core/numbers/precision.h
    core/operator/normal_operator.h core/operator/operator.h core/parameters/parameters.h core/random/random.h
    core/simd/isa.h core/su3/su3.h core/su3/su3_project.h core/system/atomic_file.h core/system/csv.h core/system/log.h
    core/system/memory.h core/system/team.h core/system/thread_count.h core/tuning/kernel_log.h core/tuning/tuning.h
    dirac/dirac_operator.h dirac/dslash.h dirac/systems/even_odd.h dirac/registry.h dirac/wilson.h
    solvers/driver.h solvers/registry.h solvers/solver.h)
  set(kinds "modules/shared/*/*.h" "modules/*/capi/c_api.h")
  if(quadrille_use_cuda)
    list(APPEND public core/backend/cuda/cuda_backend.h core/backend/cuda/device_array.h core/backend/cuda/grouped_access.cuh
         core/backend/cuda/owned.h core/backend/cuda/reduce.cuh core/backend/cuda/runtime.h)
    list(APPEND kinds "modules/shared/dense/cuda/*.h")
  endif()
  list(TRANSFORM kinds PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB some RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${kinds})
  get_property(of_modules GLOBAL PROPERTY QUADRILLE_HEADERS_FOR_OTHERS)
  set(waiting ${public} ${some} ${of_modules})
  set(found "")
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    set(file ${PROJECT_SOURCE_DIR}/${header})
    if(NOT EXISTS ${file})  # made by CMake
      set(file ${PROJECT_BINARY_DIR}/${header})
    endif()
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quadrille/${folder})
    file(STRINGS ${file} lines REGEX "^ *# *include \"(core|dirac|solvers|modules)/")
    list(TRANSFORM lines REPLACE ".*\"(.*)\".*" "\\1")
    list(APPEND waiting ${lines})
  endwhile()
endfunction()

set(QUADRILLE_SOVERSION 0)  # of libquadrille.so; changes with what host codes could no longer link or call

# quadrille_install_package(): headers and what find_package(Quadrille) and pkg-config need, for host codes and for modules
# built outside the source tree.
function(quadrille_install_package)
  include(CMakePackageConfigHelpers)
  quadrille_install_headers()
  install(FILES ${PROJECT_SOURCE_DIR}/input/capi/quadrille.h ${PROJECT_SOURCE_DIR}/input/capi/quadrille.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quadrille)
  install(FILES ${PROJECT_SOURCE_DIR}/input/capi/quadrille.f90 DESTINATION ${CMAKE_INSTALL_DATADIR}/quadrille/fortran)
  file(RELATIVE_PATH QUADRILLE_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/quadrille.pc.in ${PROJECT_BINARY_DIR}/quadrille.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/quadrille.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set(place ${CMAKE_INSTALL_LIBDIR}/cmake/Quadrille)
  install(EXPORT QuadrilleTargets NAMESPACE Quadrille:: DESTINATION ${place})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/QuadrilleConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/QuadrilleConfig.cmake INSTALL_DESTINATION ${place}
                                PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/QuadrilleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/QuadrilleConfig.cmake ${PROJECT_BINARY_DIR}/QuadrilleConfigVersion.cmake
          DESTINATION ${place})
endfunction()

# quadrille_add_library(): libquadrille.so (what is exported only) and quadrille_objects (everything, for the tests).
function(quadrille_add_library)
  get_property(folders GLOBAL PROPERTY QUADRILLE_FOLDERS)
  add_library(quadrille_objects INTERFACE)
  foreach(folder ${folders})
    target_link_libraries(quadrille_objects INTERFACE ${folder} $<TARGET_OBJECTS:${folder}>)
  endforeach()
  add_library(quadrille_shared SHARED)
  set_target_properties(quadrille_shared PROPERTIES OUTPUT_NAME quadrille EXPORT_NAME quadrille
                        VERSION ${PROJECT_VERSION} SOVERSION ${QUADRILLE_SOVERSION})
  foreach(folder ${folders})
    target_link_libraries(quadrille_shared PRIVATE $<BUILD_INTERFACE:${folder}>)
  endforeach()
  target_include_directories(quadrille_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/quadrille>)
  target_compile_features(quadrille_shared INTERFACE cxx_std_20)
  target_link_libraries(quadrille_program PRIVATE quadrille_shared)
  install(TARGETS quadrille_shared EXPORT QuadrilleTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# quadrille_add_ranks(): libquadrille_ranks.so, which alone is linked with MPI and NCCL, and loaded where MPI has started the
# process.
function(quadrille_add_ranks)
  if(NOT quadrille_use_mpi)
    return()
  endif()
  add_library(quadrille_ranks_objects OBJECT ${PROJECT_SOURCE_DIR}/core/comm/mpi/mpi_ranks.cpp)
  quadrille_compile_together(quadrille_ranks_objects)
  target_link_libraries(quadrille_ranks_objects PUBLIC quadrille_settings MPI::MPI_CXX)
  if(quadrille_use_nccl)
    target_sources(quadrille_ranks_objects PRIVATE ${PROJECT_SOURCE_DIR}/core/comm/nccl/nccl_links.cpp)
    target_compile_definitions(quadrille_ranks_objects PRIVATE QUADRILLE_HAVE_NCCL)
    target_include_directories(quadrille_ranks_objects SYSTEM PRIVATE ${QUADRILLE_NCCL_INCLUDE})
    target_link_libraries(quadrille_ranks_objects PUBLIC ${QUADRILLE_NCCL_LIBRARY})
  endif()
  add_library(quadrille_ranks SHARED $<TARGET_OBJECTS:quadrille_ranks_objects>
              ${PROJECT_SOURCE_DIR}/core/comm/mpi/ranks_build.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/core/comm/mpi/ranks_build.cpp PROPERTIES
                              INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/core/to_install)
  add_dependencies(quadrille_ranks quadrille_find_build_id)
  target_link_libraries(quadrille_ranks PRIVATE quadrille_ranks_objects quadrille_shared)
  add_dependencies(quadrille_program quadrille_ranks)  # which refuses one of an earlier commit
  install(TARGETS quadrille_ranks DESTINATION ${CMAKE_INSTALL_LIBDIR})
  quadrille_add_spread_libraries()
endfunction()

# quadrille_add_spread_libraries(): libquadrille_eigen_ranks.so, which alone is linked with ScaLAPACK and ELPA.
function(quadrille_add_spread_libraries)
  if(NOT quadrille_use_scalapack)
    return()
  endif()
  set(room ${PROJECT_SOURCE_DIR}/modules/eigen/ranks/mpi)
  add_library(quadrille_eigen_ranks_objects OBJECT ${room}/elpa_steps.cpp ${room}/rank_grid.cpp ${room}/scalapack_steps.cpp
              ${room}/spread_library.cpp)
  quadrille_compile_together(quadrille_eigen_ranks_objects)
  target_link_libraries(quadrille_eigen_ranks_objects PUBLIC quadrille_settings MPI::MPI_CXX)
  if(quadrille_use_elpa)
    target_compile_definitions(quadrille_eigen_ranks_objects PRIVATE QUADRILLE_HAVE_ELPA)
    target_link_libraries(quadrille_eigen_ranks_objects PUBLIC ${QUADRILLE_ELPA_LIBRARY})
  endif()
  target_link_libraries(quadrille_eigen_ranks_objects PUBLIC ${QUADRILLE_SCALAPACK_LIBRARY})
  add_library(quadrille_eigen_ranks SHARED $<TARGET_OBJECTS:quadrille_eigen_ranks_objects> ${room}/spread_build.cpp)
  set_source_files_properties(${room}/spread_build.cpp PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/core/to_install)
  add_dependencies(quadrille_eigen_ranks quadrille_find_build_id)
  target_link_libraries(quadrille_eigen_ranks PRIVATE quadrille_eigen_ranks_objects quadrille_shared)
  add_dependencies(quadrille_program quadrille_eigen_ranks)
  install(TARGETS quadrille_eigen_ranks DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# quadrille_add_build_id(): the one source that knows the commit (core/system/build_id.h), brought up to date by each build.
function(quadrille_add_build_id)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/build_id.cpp)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/to_install/quadrille_build.h)  # where nothing of the source tree sees it
  add_custom_target(quadrille_find_build_id BYPRODUCTS ${source} ${header} COMMENT "Build id" VERBATIM
                    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
                            -D OUTPUT=${source} -D HEADER=${header} -P ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quadrille)
  quadrille_add_folder(build_id ${source})
  add_dependencies(quadrille_build_id quadrille_find_build_id)
endfunction()

# One source, many instruction sets: what each is called, its register bytes and its compiler options.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(QUADRILLE_KERNEL_ISAS "generic;avx2;avx512" CACHE STRING "Instruction sets that CPU kernels are built for")
else()
  set(QUADRILLE_KERNEL_ISAS "generic" CACHE STRING "Instruction sets that CPU kernels are built for")
endif()
set(quadrille_isa_bytes_generic 16)
set(quadrille_isa_bytes_avx2 32)
set(quadrille_isa_bytes_avx512 64)
set(quadrille_isa_options_generic "")
set(quadrille_isa_options_avx2 -mavx2 -mfma)
set(quadrille_isa_options_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512)
if(NOT "generic" IN_LIST QUADRILLE_KERNEL_ISAS)
  message(FATAL_ERROR "QUADRILLE_KERNEL_ISAS=${QUADRILLE_KERNEL_ISAS} must name generic, which every CPU runs")
endif()

# quadrille_write_table(FILE COMMENT MACRO ROW...): a header with a macro that calls its first argument X for each row, with
# the rest of its arguments behind.
function(quadrille_write_table file comment macro)
  set(line "#define ${macro}(X, ...)")
  foreach(row ${ARGN})
    string(APPEND line " X(${row} __VA_OPT__(, ) __VA_ARGS__)")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${file} CONTENT "// Made by CMake: ${comment}\n#pragma once\n\n${line}\n")
endfunction()
quadrille_write_table(core/simd/built_isas.h "the instruction sets that CPU kernels are built for."
                      QUADRILLE_BUILT_ISAS ${QUADRILLE_KERNEL_ISAS})

# Backends, in rising order of preference, and those of them that this build has.
set(quadrille_backends cpu)
set(quadrille_absent_backends cuda)
if(quadrille_use_cuda)
  list(APPEND quadrille_backends ${quadrille_absent_backends})
  set(quadrille_absent_backends "")
endif()
quadrille_write_table(core/backend/built_backends.h "the backends of this build." QUADRILLE_BUILT_BACKENDS
                      ${quadrille_backends})
quadrille_write_table(core/backend/absent_backends.h "the backends that this build lacks." QUADRILLE_ABSENT_BACKENDS
                      ${quadrille_absent_backends})

# quadrille_add_kernels(NAME SOURCE...): the sources as object libraries quadrille_NAME_ISA, one for each instruction set.
function(quadrille_add_kernels name)
  foreach(isa ${QUADRILLE_KERNEL_ISAS})
    quadrille_add_objects(${name}_${isa} ${ARGN})
    target_compile_definitions(quadrille_${name}_${isa} PRIVATE QUADRILLE_ISA=${isa}
                               QUADRILLE_ISA_BYTES=${quadrille_isa_bytes_${isa}})
    # Vectors wider than the baseline's registers are passed by value between inlined functions only; g++ 12 takes the
    # undefined operand inside its own AVX-512 intrinsics for an uninitialized variable.
    target_compile_options(quadrille_${name}_${isa} PRIVATE ${quadrille_isa_options_${isa}} -Wno-psabi
                           -Wno-uninitialized -Wno-maybe-uninitialized)
  endforeach()
endfunction()

# quadrille_with_eigen(SOURCE...): these, and no others, include Eigen.
function(quadrille_with_eigen)
  find_path(QUADRILLE_EIGEN_INCLUDE unsupported/Eigen/NonLinearOptimization PATH_SUFFIXES eigen3 REQUIRED)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS "-isystem;${QUADRILLE_EIGEN_INCLUDE}" SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# quadrille_without_contraction(SOURCE...): sources whose roundings stay as written (core/accumulators/rounded.h).
function(quadrille_without_contraction)
  foreach(source ${ARGN})
    set(option -ffp-contract=off)
    if(source MATCHES "\\.cu$")
      set(option -fmad=false)
    endif()
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${option})
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS QUADRILLE_NO_CONTRACTION)
  endforeach()
endfunction()

# quadrille_install_wheel(): the component `wheel`, what the Python package holds beside its scripts: the library, the program
# and the scripts of reports, as in an installed tree.
function(quadrille_install_wheel)
  if(NOT SKBUILD)
    return()
  endif()
  install(FILES $<TARGET_FILE:quadrille_shared> DESTINATION quadrille/lib RENAME $<TARGET_SONAME_FILE_NAME:quadrille_shared>
          COMPONENT wheel)
  set_target_properties(quadrille_program PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS quadrille_program DESTINATION quadrille/bin COMPONENT wheel)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/input/report DESTINATION quadrille/share/quadrille COMPONENT wheel
          FILES_MATCHING PATTERN "*.py" PATTERN "*.css")
  file(GLOB scripts ${PROJECT_SOURCE_DIR}/modules/*/report/*.py)
  install(FILES ${scripts} DESTINATION quadrille/share/quadrille/module_reports COMPONENT wheel)
  if(quadrille_use_mpi)
    install(TARGETS quadrille_ranks DESTINATION quadrille/lib COMPONENT wheel)
  endif()
endfunction()
