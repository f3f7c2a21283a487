import { assertArguments } from '../cloudflare/agent/arguments.ts';
import { findCallSecrets } from '../cloudflare/agent/call-secrets.ts';
import { findAskedCall } from '../cloudflare/agent/child-decision.ts';
import { type Agent, toChatOptions } from '../cloudflare/agent/define.ts';
import { createFlowCheck, type FlowFacts } from '../cloudflare/agent/flow.ts';
import { findNamed, joinSkills } from '../cloudflare/agent/resolver.ts';
import { findResolver } from '../cloudflare/agent/skill-source.ts';
import type { Right } from '../cloudflare/auth/rights.ts';
import type { Config } from '../cloudflare/config/config.ts';
import { listSecrets } from '../cloudflare/config/secrets.ts';
import { readText } from '../cloudflare/config/variables.ts';
import { assertMayDecide } from '../cloudflare/session/run/may-decide.ts';
import { type CallAnswer, readCallAnswers } from '../core/chat/call-answers.ts';
import { readUsage } from '../core/chat/model-error.ts';
import {
	type Actor,
	type ChatOptions,
	chat,
	type Env,
	type Message,
	type MessagePart,
	providers,
	type RunEvent,
	RunletError,
	type RunResult,
	type SkillResolver,
	skill,
	type Tool,
	type ToolState,
	tool,
	type Workspace,
	workspace,
} from '../core/index.ts';
import type { Label } from '../core/tool/index.ts';
import { noEnv } from '../core/tool/tool.ts';
import { createTestFacts } from './flow.ts';
import { createMemories, createRemembering, type Remembering, type TestMemories } from './memories.ts';
import { type PendingCall, type Person, type TestSession, type TestSessionOptions, toActor } from './options.ts';
import { connectTestChildren, createServerTools } from './tools.ts';

/**
 * Makes a session of an agent for a test, in Node or any other JavaScript runtime. A script replaces the model. The
 * loop, the tools, the skills and their checks are the same as in a Worker.
 */
export function createTestSession(agent: Agent, options: TestSessionOptions): TestSession {
	return new MemorySession(agent, options, findModel(options));
}

/** Finds what answers in place of a model of the Worker: a script, or the given providers. */
function findModel({ script, providers: real }: Pick<TestSessionOptions, 'script' | 'providers'>): TestModel {
	if (script !== undefined) return providers.scripted(script);
	if (real !== undefined) return { providers: real, requests: [] };
	throw new RunletError('not_configured', 'script: name what the model answers, or `providers` with a real model.');
}

class MemorySession implements TestSession {
	readonly state: ToolState;
	readonly workspace: Workspace;
	readonly children: TestSession[] = [];
	readonly #agent: Agent;
	readonly #options: TestSessionOptions;
	readonly #model: TestModel;
	readonly #events: RunEvent[] = [];
	readonly #surroundings: Surroundings;
	readonly #askedIds = new Set<string>();
	readonly #flow: FlowFacts;
	#messages: readonly Message[] = [];
	#last: RunResult | undefined;
	#usage: chat.ChatUsage = {};
	/** The people whose messages led to the current work, and the decisions about open calls. */
	#asked: Asked = { askers: [], openCalls: new Map() };

