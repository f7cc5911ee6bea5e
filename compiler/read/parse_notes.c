/* parse_notes.c - reads a model's annotations: device configurations, shards, quantisation. None affects a result, and
 * only --strict makes mistakes in them errors. */
#include "base/options.h"
#include "ir/ops.h"
#include "read/parse.h"

/* ---- scales: quantization_annotation ----------------------------------------------------------------------------- */

static void want_value(const Graph *g, Name n, const Path *p)
{
    if (!find_value(g, n))
        warn_pedantic(path_text(p), "QNT-02", "there is no value '%s'", printable(n));
}

void read_annotations(const Graph *g, const Wire *w, const Path *p)
{
    EACH_MESSAGE (onnx_TensorAnnotation, note, q, w, p, "quantization_annotation") {
        want_value(g, wire_name(&note.tensor_name), q);
        const Wire *const names = &note.quant_parameter_tensor_names;
        EACH_MESSAGE (onnx_StringStringEntryProto, entry, r, names, q, "quant_parameter_tensor_names")
            want_value(g, wire_name(&entry.value), r);
    }
}

/* ---- devices: configuration -------------------------------------------------------------------------------------- */

static const struct Devices *find_devices(const Model *m, Name n)
{
    EACH_AT (d, m->devices)
        if (d->name == n)
            return d;
    return NULL;
}

void read_devices(Model *m, const Wire *w)
{
    if (!opt()->strict)
        return;
    EACH_MESSAGE (onnx_DeviceConfigurationProto, proto, p, w, NULL, "configuration") {
        struct Devices d = {wire_name(&proto.name), wire_int(&proto.num_devices)};
        if (!d.name->n)
            error_path(p, "DEV-01", "the configuration has no name");
        else if (find_devices(m, d.name))
            error_path(p, "DEV-01", "two configurations are named '%s'", printable(d.name));
        if (d.n < 1)
            error_path(p, "DEV-01", "the configuration has %lld devices", (long long)d.n);
        else if (proto.device.n && proto.device.n != d.n)
            error_path(p, "DEV-01", "the configuration has %lld devices, but names %d", (long long)d.n, proto.device.n);
        vec_push(&m->devices, d);
    }
}

/* ---- shards: device_configurations ------------------------------------------------------------------------------- */

/* The input or output of n with this name; NULL: none. */
static const Value *value_at(const Node *n, Name wanted)
{
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const Value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (v && v->name == wanted)
            return v;
    }
    return NULL;
}

static void check_axis(const Value *v, Span s, const Path *p)
{
    onnx_ShardedDimProto proto = {0};
    if (!wire_read(onnx_ShardedDimProto_fields, s, &proto, p))
        return;
    int64_t axis = wire_int(&proto.axis);
    int rank = v->data ? v->data->rank : v->desc && v->desc->form == TENSOR ? v->desc->shape.rank : -1;
    if (!wire_has(&proto.axis))
        error_path(p, "DEV-04", "the axis is missing");
    else if (rank >= 0 && (axis < -rank || axis >= rank))
        error_path(p, "DEV-04", "axis %lld of '%s' is outside [%d, %d]", (long long)axis, printable(v->name), -rank,
                   rank - 1);
    EACH_MESSAGE (onnx_SimpleShardedDimProto, part, q, &proto.simple_sharding, p, "simple_sharding")
        if (wire_int(&part.num_shards) < 1)
            error_path(q, "DEV-04", "'%s' is cut into %lld shards", printable(v->name),
                       (long long)wire_int(&part.num_shards));
}

/* Checks a device: an index of the configuration, or the key of a group of devices. */
static void check_device(const struct Devices *d, int64_t device, const int64_t *groups, int n, const Path *p)
{
    for (int i = 0; i < n; i++)
        if (groups[i] == device)
            return;
    if (d && (device < 0 || device >= d->n))
        error_path(p, "DEV-03", "device %lld is none of the %lld of '%s'", (long long)device, (long long)d->n,
                   printable(d->name));
}

static void check_list(const struct Devices *d, Span s, const int64_t *groups, int n, const Path *p)
{
    if (wire_varints(s) < 0)
        error_path(p, "PB-03", "malformed numbers in a list of devices");
    else
        while (s.n)
            check_device(d, (int64_t)wire_next(&s), groups, n, p);
}

static void check_spec(const Node *n, const struct Devices *d, Span s, const Path *p)
{
    onnx_ShardingSpecProto spec = {0};
    if (!wire_read(onnx_ShardingSpecProto_fields, s, &spec, p))
        return;
    const Value *v = value_at(n, wire_name(&spec.tensor_name));
    if (!v)
        error_path(p, "DEV-03", "'%s' is no input or output of the node", printable(wire_name(&spec.tensor_name)));
    int64_t *groups = NEWS(int64_t, spec.index_to_device_group_map.n + 1);
    const Wire *const map = &spec.index_to_device_group_map;
    EACH_MESSAGE (onnx_IntIntListEntryProto, entry, q, map, p, "index_to_device_group_map") {
        groups[q->i] = wire_int(&entry.key);
        check_list(d, entry.value.s, NULL, 0, q);
    }
    check_list(d, spec.device.s, groups, spec.index_to_device_group_map.n, p);
    for (int i = 0; v && i < spec.sharded_dim.n; i++)
        check_axis(v, spec.sharded_dim.list[i], AT(p, "sharded_dim", i));
}

static void check_placement(const Node *n, Span s, const Path *p)
{
    onnx_NodeDeviceConfigurationProto proto = {0};
    if (!wire_read(onnx_NodeDeviceConfigurationProto_fields, s, &proto, p))
        return;
    const struct Devices *d = find_devices(n->graph->model, wire_name(&proto.configuration_id));
    if (!d)
        error_path(p, "DEV-02", "there is no configuration '%s'", printable(wire_name(&proto.configuration_id)));
    for (int i = 0; i < proto.sharding_spec.n; i++)
        check_spec(n, d, proto.sharding_spec.list[i], AT(p, "sharding_spec", i));
}

void read_placements(const Graph *g, const Wire *w, const Path *p)
{
    if (!opt()->strict || g->model->ir_version < 11)
        return;
    for (const Node *n = g->first; n; n = n->next) {
        onnx_NodeProto proto = {0};
        int i = n->source->index;
        Path q = {p, "node", i, NULL, n};
        if (wire_read(onnx_NodeProto_fields, w->list[i], &proto, &q))
            for (int k = 0; k < proto.device_configurations.n; k++)
                check_placement(n, proto.device_configurations.list[k], AT(&q, "device_configurations", k));
    }
}
