"""Image and sound classifiers written here: MobileNet V1 and V2, ResNet-8, -18 and -50, DS-CNN, an autoencoder.

In the form of exporters in inference mode: batch normalisation is folded into the convolutions, ReLU6 is Clip."""
import numpy as np
from onnx import numpy_helper

from calibrate import calibrate
from common import Net, image, model


class ConvNet(Net):
    """A network whose weights are chosen when it is complete, so that its values stay in range."""

    def __init__(self, name, *shape, **how):
        super().__init__(name, **how)
        self.shapes = {}
        self.shape = shape
        self.input("input", shape)

    def pending(self, name, *shape):
        name = self.fresh(name)
        self.shapes[name] = shape
        return name

    def conv(self, x, channels, filters, kernel, stride=1, group=1, pads=None, act=None):
        """kernel: a number or (h, w); pads: begin h, w, end h, w; act: relu, relu6 or None."""
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        name = self.fresh("conv")
        w, b = self.pending(f"{name}.weight", filters, channels // group, kh, kw), self.pending(f"{name}.bias", filters)
        pads = pads or [kh // 2, kw // 2, kh // 2, kw // 2]
        y = self.op("Conv", x, w, b, name=f"/{name}/Conv", kernel_shape=[kh, kw], strides=[stride, stride], pads=pads,
                    group=group, dilations=[1, 1])
        if act == "relu":
            return self.op("Relu", y, name=f"/{name}/Relu")
        if act == "relu6":
            return self.op("Clip", y, self.bound(0), self.bound(6), name=f"/{name}/Clip")
        return y

    def bound(self, value):
        return self.constant(value, np.float32)

    def dense(self, x, n, m, act=None):
        name = self.fresh("fc")
        y = self.op("Gemm", x, self.pending(f"{name}.weight", m, n), self.pending(f"{name}.bias", m),
                    name=f"/{name}/Gemm", transB=1)
        return self.op("Relu", y, name=f"/{name}/Relu") if act else y

    def pool_and_classify(self, x, channels, classes, softmax=False):
        y = self.op("Flatten", self.op("GlobalAveragePool", x, name="/pool"), name="/flatten", axis=1)
        y = self.dense(y, channels, classes)
        if softmax:
            y = self.op("Softmax", y, name="/softmax", axis=-1)
        self.output(y, [1, classes], name="output")

    def feed(self):
        return image(self.rng, *self.shape) if len(self.shape) == 4 else self.rng.standard_normal(self.shape, np.float32)

    def finish(self):
        """(model, data sets)"""
        m, feed = self.model_unchecked(), self.feed()
        for name, a in calibrate(m, {"input": feed}, self.shapes, self.rng).items():
            m.graph.initializer.append(numpy_helper.from_array(a, name))
        return m, [[feed], [self.feed()]]


def same(size, kernel, stride):
    """TensorFlow's SAME padding of one axis: (begin, end)."""
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return total // 2, total - total // 2


def same_pads(h, w, kh, kw, stride):
    (top, bottom), (left, right) = same(h, kh, stride), same(w, kw, stride)
    return [top, left, bottom, right]


def mobilenet_v2():
    net = ConvNet("mobilenet_v2", 1, 3, 224, 224)
    x, channels = net.conv("input", 3, 32, 3, stride=2, act="relu6"), 32
    for expand, filters, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            wide, y = channels * expand, x
            if expand > 1:
                y = net.conv(y, channels, wide, 1, act="relu6")
            y = net.conv(y, wide, wide, 3, stride=stride if i == 0 else 1, group=wide, act="relu6")
            y = net.conv(y, wide, filters, 1)
            x = net.op("Add", x, y, name="/add") if i else y
            channels = filters
    net.pool_and_classify(net.conv(x, channels, 1280, 1, act="relu6"), 1280, 1000)
    return net.finish()


def mobilenet_v1():
    """Width 0.25, 96 x 96, two classes: MLPerf Tiny's visual wake words."""
    net = ConvNet("mobilenet_v1", 1, 3, 96, 96)
    size, channels = 48, 8
    x = net.conv("input", 3, 8, 3, stride=2, pads=same_pads(96, 96, 3, 3, 2), act="relu")
    for filters, stride in [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]:
        x = net.conv(x, channels, channels, 3, stride=stride, group=channels, pads=same_pads(size, size, 3, 3, stride), act="relu")
        x, channels, size = net.conv(x, channels, filters, 1, act="relu"), filters, size // stride
    net.pool_and_classify(x, channels, 2, softmax=True)
    return net.finish()


def ds_cnn():
    """MLPerf Tiny's keyword spotter: 49 frames of 10 features, twelve words."""
    net = ConvNet("ds_cnn", 1, 1, 49, 10)
    x = net.conv("input", 1, 64, (10, 4), stride=2, pads=same_pads(49, 10, 10, 4, 2), act="relu")
    for _ in range(4):
        x = net.conv(x, 64, 64, 3, group=64, act="relu")
        x = net.conv(x, 64, 64, 1, act="relu")
    x = net.op("AveragePool", x, name="/pool", kernel_shape=[25, 5])
    x = net.dense(net.op("Flatten", x, name="/flatten"), 64, 12)
    net.output(net.op("Softmax", x, name="/softmax", axis=1), [1, 12], name="output")
    return net.finish()


def resnet8():
    """MLPerf Tiny's CIFAR-10 network."""
    net = ConvNet("resnet8", 1, 3, 32, 32)
    x, channels, size = net.conv("input", 3, 16, 3, act="relu"), 16, 32
    for filters in (16, 32, 64):
        stride = 1 if filters == 16 else 2
        y = net.conv(x, channels, filters, 3, stride=stride, pads=same_pads(size, size, 3, 3, stride), act="relu")
        y = net.conv(y, filters, filters, 3)
        if stride == 2:
            x = net.conv(x, channels, filters, 1, stride=2)
        x, channels, size = net.op("Relu", net.op("Add", x, y, name="/add"), name="/relu"), filters, size // stride
    net.pool_and_classify(x, 64, 10, softmax=True)
    return net.finish()


def autoencoder():
    """MLPerf Tiny's anomaly detector: 640 values through a layer of eight and back."""
    net = ConvNet("autoencoder", 1, 640)
    x, n = "input", 640
    for m in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x, n = net.dense(x, n, m, act="relu"), m
    net.output(net.dense(x, n, 640), [1, 640], name="output")
    return net.finish()


def resnet(name, block, counts):
    """torchvision's ResNet; block: basic or bottleneck."""
    net = ConvNet(name, 1, 3, 224, 224)
    x = net.conv("input", 3, 64, 7, stride=2, act="relu")
    x, channels = net.op("MaxPool", x, name="/maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        for i in range(count):
            stride = 2 if stage and not i else 1
            if block == "basic":
                y = net.conv(net.conv(x, channels, width, 3, stride=stride, act="relu"), width, width, 3)
                filters = width
            else:
                y = net.conv(x, channels, width, 1, act="relu")
                y = net.conv(y, width, width, 3, stride=stride, act="relu")
                filters = 4 * width
                y = net.conv(y, width, filters, 1)
            if stride > 1 or channels != filters:
                x = net.conv(x, channels, filters, 1, stride=stride)
            x, channels = net.op("Relu", net.op("Add", y, x, name="/add"), name="/relu"), filters
    net.pool_and_classify(x, channels, 1000)
    return net.finish()


def resnet18():
    return resnet("resnet18", "basic", (2, 2, 2, 2))


def resnet50():
    return resnet("resnet50_v15", "bottleneck", (3, 4, 6, 3))


NETS = {"mobilenet_v2": mobilenet_v2, "mobilenet_v1": mobilenet_v1, "ds_cnn": ds_cnn, "resnet8": resnet8,
        "autoencoder": autoencoder, "resnet18": resnet18}
for each, make in NETS.items():
    model(each, sets="test" if each == "resnet18" else "test bench")(make)
