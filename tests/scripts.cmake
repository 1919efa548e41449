# Tests that are no GoogleTest program: checks of the tree, Python tests, whole-command tests.

# Debian's interpreter first: it is the one that the packages of cmake/packages.txt belong to.
find_program(DRYDOCK_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(DRYDOCK_PYTHON NAMES python3 python REQUIRED)

# Python tests: every <name>_test.py below is one test, run by tools/run_unittest.py (exit status 77
# = skipped). They find the tree in DRYDOCK_SOURCE_DIR, the build folder in DRYDOCK_BUILD_DIR and the
# library that the stand-in package loads in DRYDOCK_TRACE_LIBRARY.
set(environment DRYDOCK_SOURCE_DIR=${PROJECT_SOURCE_DIR} DRYDOCK_BUILD_DIR=${PROJECT_BINARY_DIR})
if(TARGET drydock_trace)
  list(APPEND environment DRYDOCK_TRACE_LIBRARY=$<TARGET_FILE:drydock_trace>)
endif()
if(DRYDOCK_TRACE_PRELOAD)
  list(APPEND environment "DRYDOCK_TRACE_PRELOAD=${DRYDOCK_TRACE_PRELOAD}")
endif()
function(drydock_python_tests label)
  file(GLOB scripts CONFIGURE_DEPENDS ${ARGN})
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME ${label}.${name}
      COMMAND ${DRYDOCK_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/run_unittest.py ${script})
    set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 1500
      ENVIRONMENT "${environment}")
  endforeach()
endfunction()
drydock_python_tests(tools tools/*_test.py)
drydock_python_tests(tracer sim/tracer/python/*_test.py)
drydock_python_tests(e2e e2e/*_test.py)
if(NOT DRYDOCK_SANITIZE)
  # Numbers, not memory; many runs of the program.
  drydock_python_tests(truth reference/*_test.py)
  set_tests_properties(truth.recorded_truth_test PROPERTIES PROCESSORS 2)
endif()

# Checks of the tree: every tools/check_<what>.py is one test.
file(GLOB checks CONFIGURE_DEPENDS tools/check_*.py)
list(FILTER checks EXCLUDE REGEX "_test\\.py$")
foreach(check ${checks})
  get_filename_component(name ${check} NAME_WE)
  string(REGEX REPLACE "^check_" "check." name ${name})
  add_test(NAME ${name} COMMAND ${DRYDOCK_PYTHON} -B ${check} ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS check SKIP_RETURN_CODE 77 TIMEOUT 120)
endforeach()
