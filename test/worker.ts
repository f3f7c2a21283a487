import * as v from 'valibot';
import { defineAgent } from '../src/agents/index.ts';
import { createApp } from '../src/app.ts';
import { askUser, fn, halt, tool } from '../src/index.ts';
import { demo } from '../src/providers/index.ts';
import { createSessionClass } from '../src/session/object.ts';
import { scriptedProvider } from './script.ts';

const echo = fn({ name: 'echo', params: [['text', v.string()]] }, (text) => text);
const ask = fn({ name: 'ask', params: [['question', v.string()]] }, (question) => askUser(question));
const stop = fn({ name: 'stop', params: [] }, () => halt('stopped', 'as asked'));
const noisy = tool.define({
	name: 'noisy',
	description: 'Says something while it works.',
	inputSchema: v.object({ times: v.number() }),
	passInput: true,
	fn: ({ times }, { emit }) => {
		for (let n = 1; n <= times; n++) emit(['noise', String(n)]);
		return times;
	},
});
const byHand = tool.define({
	name: 'by_hand',
	description: 'Somebody else does it.',
	inputSchema: v.object({}),
	manual: true,
});

/** How often each was run: the first time it never ends. */
const runs = { unsafe: 0, safe: 0 };
const endless = (name: keyof typeof runs, retry: 'safe' | 'never') =>
	tool.define({
		name,
		description: 'Does not end the first time.',
		inputSchema: v.object({}),
		retry,
		fn: () => (runs[name]++ === 0 ? new Promise(() => {}) : `run ${runs[name]}`),
	});

/** Agents for tests: one that is scripted, one on the demo model with the published skills. */
const runtime = {
	agents: [
		defineAgent({
			name: 'scripted',
			description: 'Plays a script.',
			model: 'scripted',
			models: ['demo'],
			tools: [echo, ask, stop, noisy, byHand, endless('unsafe', 'never'), endless('safe', 'safe')],
		}),
		defineAgent({ name: 'skilled', description: 'Reads skills.', model: 'demo', skills: 'all' }),
		defineAgent({ name: 'plain', description: 'On the model of the Worker.' }),
	],
	providers: () => [demo(), scriptedProvider],
};

export class Session extends createSessionClass(runtime) {}

export default createApp(runtime);
