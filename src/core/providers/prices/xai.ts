/** Written by `npm run prices`; `list.ts` says what a line means. */
export const xai = String.raw`
^grok-2-1212$|^grok-2$|^grok-2-latest$ 32768 input=2 output=10
^grok-2-vision-1212$|^grok-2-vision$|^grok-2-vision-latest$ 32768 input=2 output=10
^grok-3$|^grok-3-latest$|^grok-3-beta$ 131072 input=3 read=0.75 output=15
^grok-3-fast$|^grok-3-fast-latest$|^grok-3-fast-beta$ 131072 input=5 read=1.25 output=25
^grok-3-mini$|^grok-3-mini-beta$|^grok-3-mini-latest$ 131072 input=0.3 read=0.075 output=0.5
^grok-3-mini-fast$|^grok-3-mini-fast-beta$|^grok-3-mini-fast-latest$ 131072 input=0.6 read=0.15 output=4
^grok-4-0709$|^grok-4$|^grok-4-latest$ 256000 input=3 read=0.75 output=15
^grok-4-1-fast-non-reasoning$|^grok-4-1-fast-non-reasoning-latest$ 2000000 input=0.2 read=0.05 output=0.5
^grok-4-1-fast$|^grok-4-1-fast-reasoning$|^grok-4-1-fast-reasoning-latest$ 2000000 input=0.2 read=0.05 output=0.5
^grok-4-fast-non-reasoning$|^grok-4-fast-non-reasoning-latest$ 2000000 input=0.2 read=0.05 output=0.5
^grok-4-fast$|^grok-4-fast-reasoning$|^grok-4-fast-reasoning-latest$ 2000000 input=0.2 read=0.05 output=0.5
^grok-4\.20$ 1000000 input=1.25,199999:2.5 read=0.2,199999:0.4 output=2.5,199999:5
^grok-4\.20-multi-agent$ 1000000 input=2 read=0.2 output=6
^grok-4\.3$|^grok-4\.3-\d{8}$|^x-ai\/grok-4\.3$|^x-ai/grok-4\.3-\d{8}$|^grok-4\.3-latest$ 1000000 input=1.25,199999:2.5 read=0.2,199999:0.4 output=2.5,199999:5
^grok-4\.5$|^grok-4\.5-\d{8}$|^x-ai\/grok-4\.5$|^x-ai/grok-4\.5-\d{8}$|^grok-4\.5-latest$|^grok-latest$ 500000 input=2,199999:4 read=0.3,199999:0.6 output=6,199999:12
^grok-4\.6$|^grok-4\.6-\d{8}$|^x-ai\/grok-4\.6$|^x-ai/grok-4\.6-\d{8}$|^grok-4\.6-latest$ 500000 input=2,199999:4 read=0.5,199999:1 output=6,199999:12
^grok-build-0\.1$ 256000 input=1,199999:2 read=0.2,199999:0.4 output=2,199999:4
^grok-code-fast$|^grok-code-fast-1$|^grok-code-fast-1-0825$ 256000 input=0.2 read=0.02 output=1.5
^grok-voice-latest$ 0 from=2026-08-05
^grok-voice-think-fast-1\.0$ 0
^grok-voice-think-fast-2\.0$ 0
`;
