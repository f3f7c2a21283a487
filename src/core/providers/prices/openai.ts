/** Written by `npm run prices`; `list.ts` says what a line means. */
export const openai = String.raw`
^ada$|^text-ada-001$ 0 input=0.4 output=0.4
^babbage$ 0 input=0.5 output=0.5
^chatgpt-4o-latest$ 128000 input=5 output=15
^codex-mini$|^codex-mini-latest$ 200000 input=1.5 read=0.375 output=6
^computer-use 8192 input=3 output=12
^curie$|^text-curie-001$ 0 input=2 output=2
^davinci$|^text-davinci-001$ 0 input=20 output=20
^ft:gpt-3\.5-turbo 0 input=3 output=6
^ft:gpt-4o-2024- 0 input=3.75 output=15
^ft:gpt-4o-mini-2024- 0 input=0.3 output=1.2
^gpt-3\.5-turbo-0301$|^gpt-3\.5-0301$ 0 input=1.5 output=2
^gpt-3\.5-turbo$|^gpt-35-turbo$|^gpt-3\.5-turbo-0125$ 16385 input=0.5 output=1.5
^gpt-3\.5-turbo-0613$ 16385 input=1.5 output=2
^gpt-3\.5-turbo-1106$ 16385 input=1 output=2
^gpt-3\.5-turbo-16k$|^gpt-3\.5-turbo-16k-0613$|^gpt-35-turbo-16k-0613$|^gpt-35-turbo-16k$ 16385 input=3 output=4
^gpt-3\.5-turbo-instruct|^gpt-3\.5-turbo-instruct-0914$ 16385 input=1.5 output=2
^gpt-4$|^gpt-4-0314$|^gpt-4-0613$|^ft:gpt-4-0 8192 input=30 output=60
^gpt-4-32k$|^gpt-4-32k-0314$|^gpt-4-32k-0613$ 32000 input=60 output=120
^gpt-4-turbo$|^gpt-4-turbo-2024-04-09$|^gpt-4-turbo-0125-preview$|^gpt-4-0125-preview$|^gpt-4-1106-preview$|^gpt-4-turbo-preview$ 128000 input=10 output=30
^gpt-4-vision-preview$|^gpt-4-1106-vision-preview$ 128000 input=10 output=30
^gpt-4\.1$|^gpt-4\.1-2025-04-14$ 1000000 input=2 read=0.5 output=8 web_searches=10 file_searches=2.5
^gpt-4\.1-mini$|^gpt-4\.1-mini-2025-04-14$ 1000000 input=0.4 read=0.1 output=1.6 web_searches=10 file_searches=2.5
^gpt-4\.1-nano$|^gpt-4\.1-nano-2025-04-14$ 1000000 input=0.1 read=0.025 output=0.4
^gpt-4\.5-preview 0 input=75 read=37.5 output=150
^gpt-4o$|^gpt-4o-2024-08-06$|^gpt-4o-2024-11-20$ 128000 input=2.5 read=1.25 output=10 web_searches=10 file_searches=2.5
^gpt-4o-2024-05-13$ 128000 input=5 output=15 web_searches=10 file_searches=2.5
^gpt-4o-audio-preview 128000 input=2.5 output=10
^gpt-4o-mini$|^gpt-4o-mini-2024-07-18$|^gpt-4o-mini-search-preview$|^gpt-4o-mini-search-preview-2025-03-11$ 128000 input=0.15 read=0.075 output=0.6 web_searches=10 file_searches=2.5
^gpt-4o-mini-2024-07-18\.ft- 0 input=0.3 output=1.2
^gpt-4o-mini-audio 128000 input=0.15 output=0.6
^gpt-4o-mini-realtime 16000 input=0.6 read=0.3 output=2.4 input_audio=10 read_audio=0.3 output_audio=20
^gpt-4o-mini-transcribe$ 16000 input=1.25 output=5 input_audio=3
^gpt-4o-mini-tts$ 0 input=0.6 output=12
^gpt-4o-realtime 32000 input=5 read=2.5 output=20 input_audio=40 read_audio=2.5 output_audio=80
^gpt-4o-search-preview$|^gpt-4o-search-preview-2025-03-11$ 128000 input=2.5 output=10
^gpt-4o-transcribe$|^gpt-4o-transcribe-diarize$ 16000 input=2.5 output=10 input_audio=6
^gpt-4o:extended$ 0 input=6 output=18
^gpt-5$|^gpt-5-2025-08-07$|^gpt-5-chat$|^gpt-5-chat-latest$|^gpt-5-codex$ 400000 input=1.25 read=0.125 output=10 web_searches=10 file_searches=2.5
^gpt-5-image$ 0 input=10 read=1.25 output=10
^gpt-5-image-mini$ 0 input=2.5 read=0.25 output=2
^gpt-5-mini$|^gpt-5-mini-2025-08-07$ 400000 input=0.25 read=0.025 output=2 web_searches=10 file_searches=2.5
^gpt-5-nano$|^gpt-5-nano- 400000 input=0.05 read=0.005 output=0.4 web_searches=10 file_searches=2.5
^gpt-5-pro$|^gpt-5-pro-2025-10-06$ 400000 input=15 output=120 web_searches=10 file_searches=2.5
^gpt-5\.1$|^gpt-5\.1-2025-11-13$|^gpt-5\.1-codex$|^gpt-5\.1-codex-max$|^gpt-5\.1-chat$|^gpt-5\.1-chat-latest$|^gpt-5-1$|^gpt-5-1-2025-11-13$|^gpt-5-1-codex$|^gpt-5-1-codex-max$|^gpt-5-1-chat$|^gpt-5-1-chat-latest$ 400000 input=1.25 read=0.125 output=10 web_searches=10 file_searches=2.5
^gpt-5\.1-codex-mini$|^gpt-5\.1-mini$|^gpt-5-1-codex-mini$|^gpt-5-1-mini$ 400000 input=0.25 read=0.025 output=2
^gpt-5\.2$|^gpt-5\.2-2025-12-11$|^gpt-5-2$|^gpt-5-2-2025-12-11$|^gpt-5\.2-chat$|^gpt-5\.2-chat-latest$|^gpt-5-2-chat$|^gpt-5-2-chat-latest$|^gpt-5\.2-codex$|^gpt-5-2-codex$ 400000 input=1.75 read=0.175 output=14 web_searches=10 file_searches=2.5
^gpt-5\.2-pro$|^gpt-5\.2-pro-2025-12-11$|^gpt-5-2-pro-2025-12-11$ 400000 input=21 output=168 web_searches=10 file_searches=2.5
^gpt-5\.3$|^gpt-5-3$|^gpt-5\.3-chat$|^gpt-5\.3-chat-latest$|^gpt-5-3-chat$|^gpt-5-3-chat-latest$ 128000 input=1.75 read=0.175 output=14
^gpt-5\.3-codex$|^gpt-5-3-codex$ 400000 input=1.75 read=0.175 output=14
^gpt-5\.4$|^gpt-5\.4-2026-03-05$|^gpt-5-4$|^gpt-5-4-2026-03-05$ 1050000 input=2.5,271999:5 read=0.25,271999:0.5 output=15,271999:22.5 web_searches=10 file_searches=2.5
^gpt-5\.4-image-2$ 0 input=8 read=2 output=15
^gpt-5\.4-mini$|^gpt-5\.4-mini-2026-03-17$|^gpt-5-4-mini$|^gpt-5-4-mini-2026-03-17$ 400000 input=0.75 read=0.075 output=4.5 web_searches=10 file_searches=2.5
^gpt-5\.4-nano$|^gpt-5\.4-nano-2026-03-17$|^gpt-5-4-nano$|^gpt-5-4-nano-2026-03-17$ 400000 input=0.2 read=0.02 output=1.25 web_searches=10 file_searches=2.5
^gpt-5\.4-pro$|^gpt-5\.4-pro-2026-03-05$|^gpt-5-4-pro$|^gpt-5-4-pro-2026-03-05$ 1050000 input=30,271999:60 output=180,271999:270 web_searches=10 file_searches=2.5
^gpt-5\.5$|^gpt-5\.5-2026-04-23$|^gpt-5\.5-2026-04-24$|^gpt-5-5$|^gpt-5-5-2026-04-23$|^gpt-5-5-2026-04-24$|^gpt-5\.5-chat$|^gpt-5\.5-chat-latest$|^gpt-5-5-chat$|^gpt-5-5-chat-latest$|^gpt-5\.5-codex$|^gpt-5-5-codex$ 1000000 input=5,271999:10 read=0.5,271999:1 output=30,271999:45 web_searches=10 file_searches=2.5
^gpt-5\.5-pro$|^gpt-5\.5-pro-2026-04-23$|^gpt-5-5-pro$|^gpt-5-5-pro-2026-04-23$ 1000000 input=30,271999:60 output=180,271999:270 web_searches=10 file_searches=2.5
^gpt-5\.6-luna$|^gpt-5-6-luna$|^gpt-5\.6-luna-\d{4}-\d{2}-\d{2}$|^gpt-5-6-luna-\d{4}-\d{2}-\d{2}$ 1050000 input=1,271999:2 write=1.25,271999:2.5 read=0.1,271999:0.2 output=6,271999:9 web_searches=10 file_searches=2.5 from=2026-07-30 input=0.2,271999:0.4 write=0.25,271999:0.5 read=0.02,271999:0.04 output=1.2,271999:1.8 web_searches=10 file_searches=2.5
^gpt-5\.6-sol$|^gpt-5-6-sol$|^gpt-5\.6$|^gpt-5-6$|^gpt-5\.6-sol-\d{4}-\d{2}-\d{2}$|^gpt-5-6-sol-\d{4}-\d{2}-\d{2}$ 1050000 input=5,271999:10 write=6.25,271999:12.5 read=0.5,271999:1 output=30,271999:45 web_searches=10 file_searches=2.5 from=2026-08-21 input=4,271999:8 write=5,271999:10 read=0.4,271999:0.8 output=20,271999:30 web_searches=10 file_searches=2.5
^gpt-5\.6-terra$|^gpt-5-6-terra$|^gpt-5\.6-terra-\d{4}-\d{2}-\d{2}$|^gpt-5-6-terra-\d{4}-\d{2}-\d{2}$ 1050000 input=2.5,271999:5 write=3.125,271999:6.25 read=0.25,271999:0.5 output=15,271999:22.5 web_searches=10 file_searches=2.5 from=2026-07-30 input=2,271999:4 write=2.5,271999:5 read=0.2,271999:0.4 output=12,271999:18 web_searches=10 file_searches=2.5
^gpt-6-astra$|^gpt-6-astra-\d{4}-\d{2}-\d{2}$ 1050000 input=10,271999:20 write=12.5,271999:25 read=1,271999:2 output=50,271999:75 web_searches=10 file_searches=2.5
^gpt-6-luna$|^gpt-6-luna-\d{4}-\d{2}-\d{2}$ 1050000 input=0.1,272000:0.2 write=0.125,272000:0.25 read=0.01,272000:0.02 output=0.5,272000:0.75 web_searches=10 file_searches=2.5
^gpt-6-sol$|^gpt-6-sol-\d{4}-\d{2}-\d{2}$ 1050000 input=2,272000:4 write=2.5,272000:5 read=0.2,272000:0.4 output=10,272000:15 web_searches=10 file_searches=2.5
^gpt-audio$|^gpt-audio-2025-08-28$|^gpt-audio-1\.5$ 128000 input=2.5 output=10 input_audio=32 output_audio=64
^gpt-audio-mini$|^gpt-audio-mini-2025-10-06$|^gpt-audio-mini-2025-12-15$ 128000 input=0.6 output=2.4 input_audio=10 output_audio=20
^gpt-chat-latest$ 0 input=5 read=0.5 output=30
^gpt-image-1$ 0 input=5 read=1.25 output=40 input_image=10 read_image=2.5
^gpt-image-1-mini$ 0 input=2 read=0.2 output=8 input_image=2.5 read_image=0.25
^gpt-image-1\.5$|^gpt-image-1\.5-2025-12-16$ 0 input=5 read=1.25 output=10 input_image=8 read_image=2 output_image=32
^gpt-image-2$|^gpt-image-2-2026-04-21$ 0 input=5 read=1.25 output=30 input_image=8 read_image=2
^gpt-oss-120b$ 131072 input=0.039 output=0.18
^gpt-oss-20b$ 131072 input=0.029 output=0.14
^gpt-oss-safeguard-20b$ 131072 input=0.075 read=0.037 output=0.3
^gpt-realtime$|^gpt-realtime-2025-08-28$|^gpt-realtime-1\.5$ 32000 input=4 read=0.4 output=16 input_audio=32 read_audio=0.4 output_audio=64 input_image=5 read_image=0.5
^gpt-realtime-2$|^gpt-realtime-2\.1$ 128000 input=4 read=0.4 output=24 input_audio=32 read_audio=0.4 output_audio=64 input_image=5 read_image=0.5
^gpt-realtime-mini$|^gpt-realtime-2\.1-mini$|^gpt-realtime-mini-2025-12-15$|^gpt-realtime-mini-2025-10-06$ 0 input=0.6 read=0.06 output=2.4 input_audio=10 read_audio=0.3 output_audio=20 input_image=0.8 read_image=0.08
^gpt-transcribe$ 0
moderation 0
^o1$|^o1-2024-12-17$ 200000 input=15 read=7.5 output=60
^o1-mini$|^o1-mini-2024-09-12$ 128000 input=1.1 read=0.55 output=4.4
^o1-preview$|^o1-preview-2024-09-12$ 128000 input=15 read=7.5 output=60
^o1-pro$|^o1-pro-2025-03-19$ 200000 input=150 output=600
^o3$|^o3-2025-04-16$ 200000 input=10 read=0.5 output=40 web_searches=10 file_searches=2.5 from=2025-06-10 input=2 read=0.5 output=8 web_searches=10 file_searches=2.5
^o3-deep-research$|^o3-deep-research-2025-06-26$ 200000 input=10 read=2.5 output=40
^o3-mini$|^o3-mini-2025-01-31$|^o3-mini-high$ 200000 input=1.1 read=0.55 output=4.4
^o3-pro$|^o3-pro-2025-06-10$ 200000 input=20 output=80
^o4-mini-2025-04-16$|^o4-mini-high$|^o4-mini$ 200000 input=1.1 read=0.275 output=4.4 web_searches=10 file_searches=2.5
^o4-mini-deep-research$|^o4-mini-deep-research-2025-06-26$ 200000 input=2 read=0.5 output=8
^text-davinci-002$ 0 input=20 output=20
^text-davinci-003$ 0 input=20 output=20
^text-embedding-3-large$ 8192 input=0.13
^text-embedding-3-small$ 8192 input=0.02
^text-embedding-ada$|^text-embedding-ada-002$|^text-embedding-ada-002-v2$ 8192 input=0.1
^whisper-1$ 0
`;
