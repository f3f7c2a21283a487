import * as v from 'valibot';
import { RunletError } from '../base/errors.ts';
import { dropUndefined, isRecord } from '../base/json.ts';
import { createDeferred, type Deferred } from '../base/promises.ts';
import { truncateText } from '../base/text.ts';
import type { AnsweredCall, ToolContext } from '../tool/index.ts';
import type { ToolDefinition } from './acceptance.ts';
import { askElicitation, type ElicitAnswer, type Elicitation, elicitation, readElicitAnswer } from './elicitation.ts';
import { isLoginNeeded } from './failure.ts';
import type { Link } from './link.ts';
import { askForLogin } from './login.ts';
import { readCallResult } from './result.ts';
import type { McpServer } from './server.ts';

/** The default time limit of a call without progress, in milliseconds. */
const usualTimeoutMs = 60_000;
/** The maximum time that a call waits for a person, in milliseconds. */
const longestWaitMs = 900_000;
/** The maximum number of successive answers to a call that request a repeat but ask the person nothing. */
const mostRounds = 10;

/** The questions of one call and the answers so far (version 2026-07-28, "Multi Round-Trip Requests"). */
const round = v.object({
	kind: v.literal('input'),
	requests: v.record(v.string(), v.unknown()),
	responses: v.record(v.string(), v.unknown()),
	requestState: v.optional(v.string()),
	/** The key of the current question. */
	asks: v.string(),
});
type Round = v.InferOutput<typeof round>;

/** The data that a tool stores with a question. */
const resumption = v.variant('kind', [
	round,
	v.object({ kind: v.literal('login') }),
	v.object({ kind: v.literal('open') }),
]);

const inputRequired = v.object({
	resultType: v.literal('input_required'),
	inputRequests: v.optional(v.record(v.string(), v.unknown()), {}),
	requestState: v.optional(v.string()),
});

const elicitRequest = v.object({ method: v.literal('elicitation/create'), params: elicitation });

/** A call that the server still runs. */
interface OpenCall {
	readonly definition: ToolDefinition;
	readonly stop: AbortController;
	readonly result: Promise<unknown>;
	context: ToolContext;
	/** A question that the server asks during the call. */
	asked: Deferred<Elicitation>;
	/** The unanswered question. */
	waiting?: { readonly elicitation: Elicitation; readonly answered: Deferred<ElicitAnswer> };
	timer?: ReturnType<typeof setTimeout>;
}

/** Calls the tools of a server, and passes the answers of people to the server. */
export class Caller {
	readonly #server: McpServer;
	readonly #link: Link;
	readonly #open = new Map<string, OpenCall>();

