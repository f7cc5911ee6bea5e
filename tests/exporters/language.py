"""Small networks of the package transformers with random weights: encoders, decoders without and with a cache, encoder-decoders,
networks for images and sound, state-space models."""
import torch
import transformers as tf
from torch import nn

from bytorch import DYNAMO, floats, numbers, ways

WORDS = 60
TOKENS = {0: "n", 1: "t"}
SMALL = {"vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
POSITIONS = {"max_position_embeddings": 64}


def made(config, cls, **values):
    config = config(**values)
    config._attn_implementation = "eager"
    return cls(config).eval()


class Of(nn.Module):
    """A module that calls another by these names of inputs, and returns its first result."""
    variadic = True

    def __init__(self, module, *names, **more):
        super().__init__()
        self.module, self.names, self.more = module, names, more

    def forward(self, *x):
        return self.module(**dict(zip(self.names, x, strict=True)), **self.more, return_dict=False)[0]


class Step(nn.Module):
    """A decoder's step: its inputs are tokens and the cache of earlier ones, its outputs logits and the cache of all."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, tokens, *past):
        pairs = [(past[i], past[i + 1]) for i in range(0, len(past), 2)]
        out = self.module(input_ids=tokens, past_key_values=tf.DynamicCache(pairs), use_cache=True)
        layers = out.past_key_values.layers
        return out.logits, *(t for layer in layers for t in (layer.keys, layer.values))


SQUEEZED = {"embedding_size": 16, "q_groups": 2, "k_groups": 2, "v_groups": 2, "post_attention_groups": 1, "intermediate_groups": 2,
            "output_groups": 2}
ENCODERS = {
    "bert": (tf.BertConfig, tf.BertModel, SMALL | POSITIONS),
    "roberta": (tf.RobertaConfig, tf.RobertaModel, SMALL | POSITIONS),
    "electra": (tf.ElectraConfig, tf.ElectraModel, SMALL | POSITIONS | {"embedding_size": 8}),
    "albert": (tf.AlbertConfig, tf.AlbertModel, SMALL | POSITIONS | {"embedding_size": 8}),
    "camembert": (tf.CamembertConfig, tf.CamembertModel, SMALL | POSITIONS),
    "mpnet": (tf.MPNetConfig, tf.MPNetModel, SMALL | POSITIONS),
    "distilbert": (tf.DistilBertConfig, tf.DistilBertModel, {"vocab_size": WORDS, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32} | POSITIONS),
    "mobilebert": (tf.MobileBertConfig, tf.MobileBertModel, SMALL | POSITIONS | {"embedding_size": 8, "true_hidden_size": 16, "intra_bottleneck_size": 16}),
    "deberta_v2": (tf.DebertaV2Config, tf.DebertaV2Model, SMALL | POSITIONS | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "squeezebert": (tf.SqueezeBertConfig, tf.SqueezeBertModel, SMALL | POSITIONS | SQUEEZED),
    "t5_encoder": (tf.T5Config, tf.T5EncoderModel, {"vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}),
    "bert_classes": (tf.BertConfig, tf.BertForSequenceClassification, SMALL | POSITIONS),
    "bert_tokens": (tf.BertConfig, tf.BertForTokenClassification, SMALL | POSITIONS),
    "bert_masked": (tf.BertConfig, tf.BertForMaskedLM, SMALL | POSITIONS),
    "fnet": (tf.FNetConfig, tf.FNetModel, SMALL | POSITIONS),
    "nystrom": (tf.NystromformerConfig, tf.NystromformerModel, SMALL | POSITIONS),
    "modernbert": (tf.ModernBertConfig, tf.ModernBertModel, SMALL | POSITIONS | {"pad_token_id": 0}),
}
GPT = {"vocab_size": WORDS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
GROUPS = SMALL | POSITIONS | {"num_key_value_heads": 1}
DECODERS = {
    "gpt2": (tf.GPT2Config, tf.GPT2LMHeadModel, GPT),
    "gpt_neox": (tf.GPTNeoXConfig, tf.GPTNeoXForCausalLM, SMALL | POSITIONS),
    "gptj": (tf.GPTJConfig, tf.GPTJForCausalLM, GPT | {"rotary_dim": 4}),
    "bloom": (tf.BloomConfig, tf.BloomForCausalLM, {"vocab_size": WORDS, "hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "opt": (tf.OPTConfig, tf.OPTForCausalLM, SMALL | POSITIONS | {"ffn_dim": 32, "word_embed_proj_dim": 16}),
    "llama": (tf.LlamaConfig, tf.LlamaForCausalLM, GROUPS),
    "mistral": (tf.MistralConfig, tf.MistralForCausalLM, GROUPS | {"sliding_window": 4}),
    "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM, GROUPS),
    "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM, GROUPS | {"head_dim": 8}),
    "gemma": (tf.GemmaConfig, tf.GemmaForCausalLM, GROUPS | {"head_dim": 8}),
    "gemma2": (tf.Gemma2Config, tf.Gemma2ForCausalLM, GROUPS | {"head_dim": 8}),
    "phi": (tf.PhiConfig, tf.PhiForCausalLM, SMALL | POSITIONS),
    "phi3": (tf.Phi3Config, tf.Phi3ForCausalLM, GROUPS | {"pad_token_id": 0}),
    "falcon": (tf.FalconConfig, tf.FalconForCausalLM, SMALL),
    "olmo": (tf.OlmoConfig, tf.OlmoForCausalLM, SMALL | POSITIONS),
    "granite": (tf.GraniteConfig, tf.GraniteForCausalLM, GROUPS),
    "smollm3": (tf.SmolLM3Config, tf.SmolLM3ForCausalLM, GROUPS | {"pad_token_id": 0}),
    "cohere": (tf.CohereConfig, tf.CohereForCausalLM, GROUPS),
    "starcoder2": (tf.Starcoder2Config, tf.Starcoder2ForCausalLM, GROUPS),
    "helium": (tf.HeliumConfig, tf.HeliumForCausalLM, GROUPS | {"head_dim": 8}),
    "mamba": (tf.MambaConfig, tf.MambaForCausalLM, {"vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}),
}
STEPS = "gpt2 gpt_neox opt llama mistral qwen2 qwen3 gemma phi granite smollm3".split()
BART = {"vocab_size": WORDS, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32, "decoder_ffn_dim": 32} | POSITIONS
TRANSLATORS = {
    "bart": (tf.BartConfig, tf.BartForConditionalGeneration, BART),
    "marian": (tf.MarianConfig, tf.MarianMTModel, BART | {"pad_token_id": 0}),
    "mbart": (tf.MBartConfig, tf.MBartForConditionalGeneration, BART),
    "pegasus": (tf.PegasusConfig, tf.PegasusForConditionalGeneration, BART),
    "t5": (tf.T5Config, tf.T5ForConditionalGeneration, {"vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}),
}
PATCHES = {"image_size": 32, "patch_size": 8, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
IMAGES = {
    "vit": (tf.ViTConfig, tf.ViTModel, PATCHES),
    "deit": (tf.DeiTConfig, tf.DeiTModel, PATCHES),
    "dinov2": (tf.Dinov2Config, tf.Dinov2Model, PATCHES),
    "siglip": (tf.SiglipVisionConfig, tf.SiglipVisionModel, PATCHES),
    "clip_vision": (tf.CLIPVisionConfig, tf.CLIPVisionModel, PATCHES | {"projection_dim": 8}),
    "beit": (tf.BeitConfig, tf.BeitModel, PATCHES),
    "swin": (tf.SwinConfig, tf.SwinModel, {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4}),
    "convnext": (tf.ConvNextConfig, tf.ConvNextModel, {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}),
    "segformer": (tf.SegformerConfig, tf.SegformerForSemanticSegmentation,
                  {"hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2, "num_attention_heads": [1, 2], "sr_ratios": [2, 1],
                   "decoder_hidden_size": 8, "patch_sizes": [7, 3], "strides": [4, 2], "mlp_ratios": [2, 2]}),
    "mobilevit": (tf.MobileViTConfig, tf.MobileViTModel,
                  {"image_size": 64, "hidden_sizes": [8, 12, 16], "neck_hidden_sizes": [4, 8, 8, 8, 12, 16, 24], "num_attention_heads": 2}),
    "resnet": (tf.ResNetConfig, tf.ResNetModel, {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}),
}
WAVES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "conv_dim": [8, 8, 8], "conv_kernel": [10, 3, 3],
         "conv_stride": [5, 2, 2], "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "vocab_size": 20, "num_feat_extract_layers": 3}
SOUNDS = {
    "wav2vec2": (tf.Wav2Vec2Config, tf.Wav2Vec2ForCTC, WAVES),
    "hubert": (tf.HubertConfig, tf.HubertForCTC, WAVES),
    "wavlm": (tf.WavLMConfig, tf.WavLMModel, WAVES),
    "unispeech": (tf.UniSpeechConfig, tf.UniSpeechForCTC, WAVES),
    "data2vec": (tf.Data2VecAudioConfig, tf.Data2VecAudioModel, WAVES),
}
WHISPER = {"vocab_size": WORDS, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
           "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_source_positions": 40, "max_target_positions": 32, "num_mel_bins": 20, "pad_token_id": 0}


def masked(other):
    tokens = numbers(WORDS, *((3, 9) if other else (2, 7)))
    mask = torch.ones_like(tokens)
    mask[0, -2:] = 0
    return tokens, mask


def tokens(other):
    return (numbers(WORDS, *((3, 9) if other else (2, 7))),)


def step(config):
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    def given(other):
        n, past = (3, 6) if other else (2, 4)
        return numbers(WORDS, n, 1), *(floats(n, heads, past, width) for _ in range(2 * config.num_hidden_layers))
    axes = {0: "n"}, tuple({0: "n", 2: "p"} for _ in range(2 * config.num_hidden_layers))
    return given, axes


def models():
    """The models. Decoders are exported by torch.export only, because the script exporter lacks operators of their masks."""
    for name, (config, cls, values) in ENCODERS.items():
        yield from ways(f"encoder_{name}", lambda c=config, m=cls, v=values: Of(made(c, m, **v), "input_ids", "attention_mask"), masked, (TOKENS, TOKENS))
    for name, (config, cls, values) in DECODERS.items():
        yield from ways(f"decoder_{name}", lambda c=config, m=cls, v=values: Of(made(c, m, **v), "input_ids", use_cache=False), tokens, (TOKENS,), (DYNAMO,))
    for name in STEPS:
        config, cls, values = DECODERS[name]
        given, axes = step(config(**values))
        yield from ways(f"step_{name}", lambda c=config, m=cls, v=values: Step(made(c, m, **v)), given, axes, (DYNAMO,))
    for name, (config, cls, values) in TRANSLATORS.items():
        yield from ways(f"translator_{name}", lambda c=config, m=cls, v=values: Of(made(c, m, **v), "input_ids", "decoder_input_ids", use_cache=False),
                        lambda other: (*tokens(other), numbers(WORDS, *((3, 4) if other else (2, 5)))), (TOKENS, {0: "n", 1: "s"}))
    for name, (config, cls, values) in IMAGES.items():
        side = values.get("image_size", 32)
        yield from ways(f"image_{name}", lambda c=config, m=cls, v=values: Of(made(c, m, **v), "pixel_values"),
                        lambda other, s=side: (floats(3 if other else 2, 3, s, s),), ({0: "n"},))
    for name, (config, cls, values) in SOUNDS.items():
        yield from ways(f"sound_{name}", lambda c=config, m=cls, v=values: Of(made(c, m, **v), "input_values"),
                        lambda other: (floats(3, 700) if other else floats(2, 600),), (TOKENS,))
    yield from ways("whisper_encoder", lambda: Of(made(tf.WhisperConfig, tf.WhisperModel, **WHISPER).encoder, "input_features"),
                    lambda other: (floats(3 if other else 2, 20, 80),), ({0: "n"},))
    yield from ways("whisper_decoder", lambda: Of(made(tf.WhisperConfig, tf.WhisperModel, **WHISPER).decoder, "input_ids",
                                                  "encoder_hidden_states", use_cache=False),
                    lambda other: (numbers(WORDS, *((3, 4) if other else (2, 5))), floats(3 if other else 2, 40, 16)), ({0: "n", 1: "s"}, {0: "n"}))
