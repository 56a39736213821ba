#!/usr/bin/env python3
"""Writes golden_chat.json: prompts by transformers' apply_chat_template, and their ids.

  generate_chat.py [SMOLLM2_FOLDER]

The small cases use small_llama3.json of this folder with templates that write the formats of the
model families, the real one SmolLM2-135M-Instruct's own tokenizer and template. Made with
transformers 5.24.
"""
import json
import os
import sys

from transformers import PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))

CHATML = ("{% for m in messages %}{% if loop.first and m['role'] != 'system' %}"
          "{{ '<|im_start|>system\\nYou keep a \"mill\".<|im_end|>\\n' }}{% endif %}"
          "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
CHATML_BARE = ("{% for m in messages %}"
               "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
LLAMA3 = ("{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
          "'<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}")
LLAMA31 = ("{{ '<|begin_of_text|>' }}{% if not date_string is defined %}"
           "{% set date_string = \"26 Jul 2024\" %}{% endif %}"
           "{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] | trim %}"
           "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
           "{{ \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}"
           "{{ \"Cutting Knowledge Date: December 2023\\n\" }}"
           "{{ \"Today Date: \" + date_string + \"\\n\\n\" }}{{ system }}{{ \"<|eot_id|>\" }}"
           "{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
           "'<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
           "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}")
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}"
          "{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% endif %}"
          "{% for m in rest %}{% if loop.index0 == 0 and system %}{% set content = '<<SYS>>\\n' + "
          "system + '\\n<</SYS>>\\n\\n' + m['content'] | trim %}{% else %}"
          "{% set content = m['content'] | trim %}{% endif %}{% if m['role'] == 'user' %}"
          "{{ bos_token + '[INST] ' + content + ' [/INST]' }}{% else %}"
          "{{ ' ' + content + ' ' + eos_token }}{% endif %}{% endfor %}")
MISTRAL = ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}"
           "{% set system = messages[0]['content'] + '\\n\\n' %}{% else %}{% set rest = messages %}"
           "{% set system = '' %}{% endif %}{% for m in rest %}{% if m['role'] == 'user' %}"
           "{{ '[INST] ' + (system if loop.last else '') + m['content'] + ' [/INST]' }}{% else %}"
           "{{ m['content'] + eos_token }}{% endif %}{% endfor %}")
TEMPLATES = {"chatml": CHATML, "chatml_bare": CHATML_BARE, "llama3": LLAMA3, "llama3.1": LLAMA31,
             "llama2": LLAMA2, "mistral": MISTRAL,
             "mistral_tight": MISTRAL.replace("[INST] ", "[INST]").replace(" [/INST]", "[/INST]")}

USER = {"role": "user", "content": "  Where is the caf\u00e9 (1984)?\n"}
SYSTEM = {"role": "system", "content": "You are the miller's daughter."}
ANSWER = {"role": "assistant", "content": "By the river.\u00a0"}
CHATS = [[USER], [SYSTEM, USER], [USER, ANSWER, {"role": "user", "content": "Thanks"}],
         [SYSTEM, USER, ANSWER, USER, ANSWER, {"role": "user", "content": " \n"}]]


def main():
    with open(os.path.join(HERE, "small_llama3.json")) as f:
        ids = {t["content"]: t["id"] for t in json.load(f)["added_tokens"]}
    small = PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "small_llama3.json"),
                                    bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>")

    def prompts(tokenizer, template):
        for chat in CHATS:
            got = tokenizer.apply_chat_template(chat, chat_template=template, tokenize=True,
                                                add_generation_prompt=True, return_dict=False)
            yield {"messages": chat, "ids": got}

    golden = {"bos": ids["<|begin_of_text|>"], "eos": ids["<|end_of_text|>"],
              "small": [{"name": n, "template": t, "prompts": list(prompts(small, t))}
                        for n, t in TEMPLATES.items()]}
    path = os.path.join(HERE, "golden_chat.json")
    if len(sys.argv) > 1:
        model = PreTrainedTokenizerFast.from_pretrained(sys.argv[1])
        golden["smollm2"] = list(prompts(model, None))
    elif os.path.exists(path):
        with open(path) as f:
            golden["smollm2"] = json.load(f)["smollm2"]
    with open(path, "w") as f:
        json.dump(golden, f, ensure_ascii=True, indent=None, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
