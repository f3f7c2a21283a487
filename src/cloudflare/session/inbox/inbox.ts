import type { Message, UserMessage } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { Exchange, Handling, Input, Once, PagePost, Submission } from '../../rpc/session.ts';
import { createPastRun, type LiveRun } from '../run/run.ts';
import type { Runner } from '../run/runner.ts';
import type { Outcome } from '../store/deliveries.ts';
import { toInbound } from '../store/inbound.ts';
import { findPending } from '../store/pending.ts';
import { assertAllowed, canTakeNext } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { findNewResults } from './exchange.ts';
import type { Upcoming } from './response.ts';
import { findPlace, isAnswered, isSameMessage, readRepeatedInput, repeatInbound } from './round.ts';
import { findOpenAnswers, readSubmissions } from './submission.ts';

/** Messages that may wait for a run to end. */
const longestQueue = 16;

type Given = ReturnType<typeof toInbound>;

/** A request as it is stored: call it once that is committed, for the run that it begins or waits for, if any. */
export type Stored<Run extends LiveRun | Upcoming | undefined = LiveRun | Upcoming> = () => Run;

/**
 * What comes to a session from outside, once it was let in: a message, an answer, what a page posts. Each begins a run,
 * waits for one, or has had one before. All of it but `post` is called inside a transaction, and what it gives once
 * that is committed.
 */
export class Inbox {
	readonly #store: SessionStore;
	readonly #runner: Runner;
	readonly #agents: readonly Agent[];
	readonly #assertExists: () => void;

	/** @param assertExists throws where the session was removed while something was waited for */
	constructor(store: SessionStore, runner: Runner, agents: readonly Agent[], assertExists: () => void) {
		this.#store = store;
		this.#runner = runner;
		this.#agents = agents;
		this.#assertExists = assertExists;
	}

	/** A message: it begins its run, or waits for the one that goes on, or for somebody whom the session waits for. */
	send(input: Input, how: Pick<Handling, 'once'>): Stored {
		return this.#findSent(this.#giveResult(input), input, how);
	}

	/** The answer to a tool's question. */
	answer(input: Input, { once }: Pick<Handling, 'once'>): Stored<LiveRun> {
		const { message, inbound } = this.#giveResult(input);
		return this.#runner.storeRun([this.#asAnswer(message)], { once, inbound });
	}

