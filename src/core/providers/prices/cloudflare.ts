/** Written by `npm run prices`; `list.ts` says what a line means. */
export const cloudflare = String.raw`
^@cf\/ai4bharat\/indictrans2-en-indic-1b$ 0 input=0.342 output=0.342
^@cf\/aisingapore\/gemma-sea-lion-v4-27b-it$ 0 input=0.351 output=0.555
^@cf\/baai\/bge-base-en-v1\.5$ 0 input=0.067
^@cf\/baai\/bge-large-en-v1\.5$ 0 input=0.204
^@cf\/baai\/bge-m3$ 0 input=0.012
^@cf\/baai\/bge-reranker-base$ 0 input=0.003
^@cf\/baai\/bge-small-en-v1\.5$ 0 input=0.02
^@cf\/deepseek-ai\/deepseek-r1-distill-qwen-32b$ 0 input=0.497 output=4.881
^@cf\/deepseek-ai\/deepseek-v4-flash-0731$ 0 input=0.44 read=0.014 output=1.32
^@cf\/deepseek-ai\/deepseek-v4-pro-0813$ 0 input=1.32 read=0.044 output=3.96
^@cf\/google\/gemma-3-12b-it$ 0 input=0.345 output=0.556
^@cf\/google\/gemma-4-26b-a4b-it$ 256000 input=0.1 output=0.3
^@cf\/huggingface\/distilbert-sst-2-int8$ 0 input=0.026
^@cf\/ibm-granite\/granite-4\.0-h-micro$ 0 input=0.017 output=0.112
^@cf\/meta\/llama-2-7b-chat-fp16$ 0 input=0.556 output=6.667
^@cf\/meta\/llama-3-8b-instruct$ 0 input=0.282 output=0.827
^@cf\/meta\/llama-3-8b-instruct-awq$ 0 input=0.123 output=0.266
^@cf\/meta\/llama-3\.1-70b-instruct-fp8-fast$ 0 input=0.293 output=2.253
^@cf\/meta\/llama-3\.1-8b-instruct$ 0 input=0.282 output=0.827
^@cf\/meta\/llama-3\.1-8b-instruct-awq$ 0 input=0.123 output=0.266
^@cf\/meta\/llama-3\.1-8b-instruct-fp8$ 0 input=0.152 output=0.287
^@cf\/meta\/llama-3\.1-8b-instruct-fp8-fast$|^@cf\/meta\/llama-3\.1-8b-instruct-fast$ 0 input=0.045 output=0.384
^@cf\/meta\/llama-3\.2-11b-vision-instruct$ 0 input=0.049 output=0.676
^@cf\/meta\/llama-3\.2-1b-instruct$ 0 input=0.027 output=0.201
^@cf\/meta\/llama-3\.2-3b-instruct$ 0 input=0.051 output=0.335
^@cf\/meta\/llama-3\.3-70b-instruct-fp8-fast$ 24000 input=0.293 output=2.253
^@cf\/meta\/llama-4-scout-17b-16e-instruct$ 0 input=0.27 output=0.85
^@cf\/meta\/llama-guard-3-8b$ 0 input=0.484 output=0.03
^@cf\/meta\/m2m100-1\.2b$ 0 input=0.342 output=0.342
^@cf\/mistral\/mistral-7b-instruct-v0\.1$ 0 input=0.11 output=0.19
^@cf\/mistralai\/mistral-small-3\.1-24b-instruct$ 0 input=0.351 output=0.555
^@cf\/moondream\/moondream3\.1-9b-a2b$ 0 input=0.3 output=1
^@cf\/moonshotai\/kimi-k2\.5$ 0 input=0.6 read=0.1 output=3
^@cf\/moonshotai\/kimi-k2\.6$ 0 input=0.95 read=0.16 output=4
^@cf\/moonshotai\/kimi-k2\.7-code$ 0 input=0.95 read=0.19 output=4
^@cf\/nvidia\/nemotron-3-120b-a12b$ 0 input=0.5 output=1.5
^@cf\/openai\/gpt-oss-120b$ 128000 input=0.35 output=0.75
^@cf\/openai\/gpt-oss-20b$ 128000 input=0.2 output=0.3
^@cf\/pfnet\/plamo-embedding-1b$ 0 input=0.019
^@cf\/qwen\/qwen2\.5-coder-32b-instruct$ 0 input=0.66 output=1
^@cf\/qwen\/qwen3-30b-a3b-fp8$ 0 input=0.051 output=0.335
^@cf\/qwen\/qwen3-embedding-0\.6b$ 0 input=0.012
^@cf\/qwen\/qwen3\.8-27b$ 262144 input=0.45 output=3.2
^@cf\/qwen\/qwq-32b$ 0 input=0.66 output=1
^@cf\/zai-org\/glm-4\.7-flash$ 131072 input=0.06 output=0.4
^@cf\/zai-org\/glm-5\.2$ 0 input=1.4 read=0.26 output=4.4
^@cf\/zai-org\/glm-5\.3-flash$ 0 input=0.15 read=0.03 output=0.5
`;
