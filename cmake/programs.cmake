# What gets installed and run: the graph recorder for Python, and the commands.

# The Python stand-in loads this library through ctypes; the operator table is linked whole.
if(EXISTS ${PROJECT_SOURCE_DIR}/reports/trace_library.cc)
  add_library(drydock_trace SHARED reports/trace_library.cc)
  target_link_libraries(drydock_trace PRIVATE drydock_options drydock::reports drydock::tracer drydock::strategies)
  target_link_options(drydock_trace PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
  set_target_properties(drydock_trace PROPERTIES CXX_VISIBILITY_PRESET default)
endif()

# The build folder has the layout of an installation (bin, lib/drydock, share/drydock), so that the
# program finds its files from its own place in both and knows no path of the build machine.
if(TARGET drydock_trace)
  set_target_properties(drydock_trace PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/drydock)
  install(TARGETS drydock_trace LIBRARY DESTINATION lib/drydock)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/sim/tracer/python)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/drydock)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sim/tracer/python ${PROJECT_BINARY_DIR}/share/drydock/python
       SYMBOLIC)
  install(DIRECTORY sim/tracer/python DESTINATION share/drydock PATTERN __pycache__ EXCLUDE)
  # Bytecode for the interpreter of this machine; others keep theirs in the user's cache folder.
  find_program(DRYDOCK_SCRIPT_PYTHON python3)
  if(DRYDOCK_SCRIPT_PYTHON)
    install(CODE "set(root \"\$ENV{DESTDIR}\")
      set(strip)
      if(root)
        set(strip -s \"\${root}\" -p /)
      endif()
      execute_process(COMMAND ${DRYDOCK_SCRIPT_PYTHON} -m compileall -q --invalidation-mode unchecked-hash
        \${strip} \"\${root}\${CMAKE_INSTALL_PREFIX}/share/drydock/python\" OUTPUT_QUIET ERROR_QUIET)")
  endif()
endif()

# Hardware profiles of simulation level 3.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/drydock)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sim/timing/hardware ${PROJECT_BINARY_DIR}/share/drydock/hardware SYMBOLIC)
install(DIRECTORY sim/timing/hardware DESTINATION share/drydock)

# One program; called msrun it is msrun.
if(EXISTS ${PROJECT_SOURCE_DIR}/launcher/main.cc)
  add_executable(drydock launcher/main.cc)
  target_link_libraries(drydock PRIVATE drydock_options drydock::launcher)
  drydock_allocator(drydock)
  set_target_properties(drydock PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(TARGET drydock_trace)
    add_dependencies(drydock drydock_trace)
  endif()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  file(CREATE_LINK drydock ${PROJECT_BINARY_DIR}/bin/msrun SYMBOLIC)
  install(TARGETS drydock RUNTIME DESTINATION bin)
  install(FILES ${PROJECT_BINARY_DIR}/bin/msrun DESTINATION bin)
endif()
