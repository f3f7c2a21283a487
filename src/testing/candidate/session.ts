import { type Agent, toChatOptions } from '../../cloudflare/agent/define.ts';
import { InboundContext } from '../../cloudflare/session/store/inbound.ts';
import { toRunletError } from '../../core/base/errors.ts';
import { listOpenCalls } from '../../core/chat/message.ts';
import { readUsage } from '../../core/chat/model-error.ts';
import { findObstacle } from '../../core/chat/registry.ts';
import { type ChatUsage, chat, type Message, RunletError, type RunResult } from '../../core/index.ts';
import { noEnv } from '../../core/tool/tool.ts';
import type { ReplayClock } from '../../replay/clock.ts';
import { hideReplaced, toConversation } from '../../replay/history.ts';
import type { RecordedMessage, Recording } from '../../replay/recording.ts';
import { createResolver, readInbound } from '../../replay/run.ts';
import { openSession, type ReplayedSession } from '../../replay/session.ts';
import { loopErrors } from '../../replay/tape.ts';
import { type RecordedAnswer, SessionAnswers } from './answers.ts';
import { createEmptyChild, findChild } from './children.ts';
import { addTurns, type Figures } from './figures.ts';
import type { CandidateOptions } from './options.ts';
import { type CandidateCall, CandidateTools, listLoadedTools } from './tools.ts';

/** One run of a candidate over a recording. */
export interface Trial {
	/** How the last run of the session ended. */
	readonly end: 'done' | 'awaiting' | 'halted' | 'error';
	/** The last answer. */
	readonly text: string;
	/** Why the session ended with an error. */
	readonly error?: { readonly code: string; readonly message: string };
	readonly figures: Figures;
	/** The calls of the session and of the agents that worked for it, but not those that read skills. */
	readonly calls: readonly CandidateCall[];
	/** The recorded calls of the session that the candidate did not make. */
	readonly missed: readonly Pick<RecordedAnswer, 'tool' | 'input'>[];
}

/** What all sessions of a trial share. */
export interface TrialContext {
	readonly options: CandidateOptions;
	readonly clock: ReplayClock;
	/** How many further sessions of other agents may begin. */
	childrenLeft: number;
}

interface Plan {
	readonly recording: Recording;
	readonly agent: Agent;
	readonly model: string;
	readonly path: readonly string[];
	/** The task of an agent that works for another one. Missing if the recorded people speak. */
	readonly task?: string;
}

/** The greatest depth of agents that work for agents, as in a Worker. */
const deepest = 3;

/** Plays a session with a candidate. Never rejects for what the candidate does. */
export function playSession(plan: Plan, context: TrialContext): Promise<Trial & { readonly output?: unknown }> {
	return new CandidateSession(plan, context).play();
}

class CandidateSession {
	readonly #plan: Plan;
	readonly #context: TrialContext;
	readonly #session: ReplayedSession;
	readonly #answers: SessionAnswers;
	readonly #tools: CandidateTools;
	readonly #inbound: InboundContext;
	readonly #calls: CandidateCall[] = [];
	readonly #used = new Set<Recording>();
	readonly #counts = { steps: 0, calls: 0, seconds: 0 };
	#usages: readonly ChatUsage[] = [];
	#conversation: readonly Message[] = [];
	#prompt: chat.MessageContext['prompt'];
	#last: Pick<Trial, 'end' | 'error'> & { readonly output?: unknown } = { end: 'done' };

