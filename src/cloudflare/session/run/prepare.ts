import type { Actor } from '../../../core/base/actor.ts';
import { hashText } from '../../../core/base/bytes.ts';
import { describeStack } from '../../../core/base/errors.ts';
import type { TerminalEvent } from '../../../core/chat/index.ts';
import {
	type ChatOptions,
	type Fence,
	type RunEvent,
	resolveRegistration,
	userMessage,
} from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/loop.ts';
import { providerName } from '../../../core/tool/index.ts';
import { createCallSecrets } from '../../agent/call-secrets.ts';
import { connectChildren } from '../../agent/children.ts';
import { type Agent, chooseModel, findAgent, toChatOptions } from '../../agent/define.ts';
import { createFlowCheck } from '../../agent/flow.ts';
import { listCallLabels } from '../../agent/labels.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { AtCrashPoint, Runtime } from '../../agent/runtime.ts';
import { createShell } from '../../agent/shell.ts';
import type { Config } from '../../config/config.ts';
import { logThrown } from '../../log.ts';
import type { Limit } from '../../objects/budget.ts';
import type { DecisionLinks } from '../../objects/link-api.ts';
import { RunLog } from '../events/log.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { listAskers } from '../store/askers.ts';
import { createCallKey, findOpenCalls, readOpenCalls } from '../store/calls.ts';
import { InboundContext } from '../store/inbound.ts';
import type { MessageRecord } from '../store/messages.ts';
import type { Callback } from '../store/outbox.ts';
import { limitOutput, type RunRecord } from '../store/runs.ts';
import { createRunState, nameDirectory, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budgets.ts';
import { chooseCacheLifetime } from './cache-lifetime.ts';
import { Journal } from './journal.ts';
import type { SessionLabels } from './labels.ts';
import { findLedger, type OwnerLedger } from './lease.ts';
import {
	createChildren,
	createMemory,
	createRecall,
	createToolLoader,
	endFamily,
	type SessionRecall,
} from './load-tools.ts';
import { closeAccount, createSessionMeter, Embeddings, type SessionMeter } from './meter.ts';
import { type EndedRun, RunCounter, toLoggedRequest } from './metrics.ts';
import { createLeave, createParking } from './parking.ts';
import { replayCalls } from './rerun.ts';
import type { Work } from './run.ts';
import { Setups } from './setup.ts';
import { inSpan } from './span.ts';
import type { TraceExporter } from './trace-exporter.ts';
import { createTraceparents } from './trace-ids.ts';

export interface RunnerOptions {
	readonly runtime: Runtime;
	readonly store: SessionStore;
	/** Reads the environment when it is needed, so that a mistake in the environment fails only one run. */
	readonly config: () => Config;
	readonly links?: CallbackLinks;
	readonly traces?: TraceExporter;
	readonly push?: TaskUpdates;
}

/** The part of `runlet/cloudflare/a2a` that callbacks use. */
export interface TaskUpdates {
	/** @internal Makes the request that tells a receiver of the end of a run. */
	createRequest(
		session: Pick<RunnerOptions, 'store' | 'config'>,
		callback: Callback,
		event: TerminalEvent,
	): Promise<{ readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string }>;
}

/** The part of `runlet/cloudflare/links` that callbacks use. */
export interface CallbackLinks {
	/**
	 * @internal Makes the links to decide about the waiting calls. The keys are the ids of the calls. Returns nothing
	 * for a callback without links.
	 *
	 * @param since when the run began to wait, in milliseconds since 1970
	 */
	createForCallback(
		session: Pick<RunnerOptions, 'runtime' | 'store' | 'config'>,
		callback: Callback,
		since: number,
	): Promise<Readonly<Record<string, DecisionLinks>> | undefined>;
}

/** The session of a run, or of a call from outside of runs. For a call, the session need not be stored yet. */
type OptionsSession = Pick<
	SessionRecord,
	'agent' | 'model' | 'owner' | 'user' | 'createdBy' | 'metadata' | 'clientTools' | 'rerun'
> &
	Partial<Pick<SessionRecord, 'id' | 'parent' | 'shards'>>;

interface OptionsSources {
	readonly runtime: Runtime;
	readonly config: Config;
	readonly connections?: McpConnections;
	readonly store?: SessionStore;
	/** What flowed into the session. If it is missing, the session counts as one with text from outside. */
	readonly labels?: SessionLabels;
	/** Missing for a call from outside of runs. */
	readonly run?: Pick<RunRecord, 'id' | 'origin'>;
	/** Lists the actors whose messages led to the run or the call, the newest last. */
	readonly askers?: () => readonly Actor[];
}

/** The options of a session's runs and calls. A run adds `recall` itself, because its account pays for the vectors. */
interface AgentOptions {
	readonly options: Omit<ChatOptions, 'recall'> & Pick<Agent, 'tools' | 'skillTools'>;
	readonly recall?: SessionRecall;
	readonly embeddings: Embeddings;
}

/** Creates the options that depend on the agent and the environment, for all runs and calls of a session. */
export function createAgentOptions(
	session: OptionsSession,
	{ runtime, config, connections, store, labels, run, askers = () => [] }: OptionsSources,
): AgentOptions {
	const agent = findAgent(runtime.agents, session.agent);
	const { id, clientTools = [], owner, user, metadata = {}, parent, rerun } = session;
	const model = chooseModel(agent, session.model, config.model, rerun !== undefined);
	const providers = runtime.providers(config);
	const embeddings = new Embeddings({ providers, owner: findLedger(config, session) });
	const { tools, recall } = createMemory(runtime, { config, embeddings, session, store, labels });
	// A child session ends with its task.
	const isWakeable = id !== undefined && parent === undefined && rerun === undefined;
	const place = isWakeable ? { session: id, directory: nameDirectory({ ...session, id }) } : undefined;
	const options = {
		...toChatOptions(agent),
		model,
		providers,
		modelContextWindow: resolveRegistration({ model, providers })?.contextWindow,
		tools: [...agent.tools, ...tools, ...clientTools.map((tool) => ({ ...tool, manual: true }))],
		loadTools: createToolLoader(agent, {
			config,
			owner,
			clientTools: clientTools.map(({ name }) => name),
			connections,
		}),
		context: {
			env: config.env,
			web: config.web,
			shell: createShell(config),
			wakeups:
				place && runtime.schedules?.createWakeups({ ...place, owner, user, directories: config.directories, askers }),
		},
		skillResolver: createResolver(agent, {
			runtime,
			config,
			embedFn: (embedModel, texts) => embeddings.embed(embedModel, texts),
			reader: {
				owner,
				user,
				metadata,
				get askedBy() {
					return askers().at(-1);
				},
			},
		}),
		onToolThrow: (tool: string, thrown: unknown) =>
			logThrown('tool.threw', thrown, {
				...{ tool, session: id, run: run?.id, request: toLoggedRequest(run?.origin?.requestId, id) },
				local: config.local !== undefined,
			}),
		showThrown: config.local === undefined ? undefined : describeStack,
		inSpan,
		secrets: createCallSecrets(agent, config, { connections, session: id, run: run?.id }),
		checkFlow: labels && run && createFlowCheck(agent.flow, labels),
		fence: labels && run && id !== undefined ? createFence(id, labels, clientTools) : undefined,
		endUser: agent.endUser === true && user !== undefined ? hashText(JSON.stringify([owner, user])) : undefined,
	};
	return { options: rerun === undefined ? options : replayCalls(options, rerun, store), recall, embeddings };
}

/**
 * Creates the fence of a session. Strangers know neither the id of the session nor the key that is made of it. The model
 * reads the results of a client as the client sends them.
 */
function createFence(id: string, { words }: SessionLabels, clientTools: readonly { readonly name: string }[]): Fence {
	const ofClient = new Set(clientTools.map(({ name }) => providerName(name)));
	return {
		key: hashText(JSON.stringify(['fence', id])),
		isOutside: (tool) => !ofClient.has(providerName(tool)) && listCallLabels(tool, words).includes('outside'),
	};
}

export interface RunContext extends Pick<OptionsSources, 'runtime' | 'config' | 'connections'> {
	readonly session: SessionRecord;
	readonly store: SessionStore;
	readonly labels: SessionLabels;
	readonly files: SessionFiles;
	/** Returns the budget of the session, which may be raised during the run. */
	readonly limit: () => Limit;
	readonly ledger: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
	/** Resolves when the object's alarm rings. */
	readonly park: () => Promise<void>;
	readonly onSteered: (id: number) => void;
	readonly onEnded: (ended: EndedRun) => void;
}

/**
 * Prepares a run within the transaction that stores it: adds the options that depend on its message to the
 * options of the agent.
 * @param given the events that readers of an interrupted run were shown, and where that run continues
 */
export function prepareRun(
	context: RunContext,
	record: RunRecord,
	given: {
		readonly events?: readonly RunEvent[];
		readonly resume?: Resumption;
	} = {},
): Work {
	const { session, store, labels, files, limit, atCrashPoint, onSteered, onEnded, config } = context;
	const { id: sessionId, owner, user, metadata } = session;
	const askers = () => listAskers(store);
	const { options, recall, embeddings } = createAgentOptions(
		{ ...session, model: record.model },
		{ ...context, run: record, askers },
	);
	const counter = new RunCounter(given.events);
	const history = readHistory(store, options);
	const inbound = new InboundContext(history, { owner, user });
	const open = findOpenCalls(store);
	const answered = new Map(open.flatMap(({ call, noted }) => (noted?.inbound ? [[call.id, noted.inbound]] : [])));
	for (const origin of answered.values()) inbound.accept(userMessage(''), origin);
	const meter = embeddings.attach(createMeter(context, record, options));
	const sync = () => store.sync();
	const { resume } = given;
	const shared = { store, record, resume, sync, meter, atCrashPoint };
	const lastPrompt = history.findLast(({ message }) => message.role === 'assistant')?.prompt;
	const settings = history.findLast(({ setup }) => setup?.settings !== undefined)?.setup?.settings;
	const setups = new Setups(findAgent(context.runtime.agents, session.agent), { prompt: lastPrompt, settings });
	const journal = new Journal({ ...shared, answered, inbound, files, onSteered, setups });
	const stop = new AbortController();
	const canPark = options.background === true || store.begunReply !== undefined;
	const leaveReply = createLeave(store, options.providers);
	const children = () => createChildren({ store, session, record, config, limit, labels });
	return {
		...shared,
		journal,
		stop,
		counter,
		log: new RunLog(record.n, given.events),
		history: history.map(({ message }) => message),
		options: {
			...options,
			...record.terms,
			...journal.hooks,
			signal: stop.signal,
			toolChoice: record.toolChoice,
			maxOutputTokens: takeShorter(options.maxOutputTokens, record.maxOutputTokens),
			stopAfter: record.stopAfter,
			context: {
				...options.context,
				sessionId,
				runId: record.id,
				owner,
				user,
				metadata,
				askedBy: () => inbound.askedBy,
				createKey: (callId) => createCallKey(session, store.messages.lastTurn(), callId),
				createTraceparent: createTraceparents(store, record),
				state: createRunState(store.state),
				workspace: files.openForRun(record),
			},
			skillContext: () => inbound.current,
			recall: createRecall({ store, record, history, recall, isWhole: options.contextFull !== 'truncate' }),
			cache: options.cache === 'auto' ? chooseCacheLifetime(history) : options.cache,
			cacheKey: hashText(sessionId),
			parking: canPark ? createParking({ ...shared, journal, since: record.createdAt, park: context.park }) : undefined,
			lastPrompt,
			tools: connectChildren(options.tools, children),
			skillTools: connectChildren(options.skillTools, children),
			openCalls: readOpenCalls(open),
			takenIds: store.calls.listAskedIds(),
		},
		lastEvent: (event) =>
			event.type === 'done' ? limitOutput({ ...event, budget: { ...readBudgetState(store, limit()) } }) : event,
		onEnd: (event) => {
			if (event.type === 'awaiting') {
				for (const call of event.toolCalls ?? [])
					store.calls.note(store.messages.lastTurn(), call, 'asked', Date.now());
				store.reports.noteWait();
				const { onWaiting } = findAgent(context.runtime.agents, session.agent);
				// The parent asks the questions of its children.
				if (onWaiting !== undefined && session.parent === undefined)
					store.callbacks.add({ run: record.n, runId: record.id, url: onWaiting.callback });
			}
			embeddings.end();
			leaveReply();
			// A request is still open only if its reply was not stored.
			closeAccount(store, store.runs.get(record.n)?.draft);
			endFamily(store, session, event);
		},
		onEnded: (event, firstAt) =>
			onEnded({ event, tally: counter.tally, transport: inbound.current.transport, firstAt }),
	};
}

function createMeter(
	{ session, store, limit, ledger, atCrashPoint }: RunContext,
	record: RunRecord,
	options: Pick<ChatOptions, 'providers'>,
): SessionMeter {
	const findModel = (model: string) => resolveRegistration({ ...options, model });
	return createSessionMeter({
		...{ agent: session.agent, store, record, atCrashPoint, limit, owner: ledger },
		computePrice: (model, tokens) => findModel(model)?.computePrice?.(model, tokens),
		computeMost: (model, asked) => findModel(model)?.computeMost?.(model, asked),
		mayThink: (model) => findModel(model)?.meta?.hidesThinking === true,
		contextWindow: (model) => findModel(model)?.contextWindow?.(model),
	});
}

/** Returns the budget of a session: its own budget, else its agent's budget, else the budget of every session. */
export function findLimit({ agents }: Runtime, store: SessionStore, config: Config): Limit {
	const { budget, agent } = store.session();
	return budget ?? agents.find(({ name }) => name === agent)?.budget ?? config.sessionBudget;
}

function takeShorter(a: number | undefined, b: number | undefined): number | undefined {
	return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** How many characters of a conversation a run can read: more than any model takes, less than the object's memory. */
const mostCharacters = 32_000_000;

/** Reads the messages that can be sent to a model: from the newest summary on, and only as many as can fit. */
function readHistory(
	store: SessionStore,
	{ contextFull, maxContextTokens }: Pick<ChatOptions, 'contextFull' | 'maxContextTokens'>,
): readonly MessageRecord[] {
	const characters = contextFull === 'truncate' ? toCharacters(maxContextTokens) : mostCharacters;
	return store.messages.newest({ from: store.summary, characters });
}

function toCharacters(tokens = 1_000_000): number {
	return Math.min(mostCharacters, 16 * tokens);
}
