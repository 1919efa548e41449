# What gets installed and run: the graph recorder for Python, and the commands.

# The Python stand-in loads this library through ctypes; the operator table is linked whole.
if(EXISTS ${PROJECT_SOURCE_DIR}/sim/tracer/c_api.cc)
  add_library(drydock_trace SHARED sim/tracer/c_api.cc)
  target_link_libraries(drydock_trace PRIVATE drydock_options drydock::tracer drydock::strategies)
  target_link_options(drydock_trace PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
  set_target_properties(drydock_trace PROPERTIES CXX_VISIBILITY_PRESET default)
endif()
