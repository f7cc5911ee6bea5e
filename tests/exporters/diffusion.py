"""Small forms of diffusers' networks, with random weights."""
import diffusers
import torch
from torch import nn

from bytorch import DYNAMO, SCRIPT, floats, numbers, ways


class First(nn.Module):
    """The tensor in the result of a network of diffusers, called with named arguments."""
    variadic = True

    def __init__(self, module, names, **more):
        super().__init__()
        self.module, self.names, self.more = module, names, more

    def forward(self, *arguments):
        return self.module(**dict(zip(self.names, arguments, strict=True)), **self.more, return_dict=False)[0]


class Half(nn.Module):
    """The encoder's distribution, or the decoder, of an autoencoder."""

    def __init__(self, module, decodes):
        super().__init__()
        self.module, self.decodes = module, decodes

    def forward(self, x):
        if self.decodes:
            return self.module.decode(x, return_dict=False)[0]
        y = self.module.encode(x, return_dict=False)[0]
        return y.parameters if hasattr(y, "parameters") and torch.is_tensor(y.parameters) else y


def unet():
    return First(diffusers.UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32),
                                       norm_num_groups=4, attention_head_dim=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                       up_block_types=("AttnUpBlock2D", "UpBlock2D")), ["sample", "timestep"])


def conditioned(**more):
    return diffusers.UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32),
                                          norm_num_groups=4, cross_attention_dim=24, attention_head_dim=8,
                                          down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                          up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **more)


CONDITIONED = ["sample", "timestep", "encoder_hidden_states"]


def unet_conditioned():
    return First(conditioned(), CONDITIONED)


def unet_linear():
    return First(conditioned(use_linear_projection=True, dual_cross_attention=False, time_embedding_type="positional"), CONDITIONED)


def controlnet():
    net = diffusers.ControlNetModel.from_unet(conditioned(), conditioning_embedding_out_channels=(8, 16))

    class Control(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, sample, timestep, states, image):
            downs, middle = self.net(sample, timestep, states, image, return_dict=False)
            return (*downs, middle)
    return Control()


def autoencoder():
    return diffusers.AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=4, latent_channels=4, sample_size=32,
                                   down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)


def tiny_autoencoder():
    return diffusers.AutoencoderTiny(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 2),
                                     num_decoder_blocks=(2, 1), upsampling_scaling_factor=2)


def quantised_autoencoder():
    return First(diffusers.VQModel(block_out_channels=(16, 32), norm_num_groups=4, latent_channels=3, num_vq_embeddings=20,
                                   down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), ["sample"])


def transformer():
    return First(diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=2,
                                                 sample_size=8, patch_size=2, num_embeds_ada_norm=10),
                 ["hidden_states", "timestep", "class_labels"])


def transformer_3():
    return First(diffusers.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=8,
                                                 num_attention_heads=2, caption_projection_dim=16, joint_attention_dim=12,
                                                 pooled_projection_dim=10, pos_embed_max_size=8),
                 ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"])


def transformer_flux():
    return First(diffusers.FluxTransformer2DModel(patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
                                                  num_attention_heads=2, joint_attention_dim=12, pooled_projection_dim=10,
                                                  axes_dims_rope=(4, 4, 8)),
                 ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep", "img_ids", "txt_ids"])


def transformer_sana():
    return First(diffusers.SanaTransformer2DModel(in_channels=4, out_channels=4, num_layers=2, num_attention_heads=2, attention_head_dim=8,
                                                  num_cross_attention_heads=2, cross_attention_head_dim=8, cross_attention_dim=16,
                                                  caption_channels=12, sample_size=8),
                 ["hidden_states", "encoder_hidden_states", "timestep"])


def unet_1d():
    return First(diffusers.UNet1DModel(sample_size=64, in_channels=2, out_channels=2, block_out_channels=(16, 32, 32), layers_per_block=1,
                                          extra_in_channels=32),
                 ["sample", "timestep"])


def prior():
    return First(diffusers.PriorTransformer(num_attention_heads=2, attention_head_dim=8, num_layers=2, embedding_dim=12, num_embeddings=5,
                                            additional_embeddings=4),
                 ["hidden_states", "timestep", "proj_embedding", "encoder_hidden_states"])


def scaled(other, *shape):
    """A batch of 2 or, for other sizes, of 3."""
    return floats(3 if other else 2, *shape)


def steps(other):
    return numbers(1000, 3 if other else 2)


N = {0: "n"}
IMAGE = {0: "n", 2: "h", 3: "w"}


def models():
    for name, make, given, axes in (
            ("unet", unet, lambda o: (scaled(o, 3, 32 if o else 16, 16), steps(o)), (IMAGE, N)),
            ("unet_conditioned", unet_conditioned, lambda o: (scaled(o, 4, 16, 16), steps(o), scaled(o, 9 if o else 7, 24)), (N, N, {0: "n", 1: "t"})),
            ("unet_linear", unet_linear, lambda o: (scaled(o, 4, 16, 16), steps(o), scaled(o, 9 if o else 7, 24)), (N, N, {0: "n", 1: "t"})),
            ("controlnet", controlnet, lambda o: (scaled(o, 4, 16, 16), steps(o), scaled(o, 7, 24), scaled(o, 3, 32, 32)), (N, N, N, N)),
            ("encoder", lambda: Half(autoencoder(), False), lambda o: (scaled(o, 3, 40 if o else 32, 32),), (IMAGE,)),
            ("decoder", lambda: Half(autoencoder(), True), lambda o: (scaled(o, 4, 12 if o else 8, 8),), (IMAGE,)),
            ("tiny_encoder", lambda: Half(tiny_autoencoder(), False), lambda o: (scaled(o, 3, 40 if o else 32, 32),), (IMAGE,)),
            ("tiny_decoder", lambda: Half(tiny_autoencoder(), True), lambda o: (scaled(o, 4, 12 if o else 8, 8),), (IMAGE,)),
            ("quantised_autoencoder", quantised_autoencoder, lambda o: (scaled(o, 3, 16, 16),), (N,)),
            ("transformer", transformer, lambda o: (scaled(o, 4, 8, 8), steps(o), numbers(10, 3 if o else 2)), (N, N, N)),
            ("transformer_3", transformer_3, lambda o: (scaled(o, 4, 8, 8), scaled(o, 5, 12), scaled(o, 10), steps(o)), (N, N, N, N)),
            ("transformer_flux", transformer_flux, lambda o: (scaled(o, 6, 4), scaled(o, 5, 12), scaled(o, 10), scaled(o).abs(), floats(6, 3), floats(5, 3)),
             (N, N, N, N, {}, {})),
            ("transformer_sana", transformer_sana, lambda o: (scaled(o, 4, 8, 8), scaled(o, 5, 12), steps(o)), (N, N, N)),
            ("unet_1d", unet_1d, lambda o: (scaled(o, 2, 64), steps(o)), (N, N)),
            ("prior", prior, lambda o: (scaled(o, 12), steps(o), scaled(o, 12), scaled(o, 5, 12)), (N, N, N, N))):
        yield from ways(name, make, given, axes, exporters=(SCRIPT, DYNAMO))
