"""Small forms of torchvision's networks: classification, segmentation, detection."""
import torch
from torch import nn
from torchvision import models as tv
from torchvision.models import detection, segmentation

from bytorch import SCRIPT, floats, ways

IMAGES = {0: "n", 2: "h", 3: "w"}
BATCH = {0: "n"}
CLASSES = 10


def images(height, width):
    """Arguments; open sizes are those of the second call."""
    return lambda other: (floats(3, 3, height + 32, width) if other else floats(2, 3, height, width),)


# ---- torchvision: classes ----------------------------------------------------------------------------------------------

def vit():
    return tv.VisionTransformer(image_size=64, patch_size=16, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=CLASSES)


def swin(block):
    def make():
        from torchvision.models.swin_transformer import PatchMerging, PatchMergingV2, SwinTransformerBlock, SwinTransformerBlockV2
        merge, blocks = (PatchMergingV2, SwinTransformerBlockV2) if block == 2 else (PatchMerging, SwinTransformerBlock)
        return tv.SwinTransformer(patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=CLASSES,
                                  block=blocks, downsample_layer=merge)
    return make


def convnext():
    from torchvision.models.convnext import CNBlockConfig
    return tv.ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 2)], num_classes=CLASSES)


def maxvit():
    return tv.MaxVit(input_size=(64, 64), stem_channels=16, partition_size=4, block_channels=[16, 32], block_layers=[1, 1], head_dim=8,
                     stochastic_depth_prob=0., num_classes=CLASSES)


def densenet():
    return tv.DenseNet(growth_rate=8, block_config=(2, 3, 2), num_init_features=16, num_classes=CLASSES)


def resnet(block, layers, **more):
    return lambda: tv.ResNet(block, layers, num_classes=CLASSES, **more)


def named(name, **more):
    return lambda: getattr(tv, name)(weights=None, num_classes=CLASSES, **more)


def classes():
    basic, bottleneck = tv.resnet.BasicBlock, tv.resnet.Bottleneck
    wide = {"groups": 4, "width_per_group": 8}
    for name, make, height, axes in (
            ("resnet", resnet(basic, [1, 1, 1, 1]), 64, IMAGES), ("resnext", resnet(bottleneck, [1, 1, 1, 1], **wide), 64, IMAGES),
            ("densenet", densenet, 64, IMAGES), ("efficientnet_b0", named("efficientnet_b0"), 64, IMAGES),
            ("googlenet", named("googlenet", init_weights=True, aux_logits=False), 64, IMAGES), ("mnasnet", named("mnasnet0_5"), 64, IMAGES),
            ("mobilenet_v2", named("mobilenet_v2", width_mult=.35), 64, IMAGES), ("mobilenet_v3_small", named("mobilenet_v3_small"), 64, IMAGES),
            ("mobilenet_v3_large", named("mobilenet_v3_large"), 64, IMAGES), ("regnet_x", named("regnet_x_400mf"), 64, IMAGES),
            ("regnet_y", named("regnet_y_400mf"), 64, IMAGES), ("shufflenet", named("shufflenet_v2_x0_5"), 64, IMAGES),
            ("squeezenet1_0", named("squeezenet1_0"), 64, IMAGES), ("squeezenet1_1", named("squeezenet1_1"), 64, IMAGES),
            ("vit", vit, 64, BATCH), ("swin", swin(1), 64, IMAGES), ("swin_v2", swin(2), 64, BATCH), ("convnext", convnext, 64, IMAGES),
            ("maxvit", maxvit, 64, BATCH)):
        given = images(height, 64) if axes is IMAGES else lambda other: (floats(3 if other else 2, 3, 64, 64),)
        yield from ways(name, make, given, (axes,))


# ---- torchvision: segmentation and detection ---------------------------------------------------------------------------

class Results(nn.Module):
    """The tensors in the dictionary that a module returns, or in one for each image."""

    def __init__(self, module, listed):
        super().__init__()
        self.module, self.listed = module, listed

    def forward(self, image):
        return tuple((self.module([image])[0] if self.listed else self.module(image)).values())


def segment(name, **more):
    return lambda: Results(getattr(segmentation, name)(weights=None, weights_backbone=None, num_classes=5, **more), False)


def spread(head, size):
    """Gives an untrained detector weights with which its results differ from each other."""
    for name, p in head.named_parameters():
        nn.init.zeros_(p) if name.endswith("bias") else nn.init.normal_(p, std=size / p[0].numel() ** .5)


SMALL = {"min_size": 40, "max_size": 64}
FEW = {"detections_per_img": 20, "topk_candidates": 50}
FEW_OF_TWO = {"rpn_pre_nms_top_n_test": 50, "rpn_post_nms_top_n_test": 20, "box_detections_per_img": 10}


def detector(name, heads, size=1., **more):
    def make():
        module = getattr(detection, name)(weights=None, weights_backbone=None, **{"num_classes": 7, **more}).eval()
        for h in heads.split():
            spread(module.get_submodule(h), size)
        return Results(module, True)
    return make


def detectors():
    two = "rpn.head roi_heads.box_predictor"
    for name, make, height, width, axes in (
            ("ssdlite", detector("ssdlite320_mobilenet_v3_large", "head", **FEW), 320, 320, None),
            ("retinanet", detector("retinanet_resnet50_fpn", "head", .5, **SMALL, **FEW), 40, 56, {1: "h", 2: "w"}),
            ("retinanet_v2", detector("retinanet_resnet50_fpn_v2", "head", .5, **SMALL, **FEW), 40, 56, {1: "h", 2: "w"}),
            ("fcos", detector("fcos_resnet50_fpn", "head", **SMALL, **FEW), 40, 56, {1: "h", 2: "w"}),
            ("fasterrcnn", detector("fasterrcnn_resnet50_fpn", two, **SMALL, **FEW_OF_TWO), 40, 56, {1: "h", 2: "w"}),
            ("maskrcnn", detector("maskrcnn_resnet50_fpn", two, **SMALL, **FEW_OF_TWO), 40, 56, {1: "h", 2: "w"}),
            ("keypointrcnn", detector("keypointrcnn_resnet50_fpn", two, 3., num_keypoints=5, num_classes=2, **SMALL, **FEW_OF_TWO), 40, 56,
             {1: "h", 2: "w"})):
        def given(other, h=height, w=width):
            return (floats(3, h - 8, w + 8) if other else floats(3, h, w),)
        yield from ways(f"detect_{name}", make, given, axes and (axes,), exporters=(SCRIPT,))


def segmenters():
    for name, make in (("fcn", segment("fcn_resnet50", aux_loss=False)), ("deeplab", segment("deeplabv3_mobilenet_v3_large")),
                       ("lraspp", segment("lraspp_mobilenet_v3_large"))):
        yield from ways(f"segment_{name}", make, images(64, 96), (IMAGES,))


def models():
    torch.manual_seed(1)
    yield from (*classes(), *segmenters(), *detectors())
