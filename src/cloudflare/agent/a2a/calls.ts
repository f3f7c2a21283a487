import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { dropUndefined } from '../../../core/base/json.ts';
import { raceAbort, sleep } from '../../../core/base/promises.ts';
import { type AnsweredCall, askUser, type ToolContext } from '../../../core/tool/index.ts';
import { findEnd, readParts, readStatusText, readTaskResult } from './answer.ts';
import { isTransient } from './ask.ts';
import type { Answer, Remote, Task } from './remote.ts';

/** The input of the tool. */
export const taskInput = v.object({
	task: v.pipe(
		v.string(),
		v.nonEmpty(),
		v.description('What to do, with all that is needed for it. Nothing of this conversation is known there.'),
	),
	followUp: v.optional(
		v.pipe(v.boolean(), v.description('true: goes on with the last task of this tool, which is still known there.')),
	),
});

/** What a call remembers for its next attempt after a crash. */
const memo = v.object({ contextId: v.optional(v.string()), taskId: v.optional(v.string()) });

/** What a question remembers. */
const asked = v.object({ taskId: v.string(), contextId: v.optional(v.string()), said: v.string(), round: v.number() });

/** The time limit of a request about a task that is known, in milliseconds. */
const shortMs = 30_000;
/** The pauses between two looks at a task, in milliseconds. They grow by a quarter. */
const [firstPauseMs, longestPauseMs] = [500, 10_000];
/** How many looks in a row may fail. */
const mostFailures = 5;
/** How many looks may show a question that was answered: those of 17 seconds. */
const mostLate = 10;

function isAsking(task: Task, said: string): boolean {
	return findEnd(task) === 'asks' && readStatusText(task) === said;
}

function isOpen(task: Task, answered: string | undefined): boolean {
	return findEnd(task) === undefined || (answered !== undefined && isAsking(task, answered));
}

/** The calls of one tool. */
export class RemoteCalls {
	readonly #name: string;
	readonly #timeoutMs: number;
	readonly #connect: (context: ToolContext) => Promise<Remote>;

	constructor(name: string, timeoutMs: number, connect: (context: ToolContext) => Promise<Remote>) {
		this.#name = name;
		this.#timeoutMs = timeoutMs;
		this.#connect = connect;
	}

	/** Sends a task, or takes up the task of an earlier attempt. Returns the answer, or a question to the person. */
	async begin(
		{ task: text, followUp = false }: v.InferOutput<typeof taskInput>,
		context: ToolContext,
	): Promise<unknown> {
		const { workspace, idempotencyKey: messageId } = context;
		const before = v.parse(v.optional(memo, {}), await workspace?.recall());
		const contextId = before.contextId ?? (followUp ? await this.#readContext(context) : undefined);
		const remote = await this.#connect(context);
		const { taskId } = before;
		if (taskId !== undefined) {
			const task = await remote.read(taskId, { timeoutMs: shortMs, signal: context.signal });
			return this.#follow({ task }, remote, context);
		}
		// After a crash, other calls have possibly changed the state, and the message must stay the same.
		if (contextId !== undefined) await workspace?.change([], { contextId });
		const sent = remote.send({ messageId, text, contextId }, { timeoutMs: this.#timeoutMs });
		return this.#follow(sent, remote, context);
	}

	/** Passes a person's answer to a task that asked. */
	async answer(text: string, { resume }: AnsweredCall, context: ToolContext): Promise<unknown> {
		const { said, round, ...about } = v.parse(asked, resume);
		const limits = { timeoutMs: shortMs, signal: context.signal };
		const remote = await this.#connect(context);
		if (/^(decline|cancel)[.!]?$/i.test(text.trim())) {
			await remote.cancel(about.taskId, limits).catch(() => {});
			throw new RunletError('invalid_request', `A person did not answer ${this.#name}, and its task was cancelled.`);
		}
		const task = await remote.read(about.taskId, limits);
		// The task can go on by itself, and after a crash the answer was possibly sent.
		if (!isAsking(task, said)) return this.#follow({ task }, remote, context, { round });
		const messageId = `${context.idempotencyKey}-${round}`;
		const sent = remote.send({ messageId, text, ...about }, { timeoutMs: this.#timeoutMs });
		return this.#follow(sent, remote, context, { round, answered: said });
	}

	/** Follows a task to its end or its question. If the call is aborted before, cancels the task. */
	async #follow(
		sent: Answer | Promise<Answer>,
		remote: Remote,
		context: ToolContext,
		{ round, answered }: { readonly round: number; readonly answered?: string } = { round: 0 },
	): Promise<unknown> {
		const { signal, workspace } = context;
		const cancel = (): void => {
			const end = (answer: Answer) => 'task' in answer && remote.cancel(answer.task.id, { timeoutMs: shortMs });
			// If the server cannot be reached, the task goes on there.
			void Promise.resolve(sent)
				.then(end)
				.catch(() => {});
		};
		signal.addEventListener('abort', cancel, { once: true });
		try {
			const answer = await raceAbort(sent, signal);
			const { contextId } = 'task' in answer ? answer.task : answer.message;
			if (contextId) await context.state.set(this.#stateKey, contextId);
			if ('message' in answer) return readParts(answer.message.parts);
			const about = dropUndefined({ taskId: answer.task.id, contextId: contextId ?? undefined });
			await workspace?.change([], about);
			const task = await this.#wait(answer.task, remote, context, answered);
			if (findEnd(task) !== 'asks') return readTaskResult(this.#name, task);
			const said = readStatusText(task);
			const question = `${this.#name} asks: ${said || 'It does not say what.'}`;
			return askUser(question, { agent: this.#name }, { ...about, said, round: round + 1 });
		} finally {
			signal.removeEventListener('abort', cancel);
		}
	}

	/**
	 * Looks at a task until it ends or asks. Shows what it says of its progress. The question that was answered counts only
	 * if it stays, because a server can answer a message before it works on it.
	 */
	async #wait(begun: Task, remote: Remote, { signal, emit }: ToolContext, answered?: string): Promise<Task> {
		let task = begun;
		let shown = answered ?? '';
		let failures = 0;
		for (let looks = 0; isOpen(task, looks < mostLate ? answered : undefined); looks++) {
			const said = readStatusText(task);
			if (said !== '' && said !== shown) emit([this.#name, said]);
			shown = said;
			await sleep(Math.min(firstPauseMs * 1.25 ** looks, longestPauseMs), signal);
			try {
				task = await remote.read(begun.id, { timeoutMs: shortMs, signal });
				failures = 0;
			} catch (thrown) {
				if (!isTransient(thrown) || ++failures === mostFailures) throw thrown;
			}
		}
		return task;
	}

	get #stateKey(): string {
		return `a2a ${this.#name}`.slice(0, 256);
	}

	async #readContext({ state }: ToolContext): Promise<string> {
		const contextId = await state.get(this.#stateKey, v.string());
		if (contextId !== undefined) return contextId;
		const message = `followUp: ${this.#name} has no earlier task. Leave it out, and give the whole task.`;
		throw new RunletError('invalid_argument', message);
	}
}
