import * as v from 'valibot';
import { assertKnownFields, check } from '../../core/base/check.ts';
import type { Env } from '../../core/base/env.ts';
import { RunletError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { ProviderRegistration } from '../../core/chat/index.ts';
import { findChildWork } from '../agent/children.ts';
import { type Agent, assertNoNamesakes } from '../agent/define.ts';
import { findMemoryOptions } from '../agent/memory.ts';
import { type SkillSource, skillSource } from '../agent/skill-source.ts';
import type { Authenticate } from '../auth/identity.ts';
import { type BindingNames, bindingNames } from '../config/bindings.ts';
import { createMissing, type PluginName } from '../objects/missing.ts';
import type { Plugin } from '../plugin.ts';
import type { TraceExporter } from '../session/run/trace-exporter.ts';
import type { OnSpending } from './spending.ts';

/** The options of `createRunlet`. */
export interface RunletOptions {
	/** The agents that the Worker serves, each made by `defineAgent`. */
	readonly agents: readonly Agent[];
	/**
	 * The providers of the models: a list, or a function of the environment, which is called once for each
	 * environment. By default these are all providers of Runlet, each with its key from the environment.
	 */
	readonly providers?: readonly ProviderRegistration[] | ((env: Env) => readonly ProviderRegistration[]);
	/**
	 * Loads the skills that agents name: a resolver, or a function from the environment and the session's owner to a
	 * resolver. By default these are the skills in KV. If this is set, `SKILLS` and `PUBLISHERS` need not be bound.
	 */
	readonly skills?: SkillSource;
	/**
	 * The optional parts of Runlet: `[mcp, memory, schedules, links]` or some of them, each from
	 * `runlet/cloudflare/NAME`.
	 */
	readonly plugins?: readonly Plugin[];
	/**
	 * Finds the account of your product that sends a request: returns `{ owner, scopes? }`, or `undefined` for the
	 * answer `401`. API keys, session tokens and webhooks work with and without this function.
	 */
	readonly authenticate?: Authenticate;
	/**
	 * Called when 50, 80 and 100 % of an owner's day budget or a user's budget are spent, once for each share. Runs in
	 * the object of the owner's ledger. Called again if it throws or takes over 15 seconds (docs/budgets.md, "Alerts").
	 */
	readonly onSpending?: OnSpending;
	/**
	 * Exports the trace of each run to a collector of OpenTelemetry: `otlp({ url })` of `runlet/cloudflare/traces`
	 * (docs/observability.md). By default nothing is exported.
	 */
	readonly traces?: TraceExporter;
	/**
	 * `false` turns off the page at `/`, which the binding `PAGE` has. `/docs` and `embed.js` stay. Files that Cloudflare
	 * serves before the Worker never reach it (docs/own-worker.md, "Without the page").
	 */
	readonly page?: boolean;
	/** The prefix of all paths of Runlet in another Worker, such as `/ai`. */
	readonly basePath?: string;
	/** Your own names of bindings, keyed by the default names: `{ SESSIONS: 'CHATS' }`. */
	readonly bindings?: BindingNames;
}

const optionNames = [
	'agents',
	'providers',
	'skills',
	'plugins',
	'authenticate',
	'onSpending',
	'traces',
	'page',
	'basePath',
	'bindings',
] as const satisfies (keyof RunletOptions)[];

const agent = v.custom<Agent>(
	(value) => isRecord(value) && typeof value.name === 'string' && Array.isArray(value.skillTools),
	'must be made by defineAgent',
);
const provider = v.custom<ProviderRegistration>((value) => isRecord(value) && typeof value.detect === 'function');
const plugin = v.custom<Plugin>(
	(value) => isRecord(value) && isFunction(value.listRoutes),
	"must be a plugin: mcp, memory, schedules, links or responses of 'runlet/cloudflare/NAME'",
);
const exporter = v.custom<TraceExporter>(
	(value) => isRecord(value) && isFunction(value.open),
	"must be otlp({ url }) of 'runlet/cloudflare/traces'",
);
const basePath = v.pipe(v.string(), v.regex(/^(\/[\w.~-]+)+$/, 'must begin with / and not end with it, such as /ai'));
const ownName = v.optional(
	v.pipe(v.string(), v.regex(/^[A-Za-z_]\w*$/, 'must be the name of a binding, such as CHATS')),
);

const schema = v.object({
	agents: v.pipe(
		v.array(agent, 'must be a list of agents, each made by defineAgent'),
		v.nonEmpty('must have an agent'),
	),
	providers: v.optional(
		v.union(
			[v.array(provider), v.custom<(env: Env) => readonly ProviderRegistration[]>(isFunction)],
			'must be a list of providers, such as [providers.demo()], or a function of the environment that gives one',
		),
	),
	skills: v.optional(skillSource),
	plugins: v.optional(v.array(plugin, 'must be a list, such as [mcp, memory]')),
	authenticate: v.optional(v.custom<Authenticate>(isFunction, 'must be a function of the request and the environment')),
	onSpending: v.optional(v.custom<OnSpending>(isFunction, 'must be a function of the alert and the environment')),
	traces: v.optional(exporter),
	page: v.optional(v.boolean('must be true or false')),
	basePath: v.optional(basePath),
	bindings: v.optional(v.strictObject(v.entriesFromList(bindingNames, ownName))),
});

/** Throws `not_configured`, which names the field and its rule, or `invalid_agent` if two agents have the same name. */
export function assertOptions(options: RunletOptions): void {
	const owner = 'createRunlet';
	assertDate();
	if (!isRecord(options)) throw new RunletError('not_configured', `${owner}: call it with { agents: [...] }.`);
	assertKnownFields(options, optionNames, { code: 'not_configured', owner });
	check(schema, options, owner, 'not_configured');
	assertNoNamesakes(options.agents);
	for (const plugin of options.plugins ?? []) plugin.assertAgents?.(options.agents);
	assertHasPlugins(options);
	assertKnowsChildren(options);
}

/**
 * Throws `not_configured` for a Worker whose `compatibility_date` is before 2024-04-03. Before this date Durable
 * Objects cannot call each other by RPC, which Runlet needs.
 */
function assertDate(): void {
	const flags: unknown = Reflect.get(Object(Reflect.get(globalThis, 'Cloudflare')), 'compatibilityFlags');
	if (!isRecord(flags) || flags.rpc !== false) return;
	const message =
		'compatibility_date: too old, Runlet needs 2024-04-03 or later. In wrangler.toml: compatibility_date = "2026-07-30".';
	throw new RunletError('not_configured', message, { field: 'compatibility_date' });
}

/** Throws `invalid_agent` for an agent that needs a plugin which the Worker does not have. */
function assertHasPlugins({ agents, plugins = [] }: RunletOptions): void {
	for (const agent of agents)
		for (const { name, field = name, does } of listNeeds(agent)) {
			if (plugins.some((plugin) => plugin.name === name)) continue;
			const subject = `the agent ${agent.name} ${does}, and this Worker`;
			throw createMissing(name, { code: 'invalid_agent', subject, field });
		}
}

interface Need {
	readonly name: PluginName;
	/** The agent's field that needs the plugin. */
	readonly field?: string;
	/** What the agent does with the plugin, for the error message. */
	readonly does: string;
}

function* listNeeds(agent: Agent): Generator<Need> {
	if (agent.userMcp === true) yield { name: 'mcp', field: 'userMcp', does: 'has MCP servers' };
	if (agent.mcp?.length) yield { name: 'mcp', does: 'has MCP servers' };
	if (findMemoryOptions(agent) !== undefined) yield { name: 'memory', does: 'remembers' };
	const does = 'is woken by itself';
	if (agent.schedules?.length) yield { name: 'schedules', does };
	if (agent.tools.some(({ name }) => name === 'schedule_wakeup')) yield { name: 'schedules', field: 'tools', does };
	if (agent.onWaiting !== undefined) yield { name: 'links', field: 'onWaiting', does: 'tells when it waits' };
}

/** Throws `invalid_agent` if a tool passes its calls to an agent that the Worker does not have. */
function assertKnowsChildren({ agents }: RunletOptions): void {
	const names = new Set(agents.map(({ name }) => name));
	for (const { name, tools, skillTools } of agents)
		for (const tool of [...tools, ...skillTools]) {
			const missing = findChildWork(tool)?.agents.find((one) => !names.has(one));
			if (missing === undefined) continue;
			const message = `agents: the tool ${tool.name} of the agent ${name} gives its calls to the agent ${missing}, which is not in the list. Add it.`;
			throw new RunletError('invalid_agent', message, { field: 'agents' });
		}
}

function isFunction(value: unknown): boolean {
	return typeof value === 'function';
}
