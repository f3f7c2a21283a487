import type { Actor } from '../../../core/base/actor.ts';
import { hashText } from '../../../core/base/bytes.ts';
import { describeStack } from '../../../core/base/errors.ts';
import { type ChatOptions, type RunEvent, resolveRegistration, userMessage } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/run-state.ts';
import { toChatOptions } from '../../agent/chat-options.ts';
import { connectChildren } from '../../agent/children.ts';
import { type Agent, chooseModel, findAgent } from '../../agent/define.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { AtCrashPoint, Runtime } from '../../agent/runtime.ts';
import { createShell } from '../../agent/shell.ts';
import type { SkillReader } from '../../agent/skill-source.ts';
import type { Config } from '../../config/config.ts';
import { logThrown } from '../../log.ts';
import type { Limit } from '../../objects/budget.ts';
import { RunLog } from '../events/log.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { listAskers } from '../store/askers.ts';
import { createCallKey, findOpenCalls, readOpenCalls } from '../store/calls.ts';
import { InboundContext } from '../store/inbound.ts';
import type { MessageRecord } from '../store/message-record.ts';
import { limitOutput } from '../store/run-end.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionRecord } from '../store/session-row.ts';
import { createRunState } from '../store/state.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budgets.ts';
import { chooseCacheLifetime } from './cache-lifetime.ts';
import type { CallbackLinks } from './callback-links.ts';
import { createChildren, endFamily } from './children.ts';
import { Embeddings } from './embedding-meter.ts';
import type { OwnerLedger } from './lease.ts';
import { createMemory, createRecall, createToolLoader, type SessionRecall } from './load-tools.ts';
import { closeAccount, createSessionMeter } from './meter.ts';
import { type Ended, RunCounter } from './metrics.ts';
import { findLedger } from './owner.ts';
import type { Work } from './run.ts';

/** The parts of a session that a run uses. */
export interface RunContext {
	readonly store: SessionStore;
	readonly files: SessionFiles;
	readonly options: ReturnType<typeof createChatOptions>;
	/** The budget of the session. It is read each time, because it may be raised. */
	readonly limit: () => Limit;
	/** Where the sessions are that work for this one. */
	readonly sessions: () => Config['sessions'];
	readonly ledger: OwnerLedger;
	readonly atCrashPoint: AtCrashPoint;
	readonly onSteered: (id: number) => void;
	/** Who is told when the run begins to wait. */
	readonly onWaiting: Agent['onWaiting'];
	/** Told once the run's end is stored. */
	readonly onEnded: (ended: Ended) => void;
}

/**
 * Reads all that a run needs, in the transaction that stores it.
 *
 * @param taken what the readers of a run that is taken up were shown, and how it goes on.
 */
export function prepareRun(
	context: RunContext,
	record: RunRecord,
	taken: { readonly events?: readonly RunEvent[]; readonly resume?: Resumption } = {},
): Work {
	const { recall, embeddings, ...options } = context.options;
	const { store, files, limit, sessions, ledger, atCrashPoint, onSteered, onWaiting, onEnded } = context;
	const { id: sessionId, owner, user, metadata, parent } = store.session();
	const counter = new RunCounter(taken.events);
	const history = readHistory(store, options);
	const inbound = new InboundContext(history, { owner, user });
	const open = findOpenCalls(store);
	const answered = new Map(open.flatMap(({ call, noted }) => (noted?.inbound ? [[call.id, noted.inbound]] : [])));
	for (const said of answered.values()) inbound.accept(userMessage(''), said);
	const children = () => createChildren({ store, record, sessions: sessions(), limit });
	return {
		store,
		record,
		log: new RunLog(record.n, taken.events),
		counter,
		resume: taken.resume,
		inbound,
		answered,
		files,
		sync: () => store.sync(),
		atCrashPoint,
		options: {
			...options,
			context: {
				...options.context,
				sessionId,
				runId: record.id,
				owner,
				user,
				metadata,
				askedBy: () => inbound.askedBy,
				createKey: (callId) => createCallKey(store.session(), store.messages.lastTurn(), callId),
				state: createRunState(store.state),
				workspace: files.openForRun(record),
			},
			skillContext: () => inbound.current,
			recall: createRecall({ store, record, history, recall, isWhole: options.contextFull !== 'truncate' }),
			cache: options.cache === 'auto' ? chooseCacheLifetime(history) : options.cache,
			cacheKey: hashText(sessionId),
			lastPrompt: history.findLast(({ message }) => message.role === 'assistant')?.prompt,
			tools: connectChildren(options.tools, children),
			skillTools: connectChildren(options.skillTools, children),
			stopAfter: record.stopAfter,
			openCalls: readOpenCalls(open),
			takenIds: store.calls.listAskedIds(),
		},
		history: history.map(({ message }) => message),
		meter: embeddings.attach(
			createSessionMeter({
				agent: store.session().agent,
				store,
				record,
				atCrashPoint,
				limit,
				computePrice: (model, tokens) => resolveRegistration({ ...options, model })?.computePrice?.(model, tokens),
				computeMost: (model, asked) => resolveRegistration({ ...options, model })?.computeMost?.(model, asked),
				mayThink: (model) => resolveRegistration({ ...options, model })?.meta?.hidesThinking === true,
				contextWindow: (model) => resolveRegistration({ ...options, model })?.contextWindow?.(model),
				owner: ledger,
			}),
		),
		lastEvent: (event) =>
			event.type === 'done' ? limitOutput({ ...event, budget: { ...readBudgetState(store, limit()) } }) : event,
		onSteered,
		onEnd: (event) => {
			const asked = event.type === 'awaiting' ? (event.toolCalls ?? []) : [];
			for (const call of asked) store.calls.note(store.messages.lastTurn(), call, 'asked', Date.now());
			if (event.type === 'awaiting') {
				store.reports.noteWait();
				// The parent asks the questions of its children.
				if (onWaiting !== undefined && parent === undefined)
					store.callbacks.add({ run: record.n, runId: record.id, url: onWaiting.callback });
			}
			embeddings.end();
			// A request is still open only if its message could not be stored.
			closeAccount(store, store.runs.get(record.n)?.draft);
			endFamily(store, event);
		},
		onEnded: (event, firstAt) =>
			onEnded({ event, tally: counter.tally, transport: inbound.current.transport, firstAt }),
	};
}

