import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import { messageText, type ToolMessage, type UserMessage } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { findAskedCall, readDecision } from '../../agent/child-decision.ts';
import type { Once } from '../../objects/once.ts';
import type { ConversationUpdate, CreateInput, Input, PagePost } from '../../objects/session-api.ts';
import type { BeginOptions } from '../run/begin.ts';
import { createPastRun, createRunId } from '../run/run.ts';
import type { Runner } from '../run/runner.ts';
import { findOpenCalls } from '../store/calls.ts';
import { toInbound } from '../store/inbound.ts';
import type { MessageRecord } from '../store/message-record.ts';
import { canTakeNext, type Operation, sessionStatus } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { Answers, assertMeant, type InboxOptions } from './answers.ts';
import type { Asked } from './funds.ts';
import { type Decide, findRun, type Standing, type Step, type Stored } from './gate.ts';
import {
	findNewResults,
	findPlace,
	findReplaced,
	hasResults,
	isAnswered,
	isSameMessage,
	readRepeatedInput,
	repeatInbound,
} from './posted.ts';
import { decideReport } from './report.ts';

/** Messages that may wait for a run to end. */
const longestQueue = 16;

type Given = ReturnType<typeof toInbound>;

interface Replacement {
	readonly record: MessageRecord;
	/** Whether the given message takes its place. */
	readonly isEdited: boolean;
	readonly given: Given;
}

/** What requests do to a session: each method gives the decision that the `Gate` takes. */
export class Inbox {
	readonly #store: SessionStore;
	readonly #runner: Runner;
	/** Answers to open calls. */
	readonly answers: Answers;

	constructor(options: InboxOptions) {
		this.answers = new Answers(options);
		this.#store = options.store;
		this.#runner = options.runner;
	}

	/**
	 * A session that the gate has just made, with its first message, if there is one.
	 *
	 * @param addToken stores the token that comes with the session
	 */
	create({ input, ...whose }: CreateInput, once: Once | undefined, addToken: () => void): Decide {
		return ({ by }) => ({
			operation: input && 'reply',
			asked: input && {},
			store: () => {
				addToken();
				if (input !== undefined) {
					const { message, inbound } = toInbound(input, whose, by);
					return this.#runner.storeRun([message], { once, inbound });
				}
				if (once !== undefined) this.#store.deliveries.add(once, {}, Date.now());
				return () => {
					// It is listed, and may expire.
					this.#runner.tellOwner();
					return undefined;
				};
			},
		});
	}

	/** A request that begins no run, and is an activity all the same. */
	visit(): Decide {
		return () => ({
			store: () => {
				this.#store.noteVisit(Date.now());
				return () => {
					void this.#runner.alarm.set();
					this.#runner.tellOwner();
					return undefined;
				};
			},
		});
	}

