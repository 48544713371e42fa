# hopper_gemm._C: the torch extension, host C++ only. find_package(Torch) is avoided: a CUDA torch would override the
# architectures and demand a toolkit; torch is asked where its headers and libraries are instead.
execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/ask_torch.py
  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET answer 0 HG_TORCH_VERSION)
list(GET answer 1 torch_abi)
list(GET answer 2 torch_lib_dir)
list(SUBLIST answer 3 -1 torch_include_dirs)
message(STATUS "hopper_gemm: extension for torch ${HG_TORCH_VERSION}, Python ${Python_VERSION}")

file(GLOB bindings CONFIGURE_DEPENDS csrc/bindings/*.cpp)
Python_add_library(_C MODULE WITH_SOABI ${bindings})
target_include_directories(_C PRIVATE csrc/dispatch)
target_include_directories(_C SYSTEM PRIVATE ${torch_include_dirs})
target_compile_definitions(_C PRIVATE TORCH_EXTENSION_NAME=_C _GLIBCXX_USE_CXX11_ABI=${torch_abi}
                                        HG_TORCH_VERSION="${HG_TORCH_VERSION}")
target_compile_options(_C PRIVATE -fvisibility=hidden)
target_link_libraries(_C PRIVATE hopper_gemm)
# torch is loaded before the extension, so no RPATH to it: the package may be moved to another environment.
foreach(library torch torch_cpu c10 torch_python)
  target_link_libraries(_C PRIVATE ${torch_lib_dir}/lib${library}.so)
endforeach()
target_link_options(_C PRIVATE LINKER:--exclude-libs,ALL)
set_target_properties(_C PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HG_PACKAGE_DIR} INSTALL_RPATH "$ORIGIN/lib")
