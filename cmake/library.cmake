# libhopper_gemm: generated kernels for the GPU and the emulator, the registry and the launch path.
file(GLOB HG_EMULATOR_FILES CONFIGURE_DEPENDS csrc/emulator/*.cpp)
if(HG_EMULATOR AND NOT HG_EMULATOR_FILES)
  message(WARNING "hopper_gemm: csrc/emulator has no sources: building without the emulator")
  set(HG_EMULATOR OFF)
endif()
if(NOT HG_EMULATOR AND NOT HG_WITH_CUDA)
  message(FATAL_ERROR "hopper_gemm: neither nvcc nor the emulator: no kernel could run")
endif()

# --- generated sources
set(HG_GENERATED ${CMAKE_BINARY_DIR}/generated)
set(generator ${CMAKE_SOURCE_DIR}/csrc/instantiations/generate.py)
set(manifest ${CMAKE_SOURCE_DIR}/hopper_gemm/manifest.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${generator} ${manifest} ${CMAKE_SOURCE_DIR}/hopper_gemm/row.py)
set(arguments --out ${HG_GENERATED} --manifest ${manifest})
foreach(pair "HG_KERNELS;--kernels" "HG_MANIFESTS;--manifests")
  list(GET pair 0 variable)
  list(GET pair 1 flag)
  if(NOT "${${variable}}" STREQUAL "")
    list(APPEND arguments "${flag}=${${variable}}")
  endif()
endforeach()
if(HG_WITH_CUDA)
  list(APPEND arguments --cuda)
endif()
if(HG_EMULATOR)
  list(APPEND arguments --emulator)
endif()
if(HG_WATCHDOG)
  list(APPEND arguments --watchdog)
endif()
execute_process(COMMAND ${Python_EXECUTABLE} ${generator} ${arguments} COMMAND_ERROR_IS_FATAL ANY)
include(${HG_GENERATED}/sources.cmake)

# What was built: a hash of the sources, renewed by every build.
set(HG_BUILD_INFO ${CMAKE_BINARY_DIR}/build_info.cpp)
add_custom_target(hg_build_info
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/sources_hash.py --cpp ${HG_BUILD_INFO}
  BYPRODUCTS ${HG_BUILD_INFO} VERBATIM)

# --- the launch path
file(GLOB dispatch CONFIGURE_DEPENDS csrc/dispatch/*.cpp)
if(HG_WITH_CUDA)
  list(FILTER dispatch EXCLUDE REGEX "no_gpu\\.cpp$")
else()
  list(FILTER dispatch EXCLUDE REGEX "/gpu_[a-z_]*\\.cpp$")
endif()
if(HG_EMULATOR)
  list(FILTER dispatch EXCLUDE REGEX "no_emulator\\.cpp$")
endif()
add_library(hopper_gemm SHARED ${dispatch} ${HG_GENERATED}/registry.cpp ${HG_BUILD_INFO})
add_dependencies(hopper_gemm hg_build_info)
add_library(hopper_gemm::hopper_gemm ALIAS hopper_gemm)
target_include_directories(hopper_gemm PUBLIC include PRIVATE csrc/dispatch)
target_compile_features(hopper_gemm PUBLIC cxx_std_20)
set_target_properties(hopper_gemm PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HG_PACKAGE_DIR}/lib)
target_link_options(hopper_gemm PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)

# --- kernels for the GPU
if(HG_WITH_CUDA)
  add_library(hg_compiled OBJECT ${HG_CUDA_SOURCES} csrc/instantiations/pack_compiled.cu csrc/instantiations/add_slices_compiled.cu)
  target_include_directories(hg_compiled PRIVATE include csrc/dispatch)
  target_compile_options(hg_compiled PRIVATE --expt-relaxed-constexpr -Xptxas=-v -Xcompiler=-Wall)
  if(HG_WATCHDOG)
    target_compile_definitions(hg_compiled PRIVATE HG_WATCHDOG)
  endif()
  set(launcher ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/ptxas_gate.py ${HG_CCACHE_COMMAND})
  set_target_properties(hg_compiled PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
  target_link_libraries(hopper_gemm PRIVATE $<BUILD_LOCAL_INTERFACE:hg_compiled> CUDA::cudart_static)
  target_sources(hopper_gemm PRIVATE $<TARGET_OBJECTS:hg_compiled>)
endif()

# --- kernels for the emulator: never in one translation unit with code for the GPU
if(HG_EMULATOR)
  # -fno-strict-aliasing: emulated shared memory is bytes that every instruction reads as its own type.
  set(HG_EMULATED_OPTIONS -O2 -fno-strict-aliasing)
  add_library(hg_emulator OBJECT ${HG_EMULATOR_FILES})
  add_library(hg_emulated OBJECT ${HG_EMULATED_SOURCES} csrc/instantiations/pack_emulated.cpp csrc/instantiations/add_slices_emulated.cpp)
  foreach(objects hg_emulator hg_emulated)
    target_include_directories(${objects} PRIVATE include csrc/emulator csrc/dispatch)
    target_compile_definitions(${objects} PRIVATE HG_EMULATE)
    target_compile_options(${objects} PRIVATE ${HG_EMULATED_OPTIONS})
    target_sources(hopper_gemm PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endif()

# --- the table of kernels beside the library: registers and spills from ptxas, the rest from the configs
if(HG_WITH_CUDA)
  add_executable(hg_kernel_table tools/kernel_table.cpp)
  target_link_libraries(hg_kernel_table PRIVATE hopper_gemm)
  set_target_properties(hg_kernel_table PROPERTIES BUILD_RPATH ${HG_PACKAGE_DIR}/lib BUILD_WITH_INSTALL_RPATH OFF)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/kernels.csv
    COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/kernel_table.py $<TARGET_FILE:hg_kernel_table>
            ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/kernels.csv
    DEPENDS hg_kernel_table hopper_gemm ${CMAKE_SOURCE_DIR}/tools/kernel_table.py VERBATIM)
  add_custom_target(hg_table ALL DEPENDS ${CMAKE_BINARY_DIR}/kernels.csv)
endif()
