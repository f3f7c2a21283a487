/** Written by `npm run prices`; `list.ts` says what a line means. */
export const mistral = String.raw`
^codestral-latest$|^codestral-2501$ 256000 input=0.3 output=0.9
^codestral-2508$ 256000 input=0.3 read=0.03 output=0.9
^devstral-2512$ 262144 input=0.4 read=0.04 output=2
^devstral-small$|^devstral-small-2505$|^devstral-small-2507$|^devstral-small-latest$|^labs-devstral-small-2512$ 0 input=0.1 output=0.3
^devstral-small:free$ 0
^magistral-medium 0 input=2 output=5
^magistral-small- 0 input=0.5 output=1.5
^ministral-14b-2512$ 262144 input=0.2 read=0.02 output=0.2
^ministral-3b$ 0 input=0.04 output=0.04
^ministral-3b-2512$ 131072 input=0.1 read=0.01 output=0.1
^ministral-8b$|^ministral-8b-2410$ 0 input=0.1 output=0.1
^ministral-8b-2512$ 262144 input=0.15 read=0.015 output=0.15
^ministral-8b-latest$ 0 input=0.1 output=0.1 from=2025-12-02 input=0.15 read=0.015 output=0.15
^mistral-7b$|^open-mistral-7b$ 0 input=0.25 output=0.25
^mistral-embed$ 8192 input=0.1 output=0.1
^mistral-large$|^mistral-large-latest$|^mistral-large-2407$|^mistral-large-2411$ 0 input=2 output=6
^mistral-large-2512$ 262144 input=0.5 read=0.05 output=1.5
^mistral-medium-2312$ 0 input=2.7 output=8.1
^mistral-medium$|^mistral-medium-2505$|^mistral-medium-2508$ 0 input=0.4 read=0.04 output=2
^mistral-medium-3\.5$|^mistral-medium-3-5$|^mistral-medium-3$ 262144 input=1.5 read=0.15 output=7.5
^mistral-medium-latest$ 0 input=0.4 read=0.04 output=2 from=2026-06-16 input=1.5 read=0.15 output=7.5
^mistral-nemo$|^open-mistral-nemo$ 0 input=0.15 output=0.15
^mistral-nemo:free$ 0
^mistral-ocr-2503$|^mistral-ocr-2503-completion$ 0
^mistral-ocr-2505$|^mistral-ocr-2505-completion$ 0
^mistral-ocr-2512$|^mistral-ocr-2512-completion$ 16384
^mistral-ocr-4-0$|^mistral-ocr-4-0-completion$ 16384
^mistral-ocr-4$|^mistral-ocr-4-completion$|^mistral-ocr-4-1$|^mistral-ocr-4-1-completion$ 16384
^mistral-ocr-latest$|^mistral-ocr-latest-completion$ 0 from=2025-05-22 from=2025-12-18 from=2026-06-23
^mistral-saba$|^mistral-saba-latest$ 0 input=0.2 output=0.6
^mistral-small-24b-instruct-2501$ 0 input=0.05 output=0.08
^mistral-small-24b-instruct-2501:free$ 0
^mistral-small-2603$ 262144 input=0.15 read=0.015 output=0.6
^mistral-small-3\.1-24b-instruct$ 0 input=0.351 output=0.555
^mistral-small-3\.2-24b-instruct$ 0 input=0.075 output=0.2
^mistral-small-latest$ 0 input=0.1 output=0.3
^mistral-tiny$ 0 input=0.25 output=0.25
^mixtral-8x22b-instruct$ 0 input=0.9 output=0.9
^mixtral-8x7b|^open-mixtral-8x7b$ 0 input=0.7 output=0.7
^pixtral-12b$|^pixtral-12b-latest$ 0 input=0.15 output=0.15
^pixtral-large-latest$|^pixtral-large-2411$ 0 input=2 output=6
^voxtral-mini-latest$|^voxtral-mini-2602$ 16384
^voxtral-small-24b-2507$|^voxtral-small-2507$|^voxtral-small-latest$ 32768 input=0.1 read=0.01 output=0.3 from=2026-08-11 input=0.1 read=0.01 output=0.4
`;
