import { env } from 'cloudflare:workers';
import * as v from 'valibot';
import { agents } from '../../src/agents/index.ts';
import { a2a } from '../../src/cloudflare/a2a/index.ts';
import { agentTool } from '../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import type { WorkerEnv } from '../../src/cloudflare/config/env.ts';
import { mcp } from '../../src/cloudflare/mcp/index.ts';
import type { DirectoryApi } from '../../src/cloudflare/objects/directory/api.ts';
import type { LedgerApi } from '../../src/cloudflare/objects/ledger/api.ts';
import { responses } from '../../src/cloudflare/responses/index.ts';
import { createApp } from '../../src/cloudflare/routes/app.ts';
import { createObjects } from '../../src/cloudflare/runlet/objects.ts';
import { askUser, providers, type Tool, type ToolContext, tool, toolbox } from '../../src/core/index.ts';
import { readAbortPoint } from './crash-points.ts';
import { SlowObject } from './slow-object.ts';

declare global {
	namespace Cloudflare {
		interface Env {
			/** The address of the programme: the model, the effects of tools, and the answers at crash points. */
			readonly OUTSIDE: string;
			/** The address of the programme's MCP server. */
			readonly MCP?: string;
			/**
			 * At a crash point: `ask` asks the programme whether to continue; `abort` aborts each object once, at the
			 * point that its id chooses, before the write is durable; `few` aborts one object of 20. If it is missing,
			 * the Worker only reports the end of runs.
			 */
			readonly CRASH?: 'ask' | 'abort' | 'few';
			/** The capacity of a ledger and a directory, in calls a second. Missing: unlimited. */
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

/** A tool that asks first. It has its effect after the answer. */
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
/** Makes a tool report its result to the programme before the result is stored. */
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
/** Every tool that takes processor time. */
const hostileTools = toolbox.withShell(toolbox.all());

/** Objects by their id, and how often each reached its crash point. */
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
		// A call reserves little more of the budget than it costs.
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
			// This line is before the first await, because a request would wait until the write is durable.
			if (time === abort.time) objects.get(session)?.abort(`crash point ${point}`);
		}
		if (env.CRASH === 'ask' || point === 'ended') await post('/point', { point, session });
	},
};

const classes = createObjects(runtime);
export const { Publisher } = classes;
// `wrangler.toml` names this class.
export { Memory } from '../../src/cloudflare/memory/index.ts';

/** The calls after which a slow object is aborted. */
const callsPerLife = 60;
const slow = env.CALLS_PER_SECOND && { callsPerSecond: Number(env.CALLS_PER_SECOND), callsPerLife };

/** A ledger with a limited capacity for the calls of runs. */
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

/** A directory with a limited capacity. */
export class Directory extends classes.Directory {
	readonly #slow = new SlowObject(this.ctx, slow || undefined);

	override touch(...given: Parameters<DirectoryApi['touch']>) {
		return this.#slow.take(() => super.touch(...given));
	}
}

/** Sessions whose model and tools are in the process of the programme. */
export class Session extends classes.Session {
	constructor(ctx: DurableObjectState, given: WorkerEnv) {
		super(ctx, given);
		const session = ctx.id.toString();
		objects.set(session, ctx);
		// A kill may come between the end of a run and its report. The alarm then starts the object again.
		if (env.CRASH === undefined && hasEnded(ctx.storage.sql)) void post('/point', { point: 'ended', session });
	}
}

function isAborted(session: string): boolean {
	return env.CRASH === 'abort' || (env.CRASH === 'few' && Number.parseInt(session.slice(8, 16), 16) % 20 === 0);
}

function hasEnded(sql: SqlStorage): boolean {
	if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'run'").toArray().length === 0) return false;
	const [run] = sql.exec<{ status: string }>('SELECT status FROM run ORDER BY n DESC LIMIT 1').toArray();
	return run !== undefined && run.status !== 'running';
}

const app = createApp(runtime, [mcp, a2a, responses]);

/** The app, with a list of its routes for the fuzzer. */
export default app.get('/routes', (c) => c.json(app.routes.map(({ method, path }) => ({ method, path }))));
