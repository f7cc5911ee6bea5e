/* library.c - the library's interface (libonnxcc.h): a call is one session, on a thread and a stack of its own. */
#include "libonnxcc.h"

#include "arguments.h"
#include "base/output.h"
#include "base/process.h"
#include "compile.h"
#include "read/read.h"

#define API __attribute__((visibility("default")))

_Static_assert((int)SAY_ERROR == ONNXCC_ERROR && (int)SAY_WARNING == ONNXCC_WARNING && (int)SAY_HELP == ONNXCC_HELP &&
                   (int)SAY_BUG == ONNXCC_INTERNAL_ERROR && (int)SAY_USAGE == ONNXCC_OPTION_ERROR &&
                   (int)SAY_NOTE == ONNXCC_NOTE,
               "the severities are in one order");

static void tell(const Message *m, void *request)
{
    const OnnxccRequest *const r = request;
    if (r->message)
        r->message(r->user, &(OnnxccMessage){(OnnxccSeverity)m->severity, m->code, m->place, m->text});
}

static void give(const char *file, const void *bytes, size_t n, void *request)
{
    const OnnxccRequest *const r = request;
    if (r->file)
        r->file(r->user, file, bytes, n);
}

static void compile(void *request)
{
    static const char *const none[] = {NULL};
    const OnnxccRequest *const r = request;
    const char *const model = r->name && *r->name ? r->name : "model.onnx";
    say_to(tell, request);
    output_to(give, request);
    opt()->model = model;
    read_arguments(r->options ? r->options : none, BY_LIBRARY);
    write_model(parse_bytes(model, r->model, r->model_size, r->folder));
}

API int onnxcc_compile(const OnnxccRequest *request)
{
    OnnxccRequest r = *request;
    const int code = process_run(compile, &r, false);
    if (code < 0)
        tell(&(Message){SAY_ERROR, "SYS-02", "", NO_MEMORY_FOR_RUN, ""}, &r);
    return code < 0 ? ONNXCC_IO : code;
}

API const char *onnxcc_version(void) { return ONNXCC_VERSION; }