	constructor(plan: Plan, context: TrialContext) {
		const { recording, agent, path } = plan;
		const { env, skills, tools, reads } = context.options;
		const own = { ...agent, name: recording.session.agent };
		const session = openSession(recording, { agents: [own], env, skills, tools }, context.clock);
		if (session === undefined) throw new RunletError('not_found', `The agent ${own.name} is missing.`);
		const { clientTools = [], owner, user } = recording.session;
		const known = [...agent.tools, ...agent.skillTools, ...listLoadedTools(session), ...clientTools];
		this.#plan = plan;
		this.#context = context;
		this.#session = session;
		this.#answers = new SessionAnswers(recording, known);
		this.#inbound = new InboundContext([], { owner, user });
		this.#tools = new CandidateTools({
			...{ session, path, answers: this.#answers, readsLive: reads === 'live' },
			report: (call) => this.#calls.push(call),
			runAgent: (name, task) => this.#runAgent(name, task),
		});
	}

	async play(): Promise<Trial & { readonly output?: unknown }> {
		const { recording, task } = this.#plan;
		if (task !== undefined) await this.#send(chat.userMessage(task), {});
		else {
			for (const recorded of hideReplaced(recording.messages).filter(isFromPerson)) {
				const [message] = toConversation([recorded]);
				if (message === undefined) continue;
				this.#context.clock.set(recorded.createdAt);
				this.#inbound.accept(message, readInbound(recorded.stored?.inbound));
				await this.#send(message, recording.runs.find(({ id }) => id === recorded.runId)?.stored.terms ?? {});
				if (this.#last.error !== undefined && !loopErrors.has(this.#last.error.code)) break;
			}
		}
		const answer = this.#conversation.findLast(({ role }) => role === 'assistant');
		return {
			...this.#last,
			text: answer === undefined ? '' : chat.messageText(answer),
			figures: { ...this.#counts, ...addTurns(this.#usages) },
			calls: this.#calls,
			missed: this.#answers.left.map(({ tool, input }) => ({ tool, input })),
		};
	}

	/** Sends a message, and goes on after calls that wait for a recorded decision. */
	async #send(message: Message, terms: Readonly<Record<string, unknown>>): Promise<void> {
		const closed = listOpenCalls(this.#conversation).map(({ id }) =>
			chat.toolResultMessage({ id, output: 'Nobody answered this call.', isError: true }),
		);
		this.#conversation = [...this.#conversation, ...closed, message];
		const begun = performance.now();
		const most = this.#counts.steps + (this.#plan.agent.maxIterations ?? 10);
		let openCalls: ReadonlyMap<string, chat.OpenCallState> = new Map();
		for (;;) {
			const result = await this.#run({ ...terms, openCalls, maxIterations: Math.max(0, most - this.#counts.steps) });
			const waiting = result?.metadata.manualToolCalls ?? [];
			if (result?.status !== 'awaiting_tools' || waiting.length === 0) break;
			openCalls = new Map(
				waiting.map((call) => {
					const input = this.#tools.reserve(call);
					return [call.id, { isApproved: true, ...(input && { input }) }];
				}),
			);
		}
		this.#counts.seconds += (performance.now() - begun) / 1_000;
	}

	async #run(options: Pick<chat.ChatOptions, 'openCalls' | 'maxIterations'>): Promise<RunResult | undefined> {
		const { agent, model, recording } = this.#plan;
		const { owner, user, metadata = {}, id: sessionId } = recording.session;
		const { env, state, workspace } = this.#session;
		const produced: Message[] = [];
		const usages: ChatUsage[] = [];
		const started = chat.run(
			{
				...toChatOptions(agent),
				...options,
				...this.#tools.offer(createResolver(this.#session, this.#inbound)),
				...{ model, fallbacks: [], mode: 'auto', providers: this.#context.options.providers },
				// What the provider runs, nobody here can answer or stop.
				providerTools: undefined,
				lastPrompt: this.#prompt,
				skillContext: () => this.#inbound.current,
				context: {
					...{ sessionId, owner, user, metadata, env: { ...noEnv, ...env }, state, workspace },
					askedBy: () => this.#inbound.askedBy,
				},
				onMessage: (message, about) => {
					const usage = about.turn?.usage ?? about.usage;
					if (usage !== undefined) usages.push(usage);
					if (about.inFrontOf === undefined) produced.push(message);
					this.#take(message, about);
				},
			},
			this.#conversation,
		);
		try {
			const result = await started.result;
			this.#conversation = result.messages;
			this.#usages = [...this.#usages, ...usages];
			this.#last = { end: toEnd(result), ...('output' in result && { output: result.output }) };
			return result;
		} catch (thrown) {
			const error = toRunletError(thrown);
			const usage = readUsage(error);
			this.#conversation = [...this.#conversation, ...produced];
			this.#usages = [...this.#usages, ...(usage === undefined ? usages : [usage])];
			this.#last = { end: 'error', error: { code: error.code, message: error.message } };
			return undefined;
		}
	}

	#take(message: Message, { prompt, inFrontOf }: chat.MessageContext): void {
		if (inFrontOf !== undefined) return;
		if (message.role === 'tool') this.#tools.end(message.toolCallId);
		if (message.role !== 'assistant') return;
		this.#prompt = prompt;
		this.#counts.steps++;
		this.#counts.calls += message.toolCalls?.length ?? 0;
		this.#tools.begin(message.toolCalls ?? []);
	}

	/** Lets another agent work in a session of its own. Its calls are answered by the recorded child that is nearest. */
	async #runAgent(name: string, task: string): Promise<{ readonly result: unknown } | undefined> {
		const { recording, path } = this.#plan;
		const { agents, providers } = this.#context.options;
		const agent = agents.find((one) => one.name === name);
		const child = findChild(recording, name, task, this.#used);
		const model = agent?.model ?? child?.session.model ?? this.#plan.model;
		const isPossible = path.length <= deepest && this.#context.childrenLeft > 0;
		if (agent === undefined || !isPossible || findObstacle({ model, providers }) !== undefined) return undefined;
		this.#context.childrenLeft--;
		if (child !== undefined) this.#used.add(child);
		const own = { recording: child ?? createEmptyChild(recording, name), agent, model, task, path: [...path, name] };
		const trial = await playSession(own, this.#context);
		this.#calls.push(...trial.calls);
		if (trial.end === 'done') return { result: trial.output ?? trial.text };
		const why = trial.error === undefined ? trial.end : `${trial.error.code}: ${trial.error.message}`;
		throw new RunletError('conflict', `${name} did not finish the task (${why})`);
	}
}

/** Whether a message came from outside. Runlet's own messages to the model did not. */
function isFromPerson({ role, isInput, runId }: RecordedMessage): boolean {
	return role === 'user' && (isInput === true || runId === undefined);
}

function toEnd({ status }: RunResult): Trial['end'] {
	if (status === 'completed') return 'done';
	return status === 'halted' ? 'halted' : 'awaiting';
}
