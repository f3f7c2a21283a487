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
import type { Authenticate } from '../auth/account.ts';
import { type BindingNames, bindingNames } from '../config/bindings.ts';
import type { LinkSupport } from '../links/index.ts';
import { createMissing, type PartName } from '../objects/missing.ts';
import type { McpSupport, Remembrance, ScheduleSupport } from '../routes/parts.ts';
import type { OnSpending } from './spending.ts';

/** What `createRunlet` takes. */
export interface RunletOptions {
	/** The agents that the Worker serves, each made by `defineAgent`. */
	readonly agents: readonly Agent[];
	/**
	 * Who talks to the models: a list, or a function of the environment, which is called once for each environment. By
	 * default it is every provider that Runlet brings, each with its key from the environment.
	 */
	readonly providers?: readonly ProviderRegistration[] | ((env: Env) => readonly ProviderRegistration[]);
	/**
	 * Where the skills come from that agents name: a resolver, or a function of the environment and the session's owner that
	 * gives one. By default they are those that were published to KV. If this is set, `SKILLS` and `PUBLISHERS` need not be bound.
	 */
	readonly skills?: SkillSource;
	/** Servers of the Model Context Protocol, and agents as such servers: `mcp` of `runlet/cloudflare/mcp`. */
	readonly mcp?: McpSupport;
	/** What agents remember beyond a session: `memory` of `runlet/cloudflare/memory`. */
	readonly memory?: Remembrance;
	/** When agents and sessions are woken by themselves: `schedules` of `runlet/cloudflare/schedules`. */
	readonly schedules?: ScheduleSupport;
	/** Links to decide about calls, and who is told when a run waits: `links` of `runlet/cloudflare/links`. */
	readonly links?: LinkSupport;
	/**
	 * Says which account of your product a request comes from: `{ owner, scopes? }`, or `undefined` for none, which is
	 * `401`. Without it callers need API keys. Session tokens, API keys and webhooks work beside it.
	 */
	readonly authenticate?: Authenticate;
	/**
	 * Is told when 50, 80 and 100 % of an owner's day, or of a budget of a user, are spent: once for each, in the object of
	 * the owner's ledger. It is told again later if it throws or takes more than 15 seconds (docs/budgets.md, "Alerts").
	 */
	readonly onSpending?: OnSpending;
	/** The path that the routes stand under in another Worker, such as `/ai`. */
	readonly basePath?: string;
	/** Your own names of bindings, by their default names: `{ SESSIONS: 'CHATS' }`. */
	readonly bindings?: BindingNames;
}

const optionNames = [
	'agents',
	'providers',
	'skills',
	'mcp',
	'memory',
	'schedules',
	'links',
	'authenticate',
	'onSpending',
	'basePath',
	'bindings',
] as const satisfies (keyof RunletOptions)[];

const agent = v.custom<Agent>(
	(value) => isRecord(value) && typeof value.name === 'string' && Array.isArray(value.skillTools),
	'must be made by defineAgent',
);
const provider = v.custom<ProviderRegistration>((value) => isRecord(value) && typeof value.detect === 'function');
const mcpSupport = v.custom<McpSupport>(
	(value) => isRecord(value) && isFunction(value.routes),
	"must be mcp of 'runlet/cloudflare/mcp'",
);
const memorySupport = v.custom<Remembrance>(
	(value) => isRecord(value) && isFunction(value.createTools),
	"must be memory of 'runlet/cloudflare/memory'",
);
const scheduleSupport = v.custom<ScheduleSupport>(
	(value) => isRecord(value) && isFunction(value.open),
	"must be schedules of 'runlet/cloudflare/schedules'",
);
const linkSupport = v.custom<LinkSupport>(
	(value) => isRecord(value) && isFunction(value.open),
	"must be links of 'runlet/cloudflare/links'",
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
	mcp: v.optional(mcpSupport),
	memory: v.optional(memorySupport),
	schedules: v.optional(scheduleSupport),
	links: v.optional(linkSupport),
	authenticate: v.optional(v.custom<Authenticate>(isFunction, 'must be a function of the request and the environment')),
	onSpending: v.optional(v.custom<OnSpending>(isFunction, 'must be a function of the alert and the environment')),
	basePath: v.optional(basePath),
	bindings: v.optional(v.strictObject(v.entriesFromList(bindingNames, ownName))),
});

/** Throws `not_configured`, which names the field and says what it must be, and `invalid_agent` for two of one name. */
export function assertOptions(options: RunletOptions): void {
	const owner = 'createRunlet';
	assertDate();
	if (!isRecord(options)) throw new RunletError('not_configured', `${owner}: call it with { agents: [...] }.`);
	assertKnownFields(options, optionNames, { code: 'not_configured', owner });
	check(schema, options, owner, 'not_configured');
	assertNoNamesakes(options.agents);
	options.mcp?.assertServers(options.agents);
	for (const agent of options.agents) {
		options.schedules?.assertSchedules(agent);
		options.links?.assertWaiting(agent);
	}
	assertHasParts(options);
	assertKnowsChildren(options);
}

/**
 * Throws `not_configured` for a Worker whose `compatibility_date` is before 2024-04-03, the date of the RPC between Durable
 * Objects: much that Runlet calls is not there.
 */
function assertDate(): void {
	const flags: unknown = Reflect.get(Object(Reflect.get(globalThis, 'Cloudflare')), 'compatibilityFlags');
	if (!isRecord(flags) || flags.rpc !== false) return;
	const message =
		'compatibility_date: too old, Runlet needs 2024-04-03 or later. In wrangler.toml: compatibility_date = "2026-07-30".';
	throw new RunletError('not_configured', message, { field: 'compatibility_date' });
}

/** Throws `invalid_agent` for an agent that needs a part of Runlet which the Worker was not given. */
function assertHasParts(options: RunletOptions): void {
	for (const agent of options.agents)
		for (const { part, field = part, does } of listNeeds(agent)) {
			if (options[part] !== undefined) continue;
			const says = `the agent ${agent.name} ${does}, and this Worker`;
			throw createMissing(part, { code: 'invalid_agent', says, field });
		}
}

interface Need {
	readonly part: PartName;
	/** The field of the agent by which it needs the part. */
	readonly field?: string;
	/** What it does with it, for the message. */
	readonly does: string;
}

function* listNeeds(agent: Agent): Generator<Need> {
	if (agent.userMcp === true) yield { part: 'mcp', field: 'userMcp', does: 'has MCP servers' };
	if (agent.mcp?.length) yield { part: 'mcp', does: 'has MCP servers' };
	if (findMemoryOptions(agent) !== undefined) yield { part: 'memory', does: 'remembers' };
	const does = 'is woken by itself';
	if (agent.schedules?.length) yield { part: 'schedules', does };
	if (agent.tools.some(({ name }) => name === 'schedule_wakeup')) yield { part: 'schedules', field: 'tools', does };
	if (agent.onWaiting !== undefined) yield { part: 'links', field: 'onWaiting', does: 'tells when it waits' };
}

/** Throws `invalid_agent` for a tool that gives its calls to an agent that the Worker does not have. */
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
