/** Written by `npm run prices`; `list.ts` says what a line means. */
export const deepseek = String.raw`
^deepseek-chat|^deepseek-chat-v3-0324$ 64000 input=0.135 read=0.035 output=0.55 at=1800-59400 input=0.27 read=0.07 output=1.1
^deepseek-reasoner$|^deepseek-r1|^deepseek-r1-0528$ 64000 input=0.135 read=0.035 output=0.55 at=1800-59400 input=0.55 read=0.14 output=2.19
^deepseek-v3\.1-terminus$ 128000 input=0.27 read=0.13 output=0.95
^deepseek-v3\.2$ 128000 input=0.2288 output=0.3432
^deepseek-v3\.2-exp$ 128000 input=0.27 output=0.41
^deepseek-v4-flash 1000000 input=0.14 read=0.0028 output=0.28 from=2026-08-17 input=0.22 read=0.007 output=0.66 weekdays=3600-14400 input=0.44 read=0.014 output=1.32 weekdays=21600-36000 input=0.44 read=0.014 output=1.32
^deepseek-v4-pro 1000000 input=0.435 read=0.003625 output=0.87 from=2026-08-17 input=0.66 read=0.022 output=1.98 weekdays=3600-14400 input=1.32 read=0.044 output=3.96 weekdays=21600-36000 input=1.32 read=0.044 output=3.96
`;
