/** The Worker of `session.ts`, and below `/traced` the same one again, which exports its traces. */
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/index.ts';
import { otlp } from '../../../src/cloudflare/traces/index.ts';
import { look, model } from './tool.ts';

const bench = defineAgent({ name: 'bench', description: 'Does what the plan says.', model, tools: [look] });
const options = { agents: [bench], skills: { listFn: () => [], readFn: () => undefined } };
const untraced = createRunlet(options);
const traced = createRunlet({
	...options,
	basePath: '/traced',
	bindings: { SESSIONS: 'TRACED_SESSIONS' },
	traces: otlp({
		url: (env) => {
			const url: unknown = Reflect.get(env, 'COLLECTOR_URL');
			return typeof url === 'string' ? url : undefined;
		},
	}),
});

export const { Session, Ledger, Directory } = untraced;
export const { Session: TracedSession } = traced;
export default {
	fetch: (...[request, env, context]: Parameters<typeof traced.fetch>): ReturnType<typeof traced.fetch> => {
		const { fetch } = new URL(request.url).pathname.startsWith('/traced/') ? traced : untraced;
		return fetch(request, env, context);
	},
};
