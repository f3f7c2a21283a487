/** Written by `npm run prices`; `list.ts` says what a line means. */
export const groq = String.raw`
^deepseek-r1-distill-llama-70b$ 131072 input=0.75 output=0.99
^gemma-7b-it$ 0 input=0.07 output=0.07
^gemma2-9b-it$|^gemma2-9b$ 0 input=0.2 output=0.2
^llama-3\.1-405b-reasoning$ 0 input=0.59 output=0.79
^llama-3\.1-70b-versatile$ 0 input=0.59 output=0.79
^llama-3\.1-8b-instant$ 0 input=0.05 output=0.08
^llama-3\.2-11b-text-preview$ 0 input=0.18 output=0.18
^llama-3\.2-11b-vision-preview$ 0 input=0.18 output=0.18
^llama-3\.2-1b-preview$ 0 input=0.04 output=0.04
^llama-3\.2-3b-preview$ 0 input=0.06 output=0.06
^llama-3\.2-90b-text-preview$ 0 input=0.9 output=0.9
^llama-3\.2-90b-vision-preview$ 0 input=0.9 output=0.9
^llama-3\.3-70b-specdec$ 0 input=0.59 output=0.99
^llama-3\.3-70b-versatile$ 0 input=0.59 output=0.79
^llama-guard-3-8b$ 0 input=0.2 output=0.2
^llama2-70b-4096$ 0 input=0.7 output=0.8
^llama3-70b-8192$ 0 input=0.59 output=0.79
^llama3-8b-8192$ 0 input=0.05 output=0.08
^llama3-groq-70b-8192-tool-use-preview$ 0 input=0.89 output=0.89
^llama3-groq-8b-8192-tool-use-preview$ 0 input=0.19 output=0.19
^meta-llama\/llama-4-maverick-17b-128e-instruct$ 131072 input=0.2 output=0.6
^meta-llama\/llama-4-scout-17b-16e-instruct$ 0 input=0.11 output=0.34
^meta-llama\/llama-guard-4-12b$ 131072 input=0.2 output=0.2
^mistral-saba-24b$ 0 input=0.79 output=0.79
^mixtral-8x7b-32768$ 0 input=0.24 output=0.24
^moonshotai\/kimi-k2-instruct$|^moonshotai\/kimi-k2-instruct-0905$ 131072 input=1 read=0.5 output=3
^openai\/gpt-oss-120b$|^openai\/gpt-oss-safeguard-20b$ 131072 input=0.15 read=0.075 output=0.6
^openai\/gpt-oss-20b$ 131072 input=0.075 read=0.0375 output=0.3
^qwen\/qwen3-32b$ 131072 input=0.29 output=0.59
^whisper-large-v3$ 0
^whisper-large-v3-turbo$ 0
`;