	constructor(server: McpServer, link: Link) {
		this.#server = server;
		this.#link = link;
		link.onElicit = async (params) => ({ ...(await this.#elicit(params)) });
	}

	/** Calls a tool. Returns its result, or a question to the person. */
	async call(definition: ToolDefinition, args: unknown, context: ToolContext): Promise<unknown> {
		return this.#send(definition, { arguments: args }, context);
	}

	/** Continues a call with the answer to its question. */
	async answer(
		definition: ToolDefinition,
		answer: string,
		{ args, resume }: AnsweredCall,
		context: ToolContext,
	): Promise<unknown> {
		const parsed = v.safeParse(resumption, resume);
		if (!parsed.success || parsed.output.kind === 'login') return this.call(definition, args, context);
		if (parsed.output.kind === 'open') return this.#answerOpen(answer, context);
		return this.#answerRound(definition, answer, args, parsed.output, context);
	}

	/** Connects. Returns a confirmation, or a question that asks the person to log in. */
	async logIn(): Promise<unknown> {
		try {
			const { tools } = await this.#link.list();
			this.#link.onListChanged();
			return `Logged in to ${this.#server.name}. It has ${tools.length} tools, which can be called from the next turn on.`;
		} catch (thrown) {
			if (isLoginNeeded(thrown)) return askForLogin(this.#server, thrown.data.url);
			throw thrown;
		}
	}

	/** Stops the calls that wait for a person. */
	close(): void {
		for (const call of this.#open.values()) call.stop.abort(createLost(this.#server));
		this.#open.clear();
	}

	async #send(
		definition: ToolDefinition,
		params: Readonly<Record<string, unknown>>,
		context: ToolContext,
		rounds = 0,
	): Promise<unknown> {
		const call = this.#begin(definition, params, context);
		const outcome = await this.#wait(call);
		if (!('result' in outcome)) return outcome.question;
		const more = v.safeParse(inputRequired, outcome.result);
		if (!more.success) return readCallResult(definition, outcome.result);
		const { inputRequests: requests, requestState } = more.output;
		const [asks] = Object.keys(requests);
		if (asks !== undefined) return this.#askRound({ kind: 'input', requests, responses: {}, requestState, asks });
		if (rounds === mostRounds)
			throw new RunletError('network', `${this.#server.name}: the server asks to be called again and again.`);
		return this.#send(definition, { arguments: params.arguments, requestState }, context, rounds + 1);
	}

	/** Sends a call with its own signal, because the call may outlive its run. */
	#begin(definition: ToolDefinition, params: Readonly<Record<string, unknown>>, context: ToolContext): OpenCall {
		const stop = new AbortController();
		const asked = createDeferred<Elicitation>();
		const settings = {
			signal: stop.signal,
			definition,
			traceparent: context.traceparent,
			onProgress: ({ progress, total, message }: { progress: number; total?: number; message?: string }) => {
				const share = total === undefined ? String(progress) : `${progress} of ${total}`;
				const detail = message === undefined ? share : `${message} (${share})`;
				call.context.emit([this.#server.name, truncateText(detail, 500)]);
				this.#limit(call);
			},
		};
		const call: OpenCall = { definition, stop, context, asked, result: this.#link.call(params, settings) };
		call.result.catch(() => {});
		this.#open.set(context.callId, call);
		this.#limit(call);
		return call;
	}

	async #wait(call: OpenCall): Promise<{ readonly result: unknown } | { readonly question: unknown }> {
		const { callId, signal } = call.context;
		const abort = (): void => call.stop.abort(signal.reason);
		signal.addEventListener('abort', abort);
		if (signal.aborted) abort();
		try {
			const outcome = await Promise.race([
				call.result.then((result) => ({ result })),
				call.asked.promise.then((asked) => ({ asked })),
			]);
			if ('asked' in outcome) return { question: askElicitation(this.#server, outcome.asked, { kind: 'open' }) };
			this.#end(callId, call);
			return outcome;
		} catch (thrown) {
			this.#end(callId, call);
			if (isLoginNeeded(thrown)) return { question: askForLogin(this.#server, thrown.data.url) };
			throw thrown;
		} finally {
			signal.removeEventListener('abort', abort);
		}
	}

	/** Restarts the time limit of a call, which is longer while a question is open. */
	#limit(call: OpenCall): void {
		const { timeoutMs = usualTimeoutMs, name } = this.#server;
		const after = call.waiting === undefined ? timeoutMs : longestWaitMs;
		if (call.timer !== undefined) clearTimeout(call.timer);
		const message = `${name}: no answer within ${after} ms. The call may have had effects.`;
		call.timer = setTimeout(() => call.stop.abort(new RunletError('timeout', message)), after);
	}

	#end(callId: string, call: OpenCall): void {
		if (call.timer !== undefined) clearTimeout(call.timer);
		if (this.#open.get(callId) === call) this.#open.delete(callId);
	}

	/** Handles a question that names no call (2025-11-25). The oldest call without a question gets this question. */
	async #elicit(params: unknown): Promise<ElicitAnswer> {
		const parsed = v.safeParse(elicitation, params);
		const call = [...this.#open.values()].find(({ waiting }) => waiting === undefined);
		if (!parsed.success || call === undefined) return { action: 'cancel' };
		const answered = createDeferred<ElicitAnswer>();
		call.waiting = { elicitation: parsed.output, answered };
		this.#limit(call);
		call.asked.resolve(parsed.output);
		return answered.promise;
	}

	async #answerOpen(answer: string, context: ToolContext): Promise<unknown> {
		const call = this.#open.get(context.callId);
		if (call?.waiting === undefined) throw createLost(this.#server);
		const { elicitation: question, answered } = call.waiting;
		const read = await readElicitAnswer(question, answer);
		if ('problem' in read) return askElicitation(this.#server, question, { kind: 'open' }, read.problem);
		call.context = context;
		call.asked = createDeferred();
		call.waiting = undefined;
		this.#limit(call);
		answered.resolve(read);
		const outcome = await this.#wait(call);
		return 'result' in outcome ? readCallResult(call.definition, outcome.result) : outcome.question;
	}

	#askRound(round: Round, problem?: string): unknown {
		return askElicitation(this.#server, this.#readRequest(round.requests[round.asks]), round, problem);
	}

	#readRequest(request: unknown): Elicitation {
		const parsed = v.safeParse(elicitRequest, request);
		if (parsed.success) return parsed.output.params;
		const method = isRecord(request) && typeof request.method === 'string' ? request.method.slice(0, 100) : 'something';
		const message = `${this.#server.name}: the server asks for ${method}, which is not offered to it.`;
		throw new RunletError('invalid_request', message);
	}

	/** Handles the answer to a question of a round. After the last question, repeats the call with all answers. */
	async #answerRound(
		definition: ToolDefinition,
		answer: string,
		args: unknown,
		round: Round,
		context: ToolContext,
	): Promise<unknown> {
		const read = await readElicitAnswer(this.#readRequest(round.requests[round.asks]), answer);
		if ('problem' in read) return this.#askRound(round, read.problem);
		const responses = { ...round.responses, [round.asks]: read };
		const next = Object.keys(round.requests).find((key) => !Object.hasOwn(responses, key));
		if (next !== undefined) return this.#askRound({ ...round, responses, asks: next });
		const { requestState } = round;
		return this.#send(definition, dropUndefined({ arguments: args, inputResponses: responses, requestState }), context);
	}
}

function createLost({ name }: McpServer): RunletError {
	const message = `${name}: the server asked in the middle of this call, and the connection was lost before the answer. The call may have had effects: look before you call it again.`;
	return new RunletError('network', message);
}
