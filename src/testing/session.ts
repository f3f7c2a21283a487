import { toChatOptions } from '../cloudflare/agent/chat-options.ts';
import type { Agent } from '../cloudflare/agent/define.ts';
import { assertArguments } from '../cloudflare/agent/edited-arguments.ts';
import { findNamed, joinSkills } from '../cloudflare/agent/resolver.ts';
import { findResolver } from '../cloudflare/agent/skill-source.ts';
import { type CallAnswer, readCallAnswers } from '../core/chat/call-answers.ts';
import {
	type Actor,
	chat,
	type Env,
	type Message,
	type MessagePart,
	providers,
	type RunEvent,
	RunletError,
	type RunResult,
	type Skill,
	type SkillResolver,
	skill,
	type ToolCall,
	type ToolState,
	tool,
	type Workspace,
	workspace,
} from '../core/index.ts';
import { noEnv } from '../core/tool/tool.ts';

/** What a session of a test is made of. */
export interface TestSessionOptions {
	/** What the model answers, one entry a turn: a text, `callTool(…)`, a reply, an error, or a function of the request. */
	readonly script: readonly providers.ScriptedTurn[];
	/** Bindings and variables for the tools, as far as the test needs them. */
	readonly env?: Partial<Env>;
	/** The tenant of the session. `test` if it is missing. */
	readonly owner?: string;
	/** The person of the session, by whom tools authorize. */
	readonly user?: string;
	/** Who sends the messages. The user, by an account, if it is missing. */
	readonly askedBy?: Actor;
	readonly metadata?: Readonly<Record<string, string>>;
	/** What tools and skills are told of a message: sender, transport, attachments. */
	readonly skillContext?: skill.SkillContext;
	/** Skills that the agent names and that are published elsewhere. */
	readonly skills?: readonly Skill[];
	/** What the tools remember already, by key. */
	readonly state?: Readonly<Record<string, unknown>>;
	/** The files that are there already, by their paths. */
	readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** A session in memory: an agent, a scripted model, and everything else as it is. */
export interface TestSession {
	/** Sends a message, or the answer to a question, and runs the agent. Rejects with a `RunletError` if the run fails. */
	send(message: string | readonly MessagePart[]): Promise<RunResult>;
	/** Gives results of calls that wait, or allows or denies them, and goes on once none waits any more. */
	submit(answers: readonly CallAnswer[]): Promise<RunResult>;
	/** The whole conversation. */
	readonly messages: readonly Message[];
	/** The events of all runs. */
	readonly events: readonly RunEvent[];
	/** What the model was sent, turn by turn. */
	readonly requests: providers.ScriptedProvider['requests'];
	/** What the tools remember. */
	readonly state: ToolState;
	/** The files that the tools work on. */
	readonly workspace: Workspace;
}

/**
 * Makes a session of an agent for a test, in Node or anywhere else. The model is scripted; the loop, the tools, the skills
 * and their checks are those that run in a Worker.
 */
export function createTestSession(agent: Agent, options: TestSessionOptions): TestSession {
	return new MemorySession(agent, options);
}

class MemorySession implements TestSession {
	readonly state: ToolState;
	readonly workspace: Workspace;
	readonly #agent: Agent;
	readonly #options: TestSessionOptions;
	readonly #model: providers.ScriptedProvider;
	readonly #events: RunEvent[] = [];
	readonly #askedIds = new Set<string>();
	#messages: readonly Message[] = [];
	#last: RunResult | undefined;
	#approved: readonly ToolCall[] = [];
	#edits: readonly chat.CallEdit[] = [];

	constructor(agent: Agent, options: TestSessionOptions) {
		this.#agent = agent;
		this.#options = options;
		this.#model = providers.scripted(options.script);
		this.state = tool.inMemoryState(options.state);
		this.workspace = workspace.inMemory(options.files);
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

	get #whose() {
		const { owner = 'test', user } = this.#options;
		const actor: Actor = { owner, ...(user !== undefined && { user }), via: 'account', id: user ?? owner };
		return { owner, user, askedBy: this.#options.askedBy ?? actor };
	}

	get #env(): Env {
		return { ...noEnv, ...this.#options.env };
	}

	async send(message: string | readonly MessagePart[]): Promise<RunResult> {
		const { status, metadata } = this.#last ?? {};
		if (status === 'awaiting_tools')
			throw new RunletError('conflict', 'The session waits for calls: answer them by submit first.');
		const said = chat.userMessage(message);
		if (metadata?.question === undefined) return this.#run([said]);
		const { answerTo, question } = metadata;
		if (answerTo !== undefined) return this.#run([], [{ ...answerTo, text: chat.messageText(said) }]);
		const { callId: id } = question;
		const { parts } = said;
		return this.#run([chat.toolResultMessage({ id, output: said.content, isError: false, ...(parts && { parts }) })]);
	}

	async submit(answers: readonly CallAnswer[]): Promise<RunResult> {
		const calls = this.#last?.metadata.manualToolCalls;
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
		this.#approved = [...this.#approved, ...approved];
		this.#edits = [...this.#edits, ...edits];
		if (isLast || this.#last === undefined) return this.#run(messages);
		const answered = answers.map(({ id }) => id);
		const manualToolCalls = calls?.filter(({ id }) => !answered.includes(id));
		this.#messages = [...this.#messages, ...messages];
		this.#last = { ...this.#last, messages: this.#messages, metadata: { ...this.#last.metadata, manualToolCalls } };
		return this.#last;
	}

	async #run(input: readonly Message[], answers: readonly chat.QuestionAnswer[] = []): Promise<RunResult> {
		const { metadata, skillContext } = this.#options;
		const { owner, user, askedBy } = this.#whose;
		const agent = toChatOptions(this.#agent);
		const { chatFn, chatStreamFn } = this.#model;
		const question = this.#last?.metadata.question;
		const run = chat.run(
			{
				...agent,
				model: this.#agent.model ?? 'scripted',
				chatFn,
				chatStreamFn,
				skillResolver: this.#createResolver(),
				context: {
					sessionId: 'test',
					owner,
					user,
					askedBy,
					env: this.#env,
					metadata,
					skillContext,
					state: this.state,
					workspace: this.workspace,
				},
				approved: this.#approved.map(({ id }) => id),
				edits: this.#edits,
				asked: question === undefined ? [] : [question],
				answers,
				onMessage: (message) => {
					this.#messages = [...this.#messages, message];
				},
			},
			[...this.#messages, ...input],
		);
		this.#messages = [...this.#messages, ...input];
		this.#last = undefined;
		for await (const event of run.events) this.#events.push(event);
		this.#last = await run.result;
		this.#messages = this.#last.messages;
		for (const { id } of this.#last.metadata.manualToolCalls ?? []) this.#askedIds.add(id);
		return this.#last;
	}

	#createResolver(): SkillResolver | undefined {
		const { skills = [] } = this.#options;
		const source = this.#agent.skillResolver ?? skill.inMemoryResolver(skills);
		const reader = { ...this.#whose, metadata: this.#options.metadata ?? {} };
		return joinSkills(this.#agent, (names) => findNamed(findResolver(source, this.#env, reader), names));
	}
}
