# Finds nvcc once and enables CUDA; sets HG_WITH_CUDA. Order: CUDACXX, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, wheels.
# check_language(CUDA) is not used: it turns a broken nvcc silently into "no CUDA"; enable_language is loud.
set(HG_CUDA_ROOT /usr/local/cuda CACHE PATH "Where a toolkit lies that neither the environment nor PATH names")
set(HG_WITH_CUDA OFF)
if(NOT HG_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HG_CUDA=${HG_CUDA}: it is AUTO, ON or OFF")
endif()
if(CMAKE_CUDA_ARCHITECTURES AND NOT CMAKE_CUDA_ARCHITECTURES STREQUAL "90a-real")
  message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: the kernels use instructions that only sm_90a (Hopper) "
                      "has, and are built for it alone. Leave the option away.")
endif()
if(HG_CUDA STREQUAL "OFF")
  message(STATUS "hopper_gemm: HG_CUDA=OFF, building the emulator only")
  return()
endif()

# The wheels lay nvcc out as nvcc.profile does not expect (lib instead of lib64, no libcudart.so): a folder of links does.
function(hg_link_wheels out)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/nvcc_wheels.py ${CMAKE_BINARY_DIR}/nvcc_wheels
    OUTPUT_VARIABLE nvcc OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${out} "${nvcc}" PARENT_SCOPE)
endfunction()

if(CMAKE_CUDA_COMPILER)
  set(HG_NVCC ${CMAKE_CUDA_COMPILER})
elseif(DEFINED ENV{CUDACXX} AND NOT "$ENV{CUDACXX}" STREQUAL "")
  set(HG_NVCC $ENV{CUDACXX})
else()
  find_program(HG_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin NO_DEFAULT_PATH NO_CACHE)
  find_program(HG_NVCC nvcc PATHS ENV PATH ${HG_CUDA_ROOT}/bin NO_DEFAULT_PATH NO_CACHE)
  if(NOT HG_NVCC)
    hg_link_wheels(HG_NVCC)
  endif()
endif()

if(NOT HG_NVCC)
  if(HG_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HG_CUDA=ON but nvcc was not found. Set CUDACXX=<path of nvcc> or CUDA_HOME, put nvcc on PATH, or "
                        "pip install nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 "
                        "nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85")
  endif()
  message(WARNING "hopper_gemm: nvcc was not found (CUDACXX, CUDA_HOME, PATH): building the emulator only")
  return()
endif()

# SASS for sm_90a alone ("90a" without -real would embed PTX too).
set(CMAKE_CUDA_ARCHITECTURES 90a-real)
set(CMAKE_CUDA_COMPILER ${HG_NVCC} CACHE FILEPATH "nvcc")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
  message(FATAL_ERROR "hopper_gemm: nvcc ${CMAKE_CUDA_COMPILER_VERSION} is too old: 13 is supported, 12.4 is the oldest accepted")
elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
  message(WARNING "hopper_gemm: nvcc ${CMAKE_CUDA_COMPILER_VERSION} is accepted but untested: 13 is supported")
endif()
find_package(CUDAToolkit REQUIRED)
set(HG_WITH_CUDA ON)
message(STATUS "hopper_gemm: compiling kernels with ${HG_NVCC} (${CMAKE_CUDA_COMPILER_VERSION})")
