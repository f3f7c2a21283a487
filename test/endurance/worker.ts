import { env } from 'cloudflare:workers';
import * as v from 'valibot';
import { agents } from '../../src/agents/index.ts';
import { agentTool } from '../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import type { WorkerEnv } from '../../src/cloudflare/config/env.ts';
import { mcp } from '../../src/cloudflare/mcp/index.ts';
import type { DirectoryApi } from '../../src/cloudflare/objects/directory/api.ts';
import type { LedgerApi } from '../../src/cloudflare/objects/ledger/api.ts';
import { createApp } from '../../src/cloudflare/routes/app.ts';
import { createObjects } from '../../src/cloudflare/runlet/objects.ts';
import { askUser, providers, type Tool, type ToolContext, tool, toolbox } from '../../src/core/index.ts';
import { readAbortPoint } from './crash-points.ts';
import { SlowObject } from './slow-object.ts';

declare global {
	namespace Cloudflare {
		interface Env {
			/** Where the programmes listen: the model, the tools' effects, the crash points. */
			readonly OUTSIDE: string;
			/** Where the MCP server of a programme listens. */
			readonly MCP?: string;
			/**
			 * At a crash point: `ask` whether to go on, or `abort` the object before the write is durable, once, where its id says;
			 * `few` aborts one object of 20. Missing: only tell of a run's end.
			 */
			readonly CRASH?: 'ask' | 'abort' | 'few';
			/** How many calls a second a ledger and a directory can do. Missing: as many as there are. */
			readonly CALLS_PER_SECOND?: string;
		}
	}
}

