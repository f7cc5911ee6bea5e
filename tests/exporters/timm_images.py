"""timm's networks, one of each family, with random weights, for small images."""
import timm
import torch

from bytorch import DYNAMO, SCRIPT, floats, ways

BATCH = {0: "n"}
CLASSES = 10
# name, pixels of an image, arguments that make it smaller
NETWORKS = [
    ("beit_base_patch16_224", 64, {"img_size": 64, "embed_dim": 48, "depth": 2, "num_heads": 3}),
    ("botnet26t_256", 64, {"img_size": 64}), ("cait_xxs24_224", 64, {"img_size": 64, "embed_dim": 48, "depth": 2}),
    ("coat_lite_tiny", 64, {"img_size": 64}), ("coatnet_nano_rw_224", 64, {"img_size": 64}), ("convit_tiny", 64, {"img_size": 64}),
    ("convnextv2_atto", 64, {}), ("crossvit_tiny_240", 240, {}), ("cspresnet50", 64, {}),
    ("davit_tiny", 64, {}), ("deit_tiny_distilled_patch16_224", 64, {"img_size": 64}), ("dla34", 64, {}), ("dpn48b", 64, {}),
    ("eca_resnext26ts", 64, {}), ("edgenext_xx_small", 64, {}), ("efficientformer_l1", 224, {}), ("efficientformerv2_s0", 64, {"img_size": 64}),
    ("efficientnet_lite0", 64, {}), ("efficientvit_b0", 64, {}), ("efficientvit_m0", 224, {}), ("ese_vovnet19b_dw", 64, {}),
    ("eva02_tiny_patch14_224", 56, {"img_size": 56}), ("fastvit_t8", 64, {}), ("fbnetc_100", 64, {}), ("focalnet_tiny_srf", 64, {}),
    ("gcvit_xxtiny", 224, {}), ("ghostnet_050", 64, {}), ("ghostnetv2_100", 64, {}),
    ("gmlp_s16_224", 64, {"img_size": 64}), ("hardcorenas_a", 64, {}), ("hgnetv2_b0", 64, {}), ("hiera_tiny_224", 224, {}),
    ("hrnet_w18_small", 64, {}), ("inception_next_atto", 64, {}), ("lambda_resnet26t", 64, {"img_size": 64}), ("lcnet_035", 64, {}),
    ("levit_128s", 224, {}), ("mambaout_femto", 64, {}), ("maxvit_rmlp_pico_rw_256", 64, {"img_size": 64}), ("mixer_s32_224", 64, {"img_size": 64}),
    ("mixnet_s", 64, {}), ("mobilenet_edgetpu_v2_xs", 64, {}), ("mobilenetv4_conv_small_035", 64, {}), ("mobilenetv4_hybrid_medium", 64, {}),
    ("mobileone_s0", 64, {}), ("mobilevit_xxs", 64, {}), ("mobilevitv2_050", 64, {}), ("mvitv2_tiny", 64, {"img_size": 64}),
    ("nest_tiny", 64, {"img_size": 64}), ("nf_resnet26", 64, {}), ("nextvit_small", 64, {}), ("pit_ti_224", 64, {"img_size": 64}),
    ("poolformer_s12", 64, {}), ("poolformerv2_s12", 64, {}), ("pvt_v2_b0", 64, {}), ("regnetz_c16", 64, {}), ("repghostnet_050", 64, {}),
    ("repvgg_a0", 64, {}), ("repvit_m0_9", 64, {}), ("res2net50_14w_8s", 64, {}), ("resmlp_12_224", 64, {"img_size": 64}),
    ("resnest14d", 64, {}), ("resnetblur50", 64, {}), ("resnetv2_18", 64, {}), ("rexnet_100", 64, {}), ("sebotnet33ts_256", 64, {"img_size": 64}),
    ("selecsls42", 64, {}), ("semnasnet_050", 64, {}), ("sequencer2d_s", 64, {"img_size": 64, "layers": (1, 1, 1, 1)}), ("shvit_s1", 64, {}),
    ("skresnet18", 64, {}), ("spnasnet_100", 64, {}), ("starnet_s1", 64, {}), ("swiftformer_xs", 64, {}),
    ("swin_s3_tiny_224", 224, {}), ("swinv2_cr_tiny_224", 64, {"img_size": 64}), ("tf_efficientnetv2_b0", 64, {}), ("tiny_vit_5m_224", 224, {}),
    ("tinynet_e", 64, {}), ("tnt_s_patch16_224", 64, {"img_size": 64}), ("twins_svt_small", 64, {"img_size": 64}),
    ("visformer_tiny", 64, {"img_size": 64}), ("vit_tiny_patch16_224", 64, {"img_size": 64}), ("volo_d1_224", 64, {"img_size": 64}),
    ("vovnet39a", 64, {}), ("xception41", 64, {}), ("xcit_nano_12_p16_224", 64, {"img_size": 64}),
]


def network(name, arguments):
    def make():
        torch.manual_seed(1)
        return timm.create_model(name, num_classes=CLASSES, exportable=True, **arguments)
    return make


def models():
    for i, (name, pixels, arguments) in enumerate(NETWORKS):
        def given(other, size=pixels):
            return (floats(3 if other else 2, 3, size, size),)
        yield from ways(name, network(name, arguments), given, (BATCH,), exporters=(SCRIPT, DYNAMO)[i % 2:][:1], sizes=(False, True))
