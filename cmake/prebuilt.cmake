# HG_LIBRARY: a libhopper_gemm.so carried from another machine. It depends on neither Python nor torch.
if(NOT EXISTS ${HG_LIBRARY})
  message(FATAL_ERROR "HG_LIBRARY=${HG_LIBRARY} does not exist")
endif()
message(STATUS "hopper_gemm: using the kernels of ${HG_LIBRARY}")
file(MAKE_DIRECTORY ${HG_PACKAGE_DIR}/lib)
file(COPY_FILE ${HG_LIBRARY} ${HG_PACKAGE_DIR}/lib/libhopper_gemm.so ONLY_IF_DIFFERENT)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HG_LIBRARY})
add_library(hopper_gemm SHARED IMPORTED)
set_target_properties(hopper_gemm PROPERTIES
  IMPORTED_LOCATION ${HG_PACKAGE_DIR}/lib/libhopper_gemm.so
  INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/include
  INTERFACE_COMPILE_FEATURES cxx_std_20)