function post(path: string, body: object, signal: AbortSignal | null = null): Promise<Response> {
	return fetch(`${env.OUTSIDE}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
}

function effect(name: string, about: { readonly retry?: 'safe' } = {}) {
	return tool.define({
		...about,
		name,
		description: `Has an effect outside (${name}).`,
		inputSchema: v.object({ intent: v.string() }),
		passInput: true,
		fn: async ({ intent }, { callId, sessionId, signal }) =>
			(await post('/effect', { tool: name, key: callId, intent, session: sessionId }, signal)).json(),
	});
}

/** A tool that asks first. It has its effect when it gets the answer. */
const order = tool.define({
	name: 'unsafe',
	description: 'Asks, then has an effect outside.',
	inputSchema: v.object({ intent: v.string() }),
	passInput: true,
	fn: ({ intent }) => askUser(`${intent}?`, undefined, { kept: intent }),
	onAnswer: async (answer, { args: { intent } }, { callId, sessionId, signal }) => {
		await post('/effect', { tool: 'unsafe', key: callId, intent, session: sessionId }, signal);
		return answer;
	},
});
const tools = [effect('keyed', { retry: 'safe' }), effect('unsafe'), effect('lookup', { retry: 'safe' })];
/** A tool whose result is told outside before it is stored. */
const slowDown = (one: Tool) => ({
	...one,
	fn: async (input: unknown, context: ToolContext) => {
		const result = await one.fn?.(input, context);
		const { sessionId: session, runId, callId: key, signal } = context;
		await post('/effect', { tool: one.name, key, intent: `${session} ${runId} ${key}`, session }, signal);
		return result;
	},
});
const fileTools = Object.values(toolbox.withCoding(toolbox.withFiles(toolbox.basic()))).map(slowDown);
const model = 'fake/model';
/** Every tool that computes. */
const hostileTools = toolbox.withShell(toolbox.all());

/** Objects of this process by their id, and how often they came to where they are aborted. */
const objects = new Map<string, DurableObjectState>();
const times = new Map<string, number>();

const runtime = {
	agents: [
		defineAgent({ name: 'worker', description: 'Has three tools.', model, tools, maxOutputTokens: 1_000 }),
		defineAgent({
			name: 'tree',
			description: 'Has others work.',
			model,
			tools: [agentTool({ name: 'worker', description: 'Has three tools.' }, { budget: { tokens: 100_000 } })],
			maxOutputTokens: 1_000,
		}),
		// What a call sets aside of a budget is near to what it costs.
		defineAgent({ name: 'thrifty', description: 'The same, in few words.', model, tools, maxOutputTokens: 200 }),
		defineAgent({
			name: 'archivist',
			description: 'Forgets what is old.',
			model,
			maxContextTokens: 250,
			contextFull: 'truncate',
		}),
		defineAgent({
			name: 'hostile',
			description: 'Does what it is asked for.',
			model,
			tools: hostileTools,
			contextFull: 'truncate',
			maxOutputTokens: 1_000,
		}),
		defineAgent({ name: 'editor', description: 'Works on files.', model, tools: fileTools, maxOutputTokens: 1_000 }),
		defineAgent({
			name: 'connected',
			description: 'Has the tools of a server.',
			model,
			mcp: [{ name: 'out', url: env.MCP ?? env.OUTSIDE, safe: ['keyed', 'lookup'] }],
			maxOutputTokens: 1_000,
		}),
		defineAgent({
			name: 'asker',
			description: 'Asks before it orders.',
			model,
			tools: [order],
			maxOutputTokens: 1_000,
		}),
		defineAgent({ name: 'writer', description: 'Writes much.', model }),
		defineAgent({
			name: 'hooked',
			description: 'Takes webhooks.',
			model,
			webhooks: { github: ({ payload }) => String(payload.tag) },
		}),
		...agents,
	],
	...mcp.provides,
	providers: () => [
		providers.demo(),
		providers.openaiChat({ name: 'fake', prefix: 'fake/', baseURL: `${env.OUTSIDE}/v1`, apiKey: 'sk-fake' }),
	],
	crashPoint: async (point: string, { session }: { readonly session: string }): Promise<void> => {
		const abort = readAbortPoint(session);
		if (isAborted(session) && abort.name === point) {
			const time = (times.get(session) ?? 0) + 1;
			times.set(session, time);
			// Before anything is sent, which would wait until the write is durable.
			if (time === abort.time) objects.get(session)?.abort(`crash point ${point}`);
		}
		if (env.CRASH === 'ask' || point === 'ended') await post('/point', { point, session });
	},
};

const classes = createObjects(runtime);
export const { Publisher } = classes;
// Named in wrangler.toml.
export { Memory } from '../../src/cloudflare/memory/index.ts';

/** The calls after which a slow object is aborted. */
const callsPerLife = 60;
const slow = env.CALLS_PER_SECOND && { callsPerSecond: Number(env.CALLS_PER_SECOND), callsPerLife };

/** The ledger, which may be slow in what runs ask of it. */
export class Ledger extends classes.Ledger {
	readonly #slow = new SlowObject(this.ctx, slow || undefined);

	override reserve(...given: Parameters<LedgerApi['reserve']>) {
		return this.#slow.take(() => super.reserve(...given));
	}

	override settle(...given: Parameters<LedgerApi['settle']>) {
		return this.#slow.take(() => super.settle(...given));
	}

	override state(...given: Parameters<LedgerApi['state']>) {
		return this.#slow.take(() => super.state(...given));
	}
}

/** The directory, likewise. */
export class Directory extends classes.Directory {
	readonly #slow = new SlowObject(this.ctx, slow || undefined);

	override touch(...given: Parameters<DirectoryApi['touch']>) {
		return this.#slow.take(() => super.touch(...given));
	}
}

/** Sessions whose model and tools are outside, in the process of the programme. */
export class Session extends classes.Session {
	constructor(ctx: DurableObjectState, given: WorkerEnv) {
		super(ctx, given);
		const session = ctx.id.toString();
		objects.set(session, ctx);
		// A kill may have come between the end of a run and the word of it. The alarm that is left begins this life.
		if (env.CRASH === undefined && hasEnded(ctx.storage.sql)) void post('/point', { point: 'ended', session });
	}
}

/** Whether a session's object is aborted at its crash point. */
function isAborted(session: string): boolean {
	return env.CRASH === 'abort' || (env.CRASH === 'few' && Number.parseInt(session.slice(8, 16), 16) % 20 === 0);
}

/** Whether the newest run of a session is over. */
function hasEnded(sql: SqlStorage): boolean {
	if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'run'").toArray().length === 0) return false;
	const [run] = sql.exec<{ status: string }>('SELECT status FROM run ORDER BY n DESC LIMIT 1').toArray();
	return run !== undefined && run.status !== 'running';
}

const app = createApp(runtime, [mcp]);

/** The app, which says what routes it has. */
export default app.get('/routes', (c) => c.json(app.routes.map(({ method, path }) => ({ method, path }))));
