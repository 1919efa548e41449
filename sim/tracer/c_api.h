#pragma once

#include <stddef.h>

/// C interface of the graph recorder, called from Python through ctypes. No state outside the
/// handle.

#ifdef __cplusplus
extern "C" {
#endif

/// One recording; not for use from two threads at a time.
struct DrydockTrace;

/// Version of this interface; the Python side refuses any other.
unsigned drydock_trace_version(void);

/// New recording, null if memory is exhausted. Free it with drydock_trace_close.
struct DrydockTrace* drydock_trace_open(void);

/// Frees a recording; null is allowed.
void drydock_trace_close(struct DrydockTrace* trace);

/// Answers one request (methods and fields: sim/tracer/trace_session.h).
///
/// @param method   name of the method, NUL-terminated
/// @param request  JSON object of `length` bytes; may be null if length is 0
/// @return JSON object, NUL-terminated, valid until the next call with this handle; never null
const char* drydock_trace_call(struct DrydockTrace* trace, const char* method, const char* request,
                               size_t length);

#ifdef __cplusplus
}  // extern "C"
#endif
