"""Writes one tiny random Llama three times: as a Hugging Face folder, in two shards, and as GGUF.

    make_tiny_llama.py SAMPLE.txt OUT_FOLDER

SAMPLE.txt trains the tokenizer. Writes OUT_FOLDER/tiny_llama/ (one safetensors file), OUT_FOLDER/tiny_llama_sharded/
(two, with an index) and OUT_FOLDER/tiny_llama.gguf. transformers writes the folders, the gguf package the file; then
all three are loaded again by transformers and must give equal logits.

The shape hurts on purpose: head_dim is not hidden / heads, three query heads share a key head, the vocabulary is not
a multiple of anything in the layers. Norm weights are not 1, queries and keys are large enough that attention is far
from flat, and the logits have unit scale.

Environment: python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
"""

import json
import shutil
import sys
from pathlib import Path

import gguf
import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers, trainers
from transformers import (AutoModelForCausalLM, GenerationConfig, LlamaConfig, LlamaForCausalLM,
                          PreTrainedTokenizerFast)

import oracle

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
UNK, BOS, EOS = range(3)
VOCAB = 512
CHAT_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_tokenizer(text):
    tok = tokenizers.Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    assert tok.get_vocab_size() == VOCAB
    assert [tok.token_to_id(s) for s in SPECIAL] == [UNK, BOS, EOS]
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, unk_token=SPECIAL[UNK], bos_token=SPECIAL[BOS], eos_token=SPECIAL[EOS],
        pad_token=SPECIAL[EOS], model_max_length=2048, clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE)


def make_model():
    torch.manual_seed(20)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCAB, hidden_size=72, intermediate_size=96, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=2048, rms_norm_eps=1e-5, rope_theta=10000.0,
        tie_word_embeddings=True, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=EOS))
    std = {"embed_tokens": 0.12, "q_proj": 0.2, "k_proj": 0.2, "v_proj": 0.125, "o_proj": 0.1,
           "gate_proj": 0.125, "up_proj": 0.125, "down_proj": 0.15}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.copy_(1 + 0.2 * torch.randn_like(weight))
            else:
                weight.copy_(std[name.split(".")[-2]] * torch.randn_like(weight))
    model.generation_config = GenerationConfig(bos_token_id=BOS, eos_token_id=EOS, pad_token_id=EOS)
    model.set_attn_implementation("eager")
    return model.eval()


def interleaved(weight, heads):
    """Rows as llama.cpp keeps them: a rotary pair (r, r + head_dim / 2) of a head becomes rows (2r, 2r + 1)."""
    rows, cols = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, cols).transpose(1, 2).reshape(rows, cols).contiguous()


def write_gguf(path, model, tokenizer):
    c = model.config
    w = gguf.GGUFWriter(path, "llama")
    w.add_type("model")
    w.add_name("Tiny Llama")
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    w.add_quantization_version(gguf.GGML_QUANT_VERSION)
    w.add_block_count(c.num_hidden_layers)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(c.num_key_value_heads)
    w.add_key_length(c.head_dim)
    w.add_value_length(c.head_dim)
    w.add_rope_dimension_count(c.head_dim)
    w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_vocab_size(c.vocab_size)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("smollm")
    w.add_token_list(tokenizer.convert_ids_to_tokens(list(range(VOCAB))))
    w.add_token_types([gguf.TokenType.CONTROL if i < len(SPECIAL) else gguf.TokenType.NORMAL for i in range(VOCAB)])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    w.add_token_merges([" ".join(pair) for pair in merges])
    w.add_bos_token_id(BOS)
    w.add_eos_token_id(EOS)
    w.add_unk_token_id(UNK)
    w.add_pad_token_id(EOS)
    w.add_add_bos_token(False)
    w.add_add_space_prefix(False)
    w.add_chat_template(CHAT_TEMPLATE)

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, c.num_hidden_layers)
    heads = {"q_proj": c.num_attention_heads, "k_proj": c.num_key_value_heads}
    for name, weight in model.named_parameters():  # the tied head is named once, as llama.cpp stores it
        projection = name.split(".")[-2]
        if projection in heads:
            weight = interleaved(weight, heads[projection])
        w.add_tensor(names.get_name(name, try_suffixes=(".weight",)), weight.detach().numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main(sample, out):
    text, out = Path(sample).read_text(encoding="utf-8"), Path(out)
    tokenizer, model = make_tokenizer(text), make_model()
    for name, size, jinja in (("tiny_llama", "5GB", False), ("tiny_llama_sharded", "400KB", True)):
        shutil.rmtree(out / name, ignore_errors=True)
        model.save_pretrained(out / name, max_shard_size=size)
        tokenizer.save_pretrained(out / name, save_jinja_files=jinja)
        for file in (out / name).iterdir():
            file.chmod(0o644)
    assert len(list((out / "tiny_llama_sharded").glob("*.safetensors"))) == 2
    write_gguf(out / "tiny_llama.gguf", model, tokenizer)

    ids = tokenizer(text[:200])["input_ids"][:48]
    logits = oracle.forward(model, ids)[0]
    for how in ({"pretrained_model_name_or_path": out / "tiny_llama"},
                {"pretrained_model_name_or_path": out / "tiny_llama_sharded"},
                {"pretrained_model_name_or_path": out, "gguf_file": "tiny_llama.gguf"}):
        again = AutoModelForCausalLM.from_pretrained(**how, dtype=torch.float32, attn_implementation="eager")
        assert torch.equal(oracle.forward(again.eval(), ids)[0], logits), how
    print("logits std", float(logits.std()), "max", float(logits.abs().max()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