	/** @param carried what flowed into the task of a child */
	constructor(agent: Agent, options: TestSessionOptions, model: TestModel, carried?: readonly Label[]) {
		this.#agent = agent;
		this.#options = options;
		this.#model = model;
		this.state = tool.inMemoryState(options.state);
		this.workspace = workspace.inMemory(options.files);
		const { owner = 'test', user, mcp = {} } = options;
		const memories = createMemories(options.memories);
		const remembering = createRemembering(agent, memories, { owner, user, messages: () => this.#messages });
		const start = createStarter(options, this.children, () => this.#flow.labels());
		const tools = connectTestChildren(agent.tools, start);
		const env = this.#env;
		const config = { secrets: listSecrets(env), readText: (name: string) => readText(env, name) };
		this.#surroundings = { memories, remembering, tools, served: createServerTools(agent, mcp), config };
		this.#flow = createTestFacts({
			agent,
			agents: (options.children ?? []).map((child) => child.agent),
			session: this.#whose,
			messages: () => this.#messages,
			rest: () => this.#listRest(carried),
		});
	}

	get messages(): readonly Message[] {
		return this.#messages;
	}

	get events(): readonly RunEvent[] {
		return this.#events;
	}

	get requests(): providers.ScriptedProvider['requests'] {
		return this.#model.requests;
	}

	get memories(): Readonly<Record<string, string>> {
		return this.#surroundings.memories.texts;
	}

	get usage(): chat.ChatUsage {
		return this.children.reduce((sum, { usage }) => chat.addUsage(sum, usage), this.#usage);
	}

	get pending(): readonly PendingCall[] {
		const { question, manualToolCalls = [] } = this.#last?.metadata ?? {};
		const asked = findAskedCall(question);
		return asked === undefined ? manualToolCalls : [{ ...asked.call, kind: 'approval' }];
	}

	get #whose() {
		const { owner = 'test', user, metadata = {} } = this.#options;
		return { owner, user, metadata };
	}

	/** Lists what flowed into the session and is in no message: the given files, memories, and a child's task. */
	#listRest(carried: readonly Label[] = []): chat.Labels {
		const { files = {} } = this.#options;
		const list = (label: Label, what: string, isThere: boolean) => [
			...(isThere ? [{ what }] : []),
			...(carried.includes(label) ? [{ what: 'a message by agent' }] : []),
		];
		return {
			outside: list('outside', 'a file that somebody gave', Object.keys(files).length > 0),
			private: list('private', 'memories', this.#surroundings.remembering?.hasRecalled() === true),
		};
	}

	get #env(): Env {
		return { ...noEnv, ...this.#options.env };
	}

	/** Converts a person to an actor. Without a person, returns the session's usual sender. */
	#toActor(by: Person | undefined, right: Right): Actor {
		const { owner, user } = this.#whose;
		return by === undefined ? (this.#options.askedBy ?? toActor({ user }, owner, right)) : toActor(by, owner, right);
	}

	async send(message: string | readonly MessagePart[], by?: Person): Promise<RunResult> {
		const { status, metadata } = this.#last ?? {};
		const asker = this.#toActor(by, 'sendMessage');
		if (status === 'awaiting_tools')
			throw new RunletError('conflict', 'The session waits for calls: answer them by submit first.');
		const sent = chat.userMessage(message);
		if (metadata?.question === undefined) {
			this.#asked = { ...this.#asked, askers: [asker] };
			return this.#run([sent]);
		}
		const { answerTo, question } = metadata;
		this.#asked = { ...this.#asked, askers: [...this.#asked.askers, asker] };
		if (answerTo !== undefined) return this.#run([], chat.messageText(sent));
		const { callId: id } = question;
		const { parts } = sent;
		return this.#run([chat.toolResultMessage({ id, output: sent.content, isError: false, ...(parts && { parts }) })]);
	}

	async submit(answers: readonly CallAnswer[], by?: Person): Promise<RunResult> {
		const decides = answers.some((answer) => 'approve' in answer);
		const actor = this.#toActor(by, decides ? 'decide' : 'sendMessage');
		for (const answer of answers) this.#assertMayDecide(answer, actor);
		const { question, answerTo, manualToolCalls: calls } = this.#last?.metadata ?? {};
		const [first] = answers;
		if (findAskedCall(question)?.call.id === first?.id && first !== undefined && answerTo !== undefined)
			return this.#run([], writeDecision(first));
		const turn = this.#messages.slice(this.#messages.findLastIndex(({ role }) => role === 'assistant'));
		for (const answer of answers) {
			const call = calls?.find(({ id, kind }) => id === answer.id && kind === 'approval');
			const owned = [...this.#agent.tools, ...this.#agent.skillTools].find(({ name }) => name === call?.name);
			if (call !== undefined && 'input' in answer) await assertArguments(owned, { ...call, input: answer.input });
		}
		const { messages, approved, edits, isLast } = readCallAnswers({ turn, calls, askedAt: Date.now() }, answers, {
			approvalMs: this.#agent.approvalMs ?? Number.POSITIVE_INFINITY,
			everAsked: this.#askedIds,
		});
		const openCalls = new Map(this.#asked.openCalls);
		for (const { id } of approved)
			openCalls.set(id, { isApproved: true, input: edits.find(({ callId }) => callId === id)?.input });
		this.#asked = { ...this.#asked, openCalls };
		if (isLast || this.#last === undefined) return this.#run(messages);
		const answered = answers.map(({ id }) => id);
		const manualToolCalls = calls?.filter(({ id }) => !answered.includes(id));
		this.#messages = [...this.#messages, ...messages];
		this.#last = { ...this.#last, messages: this.#messages, metadata: { ...this.#last.metadata, manualToolCalls } };
		return this.#last;
	}

	async wake(schedule: string, { at = new Date() }: { readonly at?: Date } = {}): Promise<RunResult | undefined> {
		const found = this.#agent.schedules?.find(({ name }) => name === schedule);
		if (found === undefined) throw new RunletError('not_found', `The agent has no schedule ${schedule}.`);
		const { owner, user } = this.#whose;
		const about = { at, name: schedule, owner, user, env: this.#env, listSessions: async () => [] };
		const text = found.fn === undefined ? found.text : await found.fn(about);
		if (text === undefined || text === '') return undefined;
		return this.send(text, { user, via: 'schedule', id: schedule });
	}

	#assertMayDecide(answer: CallAnswer, by: Actor): void {
		const call = this.pending.find(({ id, kind }) => id === answer.id && kind === 'approval');
		if (call === undefined || !('approve' in answer)) return;
		const { askers } = this.#asked;
		const decision = { call, approve: answer.approve, by, askers: () => askers };
		const session = { id: 'test', agent: this.#agent.name, ...this.#whose };
		const child = findAskedCall(this.#last?.metadata.question)?.agent;
		const agents = [this.#agent, ...(this.#options.children ?? []).map(({ agent }) => agent)];
		const children = child === undefined ? [] : [child];
		assertMayDecide({ session, agents, config: () => ({ local: undefined }) }, { ...decision, children });
	}

	/** Runs the agent. `text` is the answer to a tool's question, if a text can answer this question. */
	async #run(input: readonly Message[], text?: string): Promise<RunResult> {
		const { skillContext } = this.#options;
		const { askers } = this.#asked;
		const openCalls = new Map(this.#asked.openCalls);
		const { remembering, served, tools } = this.#surroundings;
		const { chatFn, chatStreamFn, providers } = this.#model;
		const { question, answerTo } = this.#last?.metadata ?? {};
		if (question !== undefined) {
			const answer = text !== undefined && answerTo ? { text, resume: answerTo.resume } : undefined;
			openCalls.set(question.callId, { ...openCalls.get(question.callId), question, answer });
		}
		const messages = [...this.#messages, ...input];
		const run = chat.run(
			{
				...toChatOptions(this.#agent),
				tools: [...tools, ...(remembering?.tools ?? []), ...served],
				recall: remembering?.createRecall(messages),
				model: this.#options.model ?? this.#agent.model ?? 'scripted',
				chatFn,
				chatStreamFn,
				providers,
				skillResolver: this.#createResolver(),
				context: {
					...{ sessionId: 'test', ...this.#whose, askedBy: askers.at(-1), env: this.#env },
					...{ skillContext, state: this.state, workspace: this.workspace },
				},
				openCalls,
				secrets: { list: () => findCallSecrets(this.#agent, this.#surroundings.config) },
				checkFlow: createFlowCheck(this.#agent.flow, this.#flow),
				signal: this.#options.signal,
				onMessage: (message) => {
					this.#messages = [...this.#messages, message];
				},
			},
			messages,
		);
		this.#messages = messages;
		this.#last = undefined;
		for await (const event of run.events) this.#events.push(event);
		try {
			this.#last = await run.result;
		} catch (error) {
			if (error instanceof RunletError) this.#usage = chat.addUsage(this.#usage, readUsage(error));
			throw error;
		}
		this.#usage = chat.addUsage(this.#usage, this.#last.usage);
		this.#messages = this.#last.messages;
		for (const { id } of this.#last.metadata.manualToolCalls ?? []) this.#askedIds.add(id);
		return this.#last;
	}

	#createResolver(): SkillResolver | undefined {
		const { skills = [] } = this.#options;
		const source = this.#agent.skillResolver ?? skill.inMemoryResolver(skills);
		const reader = { ...this.#whose, askedBy: this.#asked.askers.at(-1) };
		return joinSkills(this.#agent, (names) => findNamed(findResolver(source, this.#env, reader), names));
	}
}

/** What answers the requests of a session: functions, or providers that find the model by its name. */
type TestModel = Partial<Pick<ChatOptions, 'chatFn' | 'chatStreamFn' | 'providers'>> &
	Pick<providers.ScriptedProvider, 'requests'>;

/** Everything that a session provides to its agent. */
interface Surroundings {
	readonly memories: TestMemories;
	readonly remembering: Remembering | undefined;
	/** The agent's own tools. Tools that give work to other agents are connected to these agents. */
	readonly tools: readonly Tool[];
	/** The tools that MCP servers provide. */
	readonly served: readonly Tool[];
	/** The secrets of its environment. */
	readonly config: Pick<Config, 'secrets' | 'readText'>;
}

interface Asked {
	/** The people whose messages led to the agent's current work. */
	readonly askers: readonly Actor[];
	readonly openCalls: ReadonlyMap<string, chat.OpenCallState>;
}

/** Makes the function that begins a child's session. All sessions of the same agent share one script. */
function createStarter(
	options: TestSessionOptions,
	begun: TestSession[],
	listLabels: () => readonly Label[],
): (agent: string) => TestSession {
	const models = new Map<string, TestModel>();
	return (name) => {
		const child = options.children?.find(({ agent }) => agent.name === name);
		if (child === undefined)
			throw new RunletError('not_configured', `children: name the agent ${name} and its script, to have it work here.`);
		const model = models.get(name) ?? findModel({ script: child.script, providers: options.providers });
		models.set(name, model);
		const { state: _, files: __, memories: ___, mcp: ____, skillContext: _____, model: ______, ...shared } = options;
		const session = new MemorySession(child.agent, shared, model, listLabels());
		begun.push(session);
		return session;
	};
}

/** Converts a decision about a child's call to text, which answers the question of the tool that called the child. */
function writeDecision(answer: CallAnswer): string {
	if (!('approve' in answer)) return String(answer.output);
	if (!answer.approve) return `deny ${answer.reason ?? ''}`.trim();
	return answer.input === undefined ? 'approve' : `approve ${JSON.stringify(answer.input)}`;
}
