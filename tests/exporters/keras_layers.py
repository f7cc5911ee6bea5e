"""Keras' layers and small forms of its networks, by its own export, with PyTorch as Keras' backend."""
import contextlib
import io
import os
import pathlib
import tempfile

os.environ["KERAS_BACKEND"] = "torch"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from keras import applications, layers  # noqa: E402

from bytorch import SUMS  # noqa: E402

L = layers
IMAGE, SEQUENCE, VECTOR = (12, 10, 4), (7, 6), (8,)
# name, layer or layers, shape of the input without the batch
LAYERS = [
    ("dense", lambda: L.Dense(5, activation="relu"), VECTOR), ("dense_gelu", lambda: L.Dense(5, activation="gelu"), VECTOR),
    ("dense_sequence", lambda: L.Dense(5, activation="softmax"), SEQUENCE),
    ("conv_1d", lambda: L.Conv1D(5, 3, padding="causal", dilation_rate=2), SEQUENCE),
    ("conv_1d_same", lambda: L.Conv1D(5, 4, padding="same", strides=2), SEQUENCE),
    ("conv", lambda: L.Conv2D(5, 3), IMAGE), ("conv_same", lambda: L.Conv2D(6, 3, strides=2, padding="same", groups=2), IMAGE),
    ("conv_dilated", lambda: L.Conv2D(5, 3, dilation_rate=2, padding="same"), IMAGE),
    ("conv_depthwise", lambda: L.DepthwiseConv2D(3, padding="same", depth_multiplier=2), IMAGE),
    ("conv_separable", lambda: L.SeparableConv2D(5, 3, padding="same"), IMAGE),
    ("conv_transpose", lambda: L.Conv2DTranspose(5, 3, strides=2, padding="same"), IMAGE),
    ("conv_transpose_1d", lambda: L.Conv1DTranspose(5, 4, strides=2), SEQUENCE), ("conv_3d", lambda: L.Conv3D(3, 2, padding="same"), (5, 6, 7, 2)),
    ("max_pool", lambda: L.MaxPooling2D(3, strides=2, padding="same"), IMAGE), ("average_pool", lambda: L.AveragePooling2D(2, padding="same"), IMAGE),
    ("max_pool_1d", lambda: L.MaxPooling1D(3), SEQUENCE), ("average_pool_1d", lambda: L.AveragePooling1D(2, padding="same"), SEQUENCE),
    ("global_max", lambda: L.GlobalMaxPooling2D(), IMAGE), ("global_average", lambda: L.GlobalAveragePooling1D(keepdims=True), SEQUENCE),
    ("batch_norm", lambda: L.BatchNormalization(), IMAGE), ("layer_norm", lambda: L.LayerNormalization(), SEQUENCE),
    ("group_norm", lambda: L.GroupNormalization(2), IMAGE), ("rms_norm", lambda: L.RMSNormalization(), SEQUENCE),
    ("unit_norm", lambda: L.UnitNormalization(), SEQUENCE), ("spectral_norm", lambda: L.SpectralNormalization(L.Dense(5)), VECTOR),
    ("lstm", lambda: L.LSTM(5), SEQUENCE), ("lstm_sequences", lambda: L.LSTM(5, return_sequences=True, go_backwards=True), SEQUENCE),
    ("gru", lambda: L.GRU(5, return_sequences=True), SEQUENCE), ("gru_before", lambda: L.GRU(5, reset_after=False), SEQUENCE),
    ("rnn", lambda: L.SimpleRNN(5), SEQUENCE), ("bidirectional", lambda: L.Bidirectional(L.LSTM(4, return_sequences=True)), SEQUENCE),
    ("conv_lstm", lambda: L.ConvLSTM1D(3, 3, padding="same"), (4, 6, 2)), ("time_distributed", lambda: L.TimeDistributed(L.Dense(3)), SEQUENCE),
    ("prelu", lambda: L.PReLU(shared_axes=[1, 2]), IMAGE), ("leaky_relu", lambda: L.LeakyReLU(.2), VECTOR), ("elu", lambda: L.ELU(.7), VECTOR),
    ("relu_limited", lambda: L.ReLU(max_value=1., negative_slope=.1, threshold=.2), VECTOR), ("softmax", lambda: L.Softmax(axis=1), SEQUENCE),
    ("flatten", lambda: L.Flatten(), IMAGE), ("reshape", lambda: L.Reshape((-1, 8)), IMAGE), ("permute", lambda: L.Permute((2, 1)), SEQUENCE),
    ("repeat", lambda: L.RepeatVector(3), VECTOR),
    ("pad", lambda: L.ZeroPadding2D(((1, 2), (0, 3))), IMAGE),
    ("crop", lambda: L.Cropping2D(((1, 2), (0, 3))), IMAGE),
    ("upsample", lambda: L.UpSampling2D(2), IMAGE), ("upsample_bilinear", lambda: L.UpSampling2D(2, interpolation="bilinear"), IMAGE),
    ("resize", lambda: L.Resizing(9, 15), IMAGE), ("rescale", lambda: L.Rescaling(1 / 127.5, offset=-1), IMAGE),
    ("center_crop", lambda: L.CenterCrop(8, 6), IMAGE),
    ("normalise", lambda: L.Normalization(mean=[.1, .2, .3, .4], variance=[1., 2., 3., 4.]), IMAGE),
    *((f"activation_{a}", lambda a=a: L.Activation(a), VECTOR)
      for a in ("relu6", "sigmoid", "tanh", "selu", "silu", "softplus", "softsign", "hard_sigmoid", "hard_silu", "mish", "exponential", "log_softmax",
                "celu", "glu", "hard_tanh", "hard_shrink", "tanh_shrink", "soft_shrink", "sparse_plus", "squareplus", "sparse_sigmoid", "sparsemax")),
]


