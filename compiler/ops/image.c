/* image.c - ImageDecoder. */
#include "ir/call.h"
#include "image.h"

static int format(Node *n)
{
    static const char *const names[] = {[IMAGE_RGB] = "RGB", [IMAGE_BGR] = "BGR", [IMAGE_GRAY] = "Grayscale", NULL};
    return attr_choice(n, "pixel_format", names);
}

static void image_infer(Node *n)
{
    if (in_shape(n, 0).rank != 1)
        node_error(n, "the file is %s instead of a list of bytes", shape_text(in_shape(n, 0)));
    else if (format(n) >= 0) {
        Dim height = reported_size(n, 0, "height", D(INT64_MAX)); /* size 0: call it first */
        Dim width = reported_size(n, 1, "width", D(INT64_MAX));
        set_out(n, 0, U8, shape_list(3, height, width, D(format(n) == IMAGE_GRAY ? 1 : 3)));
    }
}

static void image_bind(Node *n)
{
    Shape y = *out(n, 0)->shape;
    Dim width = reported_room(y.dim[1]);
    BIND(n, image_decode, .n = in_shape(n, 0).dim[0], .max_height = reported_room(y.dim[0]), .max_width = width,
         .format = D(format(n)));
    bind_scratch(n, dim_add(D(IMAGE_SCRATCH), dim_mul(width, D(16))));
    bind_reported(n);
}

static const Op image_ops[] = {
    {"ImageDecoder", 20, "encoded_stream:uint8 -> image:uint8", "", "pixel_format:string=RGB", .infer = image_infer,
     .bind = image_bind, .flags = NOFOLD | STOPS, .limit = "JPEG, WebP, TIFF and JPEG 2000 need libraries"},
};
OPS(image_ops);
