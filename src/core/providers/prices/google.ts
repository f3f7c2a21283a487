/** Written by `npm run prices`; `list.ts` says what a line means. */
export const google = String.raw`
claude-3-5-haiku 200000 input=0.8 write=1 read=0.08 output=4
claude-3-5-sonnet 200000 input=3 write=3.75 read=0.3 output=15
claude-3-7-sonnet 200000 input=3 write=3.75 read=0.3 output=15
claude-3-haiku 200000 input=0.25 write=0.3 read=0.03 output=1.25
claude-3-opus 200000 input=15 write=18.75 read=1.5 output=75
claude-4-opus|claude-opus-4@|claude-opus-4-0|claude-opus-4-1|^claude-opus-4$ 200000 input=15 write=18.75 read=1.5 output=75
claude-4-sonnet|claude-sonnet-4-0|claude-sonnet-4@|claude-sonnet-4-2025|^claude-sonnet-4$|^anthropic\/claude-sonnet-4$ 200000 input=3 write=3.75 read=0.3 output=15
claude-fable-5$|claude-fable-5@ 1000000 input=10 write=12.5 read=1 output=50
claude-fable-5-1$|claude-fable-5-1@ 1000000 input=10 write=12.5 read=0.25 output=50
claude-4-6-opus|claude-opus-4-6|claude-4\.6-opus|claude-opus-4\.6 1000000 input=5,200000:10 write=6.25,200000:12.5 read=0.5,200000:1 output=25,200000:37.5
claude-4-7-opus|claude-opus-4-7|claude-4\.7-opus|claude-opus-4\.7 1000000 input=5 write=6.25 read=0.5 output=25
claude-4-8-opus|claude-opus-4-8|claude-4\.8-opus|claude-opus-4\.8 1000000 input=5 write=6.25 read=0.5 output=25
claude-5-opus|claude-opus-5$|claude-opus-5@|claude-5\.0-opus|claude-opus-5\.0 1000000 input=5 write=6.25 read=0.5 output=25
claude-5-5-opus|claude-opus-5-5$|claude-opus-5-5@|claude-5\.5-opus|claude-opus-5\.5 1000000 input=4 write=5 read=0.2 output=20
claude-sonnet-4-5|claude-sonnet-4\.5 200000 input=3,200000:6 write=3.75,200000:7.5 read=0.3,200000:0.6 output=15,200000:22.5
claude-sonnet-4-6|claude-sonnet-4\.6 1000000 input=3 write=3.75 read=0.3 output=15
^gemini-1\.0-pro-vision-001$ 32768 input=0.125 output=0.375
gemini-1\.5-flash 1000000 input=0.075,128000:0.15 read=0.01875,128000:0.0375 output=0.3,128000:0.6
gemini-1\.5-pro 1000000 input=1.25,128000:2.5 output=5,128000:10
gemini-2\.0-flash$|gemini-2\.0-flash-0|gemini-2\.0-flash-exp|gemini-2\.0-flash-thinking|gemini-2\.0-flash-latest 1000000 input=0.1 read=0.025 output=0.4 input_audio=0.7 read_audio=0.175
gemini-2\.0-flash-lite 1000000 input=0.075 output=0.3
^gemini-2\.5-flash$|^gemini-2\.5-flash-latest$|^gemini-2\.5-flash-preview-09-2025$ 1048576 input=0.3 read=0.03 output=2.5 input_audio=1 read_audio=0.1
^gemini-2\.5-flash-image$|^gemini-2\.5-flash-image-preview$ 1000000 input=0.3 output=2.5 output_image=30
^gemini-2\.5-flash-lite$|^(?=.*(?:^gemini-2\.5-flash-lite-preview))(?=.*(?:^(?!.*-[tT][tT][sS](?:$|-)))) 1000000 input=0.1 read=0.01 output=0.4 input_audio=0.3 read_audio=0.03
^gemini-2\.5-flash-lite-preview-tts$ 8192 input=0.5 output=10
gemini-2\.5-flash-preview-05-20|gemini-2\.5-flash-preview-04-17|^gemini-2\.5-flash-preview-05-20:thinking$|^gemini-2\.5-flash-preview$|^gemini-2\.5-flash-preview:thinking$ 0 input=0.15 output=0.6
^gemini-2\.5-flash-tts$|^gemini-2\.5-flash-preview-tts$ 8192 input=0.5 output=10
^(?=.*(?:^gemini-2\.5-pro))(?=.*(?:^(?!.*-[tT][tT][sS](?:$|-)))) 0 input=1.25,200000:2.5 read=0.125,200000:0.25 output=10,200000:15
^gemini-2\.5-pro-tts$|^gemini-2\.5-pro-preview-tts$ 8192 input=1 output=20
^gemini-3-flash-preview$|^gemini-3-flash-preview- 1000000 input=0.5 read=0.05 output=3 input_audio=1 read_audio=0.1
^gemini-3-pro-image$|^gemini-3-pro-image-preview 1000000 input=2 output=12 output_image=120
^gemini-3-pro-preview|^gemini-3-pro-text-preview$ 0 input=2,200000:4 read=0.2,200000:0.4 output=12,200000:18
^gemini-3\.1-flash-image$|^gemini-3\.1-flash-image-preview 1000000 input=0.5 output=3 output_image=60
^gemini-3\.1-flash-lite$|^gemini-3\.1-flash-lite-preview 1000000 input=0.25 read=0.025 output=1.5 input_audio=0.5 read_audio=0.05
^gemini-3\.1-flash-lite-image 0 input=0.25 output=1.5 output_image=30
^gemini-3\.1-flash-live-preview 0 input=0.75 output=4.5 input_audio=3 output_audio=12 input_image=1 input_video=1
^gemini-3\.1-pro-preview 0 input=2,200000:4 read=0.2,200000:0.4 output=12,200000:18
^gemini-3\.5-flash$|^gemini-3\.5-flash-preview|^gemini-3\.5-flash-\d 1000000 input=1.5 read=0.15 output=9
^gemini-3\.5-flash-lite 1000000 input=0.3 read=0.03 output=2.5
^gemini-3\.6-flash 1000000 input=0.75 read=0.075 output=3.75 from=2027-01-01 input=1.5 read=0.15 output=7.5
^gemini-3\.7-flash 1000000 input=0.75 read=0.075 output=3.75 from=2027-01-01 input=1.5 read=0.15 output=7.5
^gemini-3\.8-flash 1000000 input=0.75 read=0.075 output=3.75 from=2027-01-01 input=1.5 read=0.15 output=7.5
^gemini-embedding-001$ 0 input=0.15
^gemini-embedding-2$ 8192 input=0.2 input_audio=6.5 input_image=0.45 input_video=12
^gemini-flash-1\.5$ 0 input=0.075,128000:0.15 read=0.01875,128000:0.0375 output=0.3,128000:0.6
^gemini-flash-1\.5-8b$ 1000000 input=0.0375,128000:0.075 read=0.01,128000:0.02 output=0.15,128000:0.3
^gemini-live-2\.5-flash|^gemini-2\.5-flash-native-audio-preview|^gemini-2\.5-flash-native-audio-latest$ 0 input=0.5 output=2 input_audio=3 output_audio=12
^gemini-omni-flash-preview 0 input=1.5 output=9 output_video=17.5
^gemini-pro$|^gemini-1\.0-pro$ 32768 input=0.125 output=0.375
^gemini-pro-1\.5$ 2000000 input=1.25,128000:2.5 read=0.3125,128000:0.625 output=5,128000:10
^gemma-2-27b-it$ 0 input=0.65 output=0.65
^gemma-3-|^gemma-3$ 0
^gemma-3n 0
^gemma-4-26b-a4b-it$ 262144
^gemma-4-26b-a4b-it-maas$ 262144 input=0.15 read=0.015 output=0.6
^gemma-4-31b-it$ 262144
`;