	/** What is new in a conversation that a client tells as a whole. */
	converse(exchange: Exchange, { once }: Pick<Handling, 'once'>): Stored<LiveRun> {
		const { input, clientTools, model, maxOutputTokens, toolChoice, terms } = exchange;
		const results = findNewResults(this.#store, exchange);
		const given = input && this.#giveResult(input);
		const said = given === undefined ? [] : [results.length > 0 ? given.message : this.#asAnswer(given.message)];
		this.#store.setClientTools(clientTools);
		const about = { once, model, maxOutputTokens, toolChoice, terms, inbound: given?.inbound };
		return this.#runner.storeRun([...results, ...said], about);
	}

	/** Answers to open calls, all of them or none: the run that the last of them begins. */
	submit(
		answers: readonly Submission[],
		{ once }: Pick<Handling, 'once'>,
		model?: string,
	): Stored<LiveRun | undefined> {
		const store = this.#store;
		const { approvalMs = Number.POSITIVE_INFINITY } = findAgent(this.#agents, store.session().agent);
		const everAsked = store.calls.listAskedIds();
		const { messages, approved, isLast } = readSubmissions(findPending(store), answers, { approvalMs, everAsked });
		if (isLast) return this.#runner.storeRun(messages, { once, model, approved });
		const now = Date.now();
		for (const call of approved) store.calls.note(store.messages.lastTurn(), call, 'allowed', now);
		// They belong to the run that the last answer begins.
		for (const message of messages) store.messages.add(this.#store.nextRun, message, now, { input: true });
		if (once !== undefined) store.deliveries.add(once, {}, now);
		return () => undefined;
	}

	/**
	 * The run that a page gets for what it posts, which it may have begun before; nothing where there is nothing to say.
	 *
	 * @param createMissing makes the session that is not there yet
	 */
	async post(post: PagePost, how: Pick<Handling, 'once'>, createMissing: () => void) {
		for (;;) {
			const stored = this.#store.transaction(() => {
				createMissing();
				return this.#posted(post, how);
			});
			if (stored !== undefined) return stored();
			// Meanwhile another request may have had the same done.
			await this.#runner.cancel();
			this.#assertExists();
		}
	}

	/** What a page posts; nothing where a run goes on that has to be cancelled first. */
	#posted(
		{ input, model, answers = [], isAgain = false, messageId }: PagePost,
		how: Pick<Handling, 'once'>,
	): Stored<LiveRun | Upcoming | undefined> | undefined {
		if (input === undefined) return this.#answered(answers, how, model);
		const given = this.#giveResult(input);
		const waits = this.#runner.queue.findNamed(input.messageId);
		if (waits !== undefined) {
			if (!isAgain && !isSameMessage(waits.message, given.message)) this.#runner.queue.edit({ ...waits, ...given });
			return () => ({ record: { n: 0, id: waits.runId }, begun: this.#runner.queue.waitForRun(waits.id) });
		}
		const found = findPlace(this.#store, { message: given.message, ownId: input.messageId, isAgain, messageId });
		if (found === undefined) return this.#findSent(given, input, how);
		if ('run' in found) return () => this.redelivered(found);
		if (this.#runner.live !== undefined || !canTakeNext(this.#store.status)) return undefined;
		const { record, isEdited } = found;
		const asked = readRepeatedInput(this.#store, record, isEdited ? given.message : undefined);
		const inbound = isEdited ? given.inbound : repeatInbound(record, given.inbound);
		return this.#runner.storeRun(asked, { once: how.once, model, inbound, replaces: record.seq });
	}

	/** Answers that a page posts, new ones and those that it posted before. */
	#answered(answers: readonly Submission[], how: Pick<Handling, 'once'>, model: string | undefined) {
		const { live } = this.#runner;
		if (live !== undefined) return () => live;
		const isOpen = this.#store.status === 'awaiting_tools';
		const open = isOpen ? findOpenAnswers(findPending(this.#store).calls, answers) : [];
		if (open.length > 0) return this.submit(open, how, model);
		const isOver = isAnswered(this.#store, answers);
		return () => (isOver ? createPastRun(this.#store, this.#store.nextRun - 1) : undefined);
	}

	/** What a request has begun when it came before; nothing for one that is new. */
	deliver(once: Once | undefined): Outcome | undefined {
		const isNew = once === undefined || once.isFirst === true;
		const before = isNew ? undefined : this.#store.deliveries.find(once, Date.now());
		if (before === undefined || before.request === once?.request) return before;
		const message = 'Idempotency-Key: this key belongs to another request. Use a new one for each request.';
		throw new RunletError('conflict', message, { field: 'Idempotency-Key' });
	}

	/** The run by what `delivered` says; nothing where there is none. */
	redelivered({ run, waiting }: Outcome): LiveRun | Upcoming | undefined {
		const waits = waiting === undefined ? undefined : this.#store.queue.get(waiting);
		if (waits !== undefined)
			return { record: { n: 0, id: waits.runId }, begun: this.#runner.queue.waitForRun(waits.id) };
		const { live } = this.#runner;
		if (run === undefined) return undefined;
		return live?.record.n === run ? live : createPastRun(this.#store, run);
	}

	#findSent(given: Given, input: Input, { once }: Pick<Handling, 'once'>): Stored {
		const { whenBusy = 'queue', isPatient = false, mayAnswer = false, model, callback } = input;
		const { status } = this.#store;
		const isQuestion = isPatient && !mayAnswer && status === 'awaiting_user';
		const isAsking = isQuestion || (isPatient && status === 'awaiting_tools');
		if (isQuestion && whenBusy === 'reject')
			throw new RunletError('conflict', 'whenBusy: the session waits for an answer of somebody else.', {
				field: 'whenBusy',
			});
		if (whenBusy !== 'reject' && (isAsking || this.#runner.live !== undefined))
			return this.#wait(given, whenBusy === 'steer', { model, callback }, once);
		assertAllowed(this.#store.status, 'reply', findPending(this.#store).calls?.length !== 0);
		return this.#runner.storeRun([this.#asAnswer(given.message)], { once, model, inbound: given.inbound, callback });
	}

	/** A message that came while a run goes on: the run that will answer it. */
	#wait(given: Given, steers: boolean, { model, callback }: Input, once: Once | undefined): Stored<Upcoming> {
		if (this.#store.queue.size >= longestQueue) {
			const text = `whenBusy: ${longestQueue} messages wait already. Send it when a run has ended, or cancel.`;
			throw new RunletError('conflict', text, { field: 'whenBusy', waiting: longestQueue });
		}
		const { live, queue } = this.#runner;
		const { id, runId } = queue.add(given, { model, steers, once, callback });
		const record = steers && live !== undefined ? live.record : { n: 0, id: runId };
		return () => ({ record, begun: queue.waitForRun(id) });
	}

	/** A message as it enters the history: to a session that asked, it is the answer. */
	#asAnswer(message: UserMessage): Message {
		const { content, parts } = message;
		const { question } = findPending(this.#store);
		if (this.#store.status !== 'awaiting_user' || question === undefined) return message;
		return {
			role: 'tool',
			content,
			toolCallId: question.callId,
			isError: false,
			parts,
		};
	}

	#giveResult(input: Input) {
		return toInbound(input, this.#store.session().owner);
	}
}
