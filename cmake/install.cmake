# One layout everywhere: <prefix>[/hopper_gemm]/{lib,include,lib/cmake/hopper_gemm}, and the extension beside lib.
include(CMakePackageConfigHelpers)
if(HG_PYTHON)
  set(HG_PREFIX hopper_gemm/)
  install(TARGETS _C LIBRARY DESTINATION hopper_gemm)
else()
  set(HG_PREFIX "")
endif()

install(FILES include/hopper_gemm.h DESTINATION ${HG_PREFIX}include)
install(DIRECTORY include/hopper_gemm DESTINATION ${HG_PREFIX}include)
if(HG_LIBRARY)
  install(FILES ${HG_PACKAGE_DIR}/lib/libhopper_gemm.so DESTINATION ${HG_PREFIX}lib)
else()
  install(TARGETS hopper_gemm LIBRARY DESTINATION ${HG_PREFIX}lib)
endif()

# Written by hand rather than exported: the same file serves a library compiled here and one carried here.
configure_package_config_file(cmake/hopper_gemm-config.cmake.in ${CMAKE_BINARY_DIR}/hopper_gemm-config.cmake
  INSTALL_DESTINATION ${HG_PREFIX}lib/cmake/hopper_gemm)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hopper_gemm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hopper_gemm-config.cmake ${CMAKE_BINARY_DIR}/hopper_gemm-config-version.cmake
  DESTINATION ${HG_PREFIX}lib/cmake/hopper_gemm)

if(HG_INPLACE)
  if(NOT HG_PYTHON)
    message(FATAL_ERROR "HG_INPLACE installs the Python package: it needs HG_PYTHON=ON")
  endif()
  add_custom_target(inplace ALL COMMAND ${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${CMAKE_SOURCE_DIR} -P cmake_install.cmake VERBATIM)
  add_dependencies(inplace _C)
  if(TARGET hg_table)
    add_dependencies(inplace hg_table)
  endif()
endif()
