# Python tests of the stand-in package; they need no package beyond the standard library.
find_program(DRYDOCK_PYTHON NAMES python3)
if(DRYDOCK_PYTHON AND TARGET drydock_trace)
  add_test(NAME tracer_python
    COMMAND ${DRYDOCK_PYTHON} -B -m unittest discover -s ${PROJECT_SOURCE_DIR}/tests/sim/tracer/python -p "*_test.py")
  set_tests_properties(tracer_python PROPERTIES LABELS unit
    ENVIRONMENT "DRYDOCK_TRACE_LIBRARY=$<TARGET_FILE:drydock_trace>")
endif()