	/** A message: it begins its run, or waits for the run that goes on, or for somebody whom the session waits for. */
	send(input: Input, once?: Once): Decide {
		return (now) => {
			const given = this.#toGiven(input, now);
			if (input.replaces !== undefined) {
				const { text, parts, attachments = [], model, callback } = input;
				const isEdited = text !== undefined || parts !== undefined || attachments.length > 0;
				const record = findReplaced(this.#store, input.replaces);
				return this.#decideReplacement({ record, isEdited, given }, { once, model, callback }, now);
			}
			const step = (): Step => this.#decideSend(given, input, once, now);
			return input.ofChild === undefined ? step() : decideReport(this.#store, input.ofChild, step);
		};
	}

	/** The answer to a tool's question. */
	answer(input: Input, once?: Once): Decide {
		return (now) => ({
			operation: 'answer',
			store: () => {
				assertMeant(input, now);
				const { message, inbound } = this.#toGiven(input, now);
				return this.#storeReply([], message, { once, model: input.model, inbound }, now);
			},
		});
	}

	/** A login that a call waited for: its question is answered. Nothing where no question waits for it. */
	finishLogin(server: string): Decide {
		return (now) => {
			const { kind, server: asked } = now.pending.question?.options ?? {};
			if (now.status !== 'awaiting_user' || kind !== 'login' || asked !== server)
				return { store: () => () => undefined };
			return this.answer({ text: 'Logged in.', transport: 'mcp' })(now);
		};
	}

	/** What is new in a conversation that a client tells as a whole. */
	converse(update: ConversationUpdate, once?: Once): Decide {
		const { input, clientTools, model, maxOutputTokens, toolChoice, terms } = update;
		return (now) => ({
			...toAsking(chooseOperation(this.#store, update), { model, maxOutputTokens }),
			store: () => {
				const results = findNewResults(this.#store, update.results, now.pending);
				const given = input && this.#toGiven(input, now);
				this.#store.setClientTools(clientTools);
				const about = { once, model, maxOutputTokens, toolChoice, terms, by: now.by, inbound: given?.inbound };
				if (given === undefined) return this.#runner.storeRun(results, about);
				return this.#storeReply(results, given.message, about, now);
			},
		});
	}

	/** Takes up a run that failed, or that stopped after a step. */
	continue(operation: 'continue' | 'step', once?: Once): Decide {
		const stopAfter = operation === 'step' ? 1 : undefined;
		const asked = { isContinued: true };
		return () => ({ operation, asked, store: () => this.#runner.storeRun([], { once, stopAfter }) });
	}

	/** What a page posts. Its run may have begun before; there is none where the page says nothing new. */
	post(post: PagePost, once?: Once): Decide {
		return (now) => this.#decidePost(post, once, now);
	}

	#decideSend(given: Given, input: Input, once: Once | undefined, now: Standing): Step {
		const { whenBusy = 'queue', isPatient = false, mayAnswer = false, model, callback } = input;
		const { status } = now;
		// What a child tells is bounded by the children, and it would tell it again.
		const asked = input.ofChild === undefined ? { model } : undefined;
		const isQuestion = isPatient && (!mayAnswer || now.asksForApproval) && status === 'awaiting_user';
		const isAsking = isQuestion || (isPatient && status === 'awaiting_tools');
		if (isQuestion && whenBusy === 'reject')
			throw new RunletError('conflict', 'whenBusy: the session waits for an answer of somebody else.', {
				field: 'whenBusy',
			});
		if (whenBusy !== 'reject' && (isAsking || this.#runner.live !== undefined))
			return { asked, store: () => this.#wait(given, input, once) };
		const about = { once, model, inbound: given.inbound, callback };
		return { operation: 'reply', asked, store: () => this.#storeReply([], given.message, about, now) };
	}

	/** A person's message, behind the results that come with it. To a session that has asked, it is the answer. */
	#storeReply(results: readonly ToolMessage[], message: UserMessage, about: BeginOptions, now: Standing): Stored {
		if (results.length > 0 || now.status !== 'awaiting_user' || now.pending.question === undefined)
			return this.#runner.storeRun([...results, message], about);
		const { question, asking } = now.pending;
		const asked = findAskedCall(question);
		const { by } = now;
		if (asked !== undefined) {
			if (by?.via === 'mcp') throw createTextRefusal();
			return this.answers.decideForChild(asked, readDecision(asked.call.id, messageText(message)), about, now);
		}
		if (asking !== undefined)
			return this.#runner.storeRun([], {
				...about,
				by,
				answered: { call: asking, text: messageText(message), by, inbound: about.inbound },
			});
		const { content, parts } = message;
		const noted = findOpenCalls(this.#store).find(({ call }) => call.id === question.callId)?.noted;
		const ranWith = noted?.ranWith && { ranWith: noted.ranWith };
		const answer = { role: 'tool', content, toolCallId: question.callId, isError: false, parts, ...ranWith } as const;
		return this.#runner.storeRun([answer], about);
	}

	/** A message that comes while a run goes on waits for the run that answers it. */
	#wait(given: Given, { whenBusy, model, callback }: Input, once: Once | undefined): Stored {
		if (this.#store.queue.size >= longestQueue) {
			const text = `whenBusy: ${longestQueue} messages wait already. Send it when a run has ended, or cancel.`;
			throw new RunletError('conflict', text, { field: 'whenBusy', waiting: longestQueue });
		}
		const { live } = this.#runner;
		const steers = whenBusy === 'steer';
		const runId = createRunId();
		const { id } = this.#store.queue.add({ ...given, runId, model, steers, callback }, once, Date.now());
		const record = steers && live !== undefined ? live.record : { n: 0, id: runId };
		return () => ({ record, begun: this.#runner.waiting.wait(id) });
	}

	#decidePost(post: PagePost, once: Once | undefined, now: Standing): Step | 'cancel' {
		const { input, model, answers = [], isAgain = false, messageId } = post;
		if (input === undefined) return this.#decidePostedAnswers(answers, { once, model }, now);
		const given = this.#toGiven(input, now);
		const { queue } = this.#store;
		const waits = queue.findNamed(input.messageId);
		if (waits !== undefined) {
			const isEdited = !isAgain && !isSameMessage(waits.message, given.message);
			const run = () => ({ record: { n: 0, id: waits.runId }, begun: this.#runner.waiting.wait(waits.id) });
			return {
				store: () => {
					if (isEdited) queue.edit({ ...waits, ...given }, Date.now());
					return run;
				},
			};
		}
		const found = findPlace(this.#store, { message: given.message, ownId: input.messageId, isAgain, messageId });
		if (found === undefined) return this.#decideSend(given, input, once, now);
		if ('run' in found) return { store: () => () => findRun(this.#store, this.#runner, found) };
		return this.#decideReplacement({ ...found, given }, { once, model }, now);
	}

	/** A message takes the place of an earlier one, or that one is asked again. A run that goes on is stopped first. */
	#decideReplacement({ record, isEdited, given }: Replacement, about: BeginOptions, now: Standing): Step | 'cancel' {
		if (this.#runner.live !== undefined || !canTakeNext(now.status)) return 'cancel';
		const asked = readRepeatedInput(this.#store, record, isEdited ? given.message : undefined);
		const inbound = isEdited ? given.inbound : repeatInbound(record, given.inbound);
		const replacing = { ...about, inbound, replaces: record.seq };
		const asking = { model: about.model, isEdit: true };
		return { operation: 'reply', asked: asking, store: () => this.#runner.storeRun(asked, replacing) };
	}

	/** Answers that a page posts: new ones, and those that it posted before. */
	#decidePostedAnswers(
		answers: readonly CallAnswer[],
		about: { readonly once?: Once; readonly model?: string },
		now: Standing,
	): Step {
		const { live } = this.#runner;
		if (live !== undefined) return { store: () => () => live };
		const open = now.findOpenAnswers(answers);
		if (open.length > 0) return this.answers.decide(open, about, now);
		const isOver = isAnswered(this.#store, answers);
		return { store: () => () => (isOver ? createPastRun(this.#store, this.#store.nextRun - 1) : undefined) };
	}

	#toGiven(input: Input, { by }: Standing): Given {
		return toInbound(input, this.#store.session(), by);
	}
}

/** The error for a text that would decide about a call, from where a model may have written it. */
function createTextRefusal(): RunletError {
	const message =
		'text: a call waits for the approval of a person, and a text over MCP decides nothing. Decide on the page, by a link, or over HTTP: POST …/tool-results.';
	return new RunletError('forbidden', message, { field: 'text' });
}

/** What an operation asks of a model, unless it brings results that were asked for. */
function toAsking(operation: Operation, asked: Asked): Pick<Step, 'operation' | 'asked'> {
	if (operation === 'submit') return { operation };
	return { operation, asked: { ...asked, isContinued: operation === 'continue' } };
}

/**
 * What an update does: it brings a message, or answers open calls, or continues a run that has these answers and failed.
 * Throws `invalid_request` where it means another agent.
 */
function chooseOperation(store: SessionStore, { agent, user, results }: ConversationUpdate): Operation {
	const { agent: own, user: ownUser } = store.session();
	if (user !== undefined && user !== ownUser)
		throw new RunletError('invalid_request', 'user: this session belongs to somebody else. Leave Runlet-Session out.', {
			field: 'user',
		});
	if (own !== agent) {
		const message = `model: this session is one of "${own}", not of "${agent}". Name that, or leave Runlet-Session out.`;
		throw new RunletError('invalid_request', message, { field: 'model' });
	}
	const run = store.runs.get();
	if (run === undefined || results.length === 0) return 'reply';
	return sessionStatus(run.status) === 'error' && hasResults(store, results) ? 'continue' : 'submit';
}