/** The parts of a runner. */
export interface RunnerOptions {
	readonly runtime: Runtime;
	readonly store: SessionStore;
	/** The environment, read when it is needed: a mistake in it fails one run. */
	readonly config: () => Config;
	/** Decision links, if the Worker has them. */
	readonly links?: CallbackLinks;
}

/** The resources of a session for its runs and calls. */
interface RunResources {
	/** The connections to its MCP servers. */
	readonly connections?: McpConnections;
	/** Its rows, which say whether it holds text from outside. Without them it may. */
	readonly store?: SessionStore;
	/** Who asks for the new run, before a row says it. */
	readonly askedBy?: Actor;
}

/** The options of the loop. What is recalled is asked for by the run, whose account pays for vectors. */
type SessionChatOptions = Omit<ChatOptions, 'recall'> &
	Pick<Agent, 'tools' | 'skillTools'> & { readonly recall?: SessionRecall; readonly embeddings: Embeddings };

/** Creates the options of the loop from the session's agent. */
export function createChatOptions(
	runtime: Runtime,
	config: Config,
	session: Pick<SessionRecord, 'agent' | 'model' | 'owner' | 'user' | 'createdBy' | 'metadata' | 'clientTools'> &
		Partial<Pick<SessionRecord, 'id' | 'parent'>> &
		Pick<RunRecord, 'maxOutputTokens' | 'toolChoice' | 'terms'>,
	{ connections, store, askedBy }: RunResources = {},
): SessionChatOptions {
	const agent = findAgent(runtime.agents, session.agent);
	const { clientTools = [], owner, user, metadata = {} } = session;
	const model = chooseModel(agent, session.model, config.model);
	const reader: SkillReader = {
		owner,
		user,
		metadata,
		// Read only where somebody asks for it.
		get askedBy() {
			return askedBy ?? (store && listAskers(store).at(-1));
		},
	};
	const providers = runtime.providers(config);
	const embeddings = new Embeddings({ providers, owner: findLedger(config, session) });
	const { tools, recall } = createMemory(runtime, { config, embeddings, session, store });
	return {
		...toChatOptions(agent),
		recall,
		embeddings,
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
			// A child session ends with its task.
			wakeups:
				session.id === undefined || session.parent !== undefined
					? undefined
					: runtime.schedules?.createWakeups({
							session: session.id,
							owner,
							user,
							directories: config.directories,
							askers: () => (store === undefined ? (askedBy === undefined ? [] : [askedBy]) : listAskers(store)),
						}),
		},
		skillResolver: createResolver(agent, {
			runtime,
			config,
			embedFn: (embedModel, texts) => embeddings.embed(embedModel, texts),
			reader,
		}),
		onToolThrow: (tool, thrown) => logThrown('tool.threw', thrown, { tool, local: config.local !== undefined }),
		showThrown: config.local === undefined ? undefined : describeStack,
		toolChoice: session.toolChoice,
		endUser: agent.endUser === true && user !== undefined ? hashText(JSON.stringify([owner, user])) : undefined,
		...session.terms,
		maxOutputTokens: takeShorter(agent.maxOutputTokens, session.maxOutputTokens),
	};
}

/** Finds what a session may spend: its own budget, else its agent's, else that of every session. */
export function findLimit({ runtime, store, config }: RunnerOptions): Limit {
	const { budget, agent } = store.session();
	return budget ?? runtime.agents.find(({ name }) => name === agent)?.budget ?? config().sessionBudget;
}

function takeShorter(a: number | undefined, b: number | undefined): number | undefined {
	return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** Characters of a conversation that are read for a run. That is more than any model takes, and fits the object's memory. */
const mostCharacters = 32_000_000;

/** Reads what a model may be sent of the conversation: from the newest summary on, and no more than could fit. */
function readHistory(
	store: SessionStore,
	{ contextFull, maxContextTokens }: Pick<ChatOptions, 'contextFull' | 'maxContextTokens'>,
): readonly MessageRecord[] {
	const characters = contextFull === 'truncate' ? toCharacters(maxContextTokens) : mostCharacters;
	return store.messages.newest({ from: store.summary, characters });
}

/** Returns more characters than fit into a number of tokens, however they are counted. */
function toCharacters(tokens = 1_000_000): number {
	return Math.min(mostCharacters, 16 * tokens);
}
