/** Written by `npm run prices`; `list.ts` says what a line means. */
export const anthropic = String.raw`
^claude-2|claude-v2 200000 input=8 output=24
^claude-3-5-haiku|^claude-3\.5-haiku 200000 input=0.8 write=1 read=0.08 output=4 hour=1.6 web_searches=10
^claude-3-5-sonnet|^claude-3\.5-sonnet 200000 input=3 write=3.75 read=0.3 output=15 hour=6 web_searches=10
^claude-3-7-sonnet|^claude-3\.7-sonnet|^claude-sonnet-3\.7|^claude-sonnet-3-7 200000 input=3 write=3.75 read=0.3 output=15 hour=6 web_searches=10
^claude-3-haiku 200000 input=0.25 write=0.3 read=0.03 output=1.25 hour=0.5
^claude-3-opus 200000 input=15 write=18.75 read=1.5 output=75 hour=30
^claude-3-sonnet 200000 input=3 write=3.75 read=0.3 output=15 hour=6
^claude-fable-5$|^claude-fable-5-\d{8}$ 1000000 input=10 write=12.5 read=1 output=50 hour=20 web_searches=10
^claude-fable-5-1$|^claude-fable-5-1-\d{8}$ 1000000 input=10 write=12.5 read=0.25 output=50 hour=20 web_searches=10
^claude-haiku-4-5|^claude-haiku-4\.5|^claude-4-5-haiku|^claude-4\.5-haiku 200000 input=1 write=1.25 read=0.1 output=5 hour=2 web_searches=10
^claude-opus-4-0|^claude-4-opus|^claude-opus-4$|^claude-opus-4-20250514$ 200000 input=15 write=18.75 read=1.5 output=75 hour=30 web_searches=10
^claude-opus-4-1|^claude-opus-4\.1 200000 input=15 write=18.75 read=1.5 output=75 hour=30 web_searches=10
^claude-opus-4-5|^claude-opus-4\.5|^claude-4-5-opus|^claude-4\.5-opus 200000 input=5 write=6.25 read=0.5 output=25 hour=10 web_searches=10
^claude-opus-4-6|^claude-opus-4\.6|^claude-4-6-opus|^claude-4\.6-opus 1000000 input=5,200000:10 write=6.25,200000:12.5 read=0.5,200000:1 output=25,200000:37.5 hour=10,200000:20 web_searches=10 from=2026-03-13 input=5 write=6.25 read=0.5 output=25 hour=10 web_searches=10
^claude-opus-4-7|^claude-opus-4\.7|^claude-4-7-opus|^claude-4\.7-opus 1000000 input=5 write=6.25 read=0.5 output=25 hour=10 web_searches=10
^claude-opus-4-8|^claude-opus-4\.8|^claude-4-8-opus|^claude-4\.8-opus 1000000 input=5 write=6.25 read=0.5 output=25 hour=10 web_searches=10
^claude-opus-5$|^claude-opus-5-\d{8}$|^claude-opus-5\.0|^claude-5-opus|^claude-5\.0-opus 1000000 input=5 write=6.25 read=0.5 output=25 hour=10 web_searches=10
^claude-opus-5-5$|^claude-opus-5-5-\d{8}$|^claude-opus-5\.5|^claude-5-5-opus|^claude-5\.5-opus 1000000 input=4 write=5 read=0.2 output=20 hour=8 web_searches=10
^claude-sonnet-4-2025|^claude-sonnet-4-0|^claude-sonnet-4@|^claude-sonnet-4$|^claude-4-sonnet 200000 input=3 write=3.75 read=0.3 output=15 hour=6 web_searches=10
^claude-sonnet-4-5|^claude-sonnet-4\.5 200000 input=3,200000:6 write=3.75,200000:7.5 read=0.3,200000:0.6 output=15,200000:22.5 hour=6,200000:12 web_searches=10
^claude-sonnet-4-6|^claude-sonnet-4\.6 1000000 input=3,200000:6 write=3.75,200000:7.5 read=0.3,200000:0.6 output=15,200000:22.5 hour=6,200000:12 web_searches=10 from=2026-03-13 input=3 write=3.75 read=0.3 output=15 hour=6 web_searches=10
^claude-sonnet-5|^claude-sonnet-5\.0|^claude-5-sonnet|^claude-5\.0-sonnet 1000000 input=2 write=2.5 read=0.2 output=10 hour=4 web_searches=10
^claude-v1$ 0 input=8 output=24
`;