def one_layer(layer, shape):
    return keras.Sequential([keras.Input(shape), layer()])


def attention(kind):
    x = keras.Input(SEQUENCE)
    if kind == "grouped":
        y = L.GroupQueryAttention(4, 4, 2)(x, x)
    elif kind == "additive":
        y = L.AdditiveAttention()([x, x])
    elif kind == "dot":
        y = L.Attention(use_scale=True)([x, x])
    else:
        y = L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=kind == "causal")
    return keras.Model(x, y)


def merged():
    x = keras.Input(VECTOR)
    a, b = L.Dense(5)(x), L.Dense(5)(x)
    both = [merge([a, b]) for merge in (L.Add(), L.Subtract(), L.Multiply(), L.Average(), L.Maximum(), L.Minimum(), L.Dot(1))]
    return keras.Model(x, L.Concatenate()(both))


def transformer():
    x = keras.Input(SEQUENCE)
    y = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 4)(x, x)]))
    y = L.LayerNormalization()(L.Add()([y, L.Dense(6)(L.Dense(12, activation="gelu")(y))]))
    return keras.Model(x, L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(y)))


def unet():
    x = keras.Input((16, 16, 3))
    a = L.Conv2D(6, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(12, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
    return keras.Model(x, L.Conv2D(2, 1)(L.Concatenate()([a, L.Conv2DTranspose(6, 2, strides=2)(b)])))


NETWORKS = [(f"attention_{k}", lambda k=k: attention(k)) for k in ("plain", "causal", "grouped", "additive", "dot")] + [
    ("merged", merged), ("transformer", transformer), ("unet", unet),
    ("embedding", lambda: keras.Sequential([keras.Input((7,), dtype="int32"), L.Embedding(20, 4), L.LSTM(3), L.Dense(2)])),
    ("keyword", lambda: keras.Sequential([keras.Input((20, 10, 1)), L.Conv2D(8, (4, 3), strides=2, padding="same"), L.BatchNormalization(), L.ReLU(),
                                          L.DepthwiseConv2D(3, padding="same"), L.BatchNormalization(), L.ReLU(), L.Conv2D(8, 1), L.GlobalAveragePooling2D(),
                                          L.Dense(4, activation="softmax")])),
] + [(name.lower(), lambda n=name, a=arguments: getattr(applications, n)(weights=None, input_shape=(size, size, 3), classes=10, **a))
     for name, size, arguments in (("MobileNet", 32, {"alpha": .25}), ("MobileNetV2", 32, {"alpha": .35}), ("MobileNetV3Small", 32, {"minimalistic": False}),
                                   ("EfficientNetB0", 32, {}), ("EfficientNetV2B0", 32, {}), ("DenseNet121", 32, {}), ("ResNet50", 32, {}),
                                   ("ResNet50V2", 32, {}), ("Xception", 71, {}), ("InceptionV3", 75, {}))]


def batch_of(model, batch):
    """A batch for the model's only input: indices below 20, or floats."""
    (x,) = model.inputs
    rng, shape = np.random.default_rng(5), (batch, *x.shape[1:])
    return rng.integers(0, 20, shape).astype(x.dtype) if "int" in x.dtype else rng.standard_normal(shape).astype(x.dtype)


def export(make, is_open):
    keras.utils.set_random_seed(1)
    model = make()
    (x,) = model.inputs
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = pathlib.Path(folder) / "m.onnx"
        signature = [keras.InputSpec(shape=(None if is_open else 2, *x.shape[1:]), dtype=x.dtype, name="x")]
        model.export(path, format="onnx", verbose=False, input_signature=signature)
        made = onnx.load(path)
    return made, [batch_of(model, 3 if is_open else 2)], SUMS


def models():
    for name, make in [(name, lambda m=make, s=shape: one_layer(m, s)) for name, make, shape in LAYERS] + NETWORKS:
        for is_open in False, True:
            yield f"{name}_{'open' if is_open else 'fixed'}", lambda m=make, o=is_open: export(m, o)
