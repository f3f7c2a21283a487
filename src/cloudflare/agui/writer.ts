import { isRecord } from '../../core/base/json.ts';
import type { ChatUsage, Question, RunEvent, Step, TerminalEvent, WaitingCall } from '../../core/chat/index.ts';
import { parseToolInput } from '../../core/tool/call.ts';
import type { TaskList, ToolResult } from '../../core/tool/index.ts';
import { findAskedCall } from '../agent/child-decision.ts';
import { toText } from '../wire/protocols/ui/calls.ts';
import { type AguiMessage, listCalls, toMediaPart } from './message.ts';
import { formatInterruptId } from './request.ts';

/** An event of AG-UI 1.0. */
export interface AguiEvent {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** What the writer knows of a request. */
export interface AguiHead {
	readonly threadId: string;
	/** The client's own id of the run. */
	readonly runId: string;
	/** Whether the client speaks version 1.0. Earlier clients refuse some values of it. */
	readonly isCurrent: boolean;
	readonly sessionId: string;
	/** The messages that the client has, or that it gets in a first snapshot. */
	readonly messages: readonly AguiMessage[];
	/** The names of the client's tools. */
	readonly tools: ReadonlySet<string>;
	/** What the client's answers show as results, by call. */
	readonly given: ReadonlyMap<string, string>;
	readonly state: unknown;
}

interface Call {
	readonly id: string;
	readonly name: string;
	input: string;
	isOpen: boolean;
}

const notRun = 'This call was not carried out.';

/**
 * Writes the events of a run as events of AG-UI. Each message and each call has a start and an end, and each run ends once,
 * in whatever order the events of the run come.
 *
 * A client cannot take back what it has shown, except by a snapshot of all messages. So a snapshot follows a turn that
 * restarts, and a turn that was stored otherwise than it was shown. It holds the client's own messages and the stored
 * turns of the run.
 */
export class AguiWriter {
	readonly #head: AguiHead;
	#out: AguiEvent[] = [];
	/** The id of the session's run. It names the messages, so a repeated stream has the same names. */
	#run = '';
	#turn = 1;
	#messages: readonly AguiMessage[];
	#text = '';
	#reasoning = '';
	#calls: Call[] = [];
	#results: AguiMessage[] = [];
	readonly #answered = new Set<string>();
	readonly #given: Map<string, string>;
	readonly #lists = new Map<string, unknown>();
	#open: 'text' | 'reasoning' | undefined;
	#hasEnded = false;

	constructor(head: AguiHead) {
		this.#head = head;
		this.#messages = head.messages;
		this.#given = new Map(head.given);
		const lists = isRecord(head.state) && Array.isArray(head.state.tasks) ? head.state.tasks : [];
		for (const list of lists) if (isRecord(list) && typeof list.id === 'string') this.#lists.set(list.id, list);
	}

	/** Returns the first events. `shown`: the client gets the messages of the head, and these task lists. */
	start(shown?: { readonly lists: readonly TaskList[] }): AguiEvent[] {
		const { threadId, runId, sessionId, isCurrent } = this.#head;
		const version = isCurrent ? { protocolVersion: '1.0' } : {};
		this.#say('RUN_STARTED', { threadId, runId, ...version, metadata: { runlet: { sessionId } } });
		if (shown !== undefined) {
			this.#restate();
			if (shown.lists.length > 0) this.#showTasks(shown.lists);
		}
		return this.#drain();
	}

	/** Returns no events for an event of an unknown type, and for any event after the end. */
	write(event: RunEvent): AguiEvent[] {
		if (!this.#hasEnded) this.#take(event);
		return this.#drain();
	}

	/** Returns the end of a stream that broke off, or nothing if the run has ended. */
	end(): AguiEvent[] {
		const message = 'The answer was cut off, and its run may go on. Run again with the same runId.';
		return this.write({ type: 'error', code: 'interrupted', message });
	}

	#take(event: RunEvent): void {
		switch (event.type) {
			case 'run.started':
				this.#begin(event.runId);
				break;
			case 'text':
				this.#giveResults();
				this.#openText('text');
				this.#text += event.text;
				this.#say('TEXT_MESSAGE_CONTENT', { messageId: this.#messageId, delta: event.text });
				break;
			case 'reasoning':
				this.#giveResults();
				this.#openText('reasoning');
				this.#reasoning += event.text;
				this.#say('REASONING_MESSAGE_CONTENT', { messageId: this.#reasoningId, delta: event.text });
				break;
			case 'tool_use_start':
				this.#startCall(event.id, event.name);
				break;
			case 'tool_use_input': {
				const call = this.#calls.find(({ id, isOpen }) => id === event.id && isOpen);
				if (call === undefined) break;
				call.input += event.partialInputJson;
				this.#say('TOOL_CALL_ARGS', { toolCallId: event.id, delta: event.partialInputJson });
				break;
			}
			case 'tool_use_end':
				this.#endCalls(event.id);
				break;
			case 'stop':
				this.#closeText();
				this.#endCalls();
				break;
			case 'tool_result':
				this.#giveResult(event);
				break;
			case 'step':
				this.#endTurn(event);
				break;
			case 'turn.restarted':
				this.#restartTurn();
				break;
			case 'tasks':
				this.#showTasks(event.lists);
				break;
			case 'note':
			case 'warning':
			case 'source':
			case 'provider_tool': {
				const { type: name, ...value } = event;
				this.#say('CUSTOM', { name: `runlet.${name}`, value });
				break;
			}
			case 'done':
			case 'awaiting':
			case 'halted':
			case 'cancelled':
			case 'error':
				this.#end(event);
				break;
		}
	}

	/** Shows changed task lists as a part of the page's own state. */
	#showTasks(lists: readonly TaskList[]): void {
		for (const list of lists) this.#lists.set(list.id, list);
		const own = isRecord(this.#head.state) ? this.#head.state : {};
		this.#say('STATE_SNAPSHOT', { snapshot: { ...own, tasks: [...this.#lists.values()] } });
	}

	get #messageId(): string {
		return `${this.#run}-${this.#turn}`;
	}

	get #reasoningId(): string {
		return `${this.#messageId}-reasoning`;
	}

	/** Takes back what a client has of the run from a stream that broke off. */
	#begin(run: string): void {
		if (this.#run !== '') return;
		this.#run = run;
		const others = this.#messages.filter(({ id }) => !String(id).startsWith(`${run}-`));
		if (others.length === this.#messages.length) return;
		const calls = new Set(others.flatMap(listCalls).map(({ id }) => id));
		this.#messages = others.filter(({ toolCallId }) => toolCallId === undefined || calls.has(String(toolCallId)));
		this.#restate();
	}

	#openText(kind: 'text' | 'reasoning'): void {
		if (this.#open === kind) return;
		this.#closeText();
		this.#open = kind;
		if (kind === 'text') this.#say('TEXT_MESSAGE_START', { messageId: this.#messageId, role: 'assistant' });
		else {
			this.#say('REASONING_START', { messageId: this.#reasoningId });
			this.#say('REASONING_MESSAGE_START', { messageId: this.#reasoningId, role: 'reasoning' });
		}
	}

	#closeText(): void {
		if (this.#open === 'text') this.#say('TEXT_MESSAGE_END', { messageId: this.#messageId });
		if (this.#open === 'reasoning') {
			this.#say('REASONING_MESSAGE_END', { messageId: this.#reasoningId });
			this.#say('REASONING_END', { messageId: this.#reasoningId });
		}
		this.#open = undefined;
	}

	#startCall(id: string, name: string): void {
		this.#giveResults();
		this.#closeText();
		if (this.#calls.some((call) => call.id === id)) return;
		this.#calls.push({ id, name, input: '', isOpen: true });
		this.#answered.delete(id);
		this.#say('TOOL_CALL_START', { toolCallId: id, toolCallName: name, parentMessageId: this.#messageId });
	}

	#endCalls(only?: string): void {
		for (const call of this.#calls) {
			if (!call.isOpen || (only !== undefined && call.id !== only)) continue;
			call.isOpen = false;
			this.#say('TOOL_CALL_END', { toolCallId: call.id });
		}
	}

	#giveResult({ id: toolCallId, output, parts = [] }: Pick<ToolResult, 'id' | 'output' | 'parts'>): void {
		this.#given.delete(toolCallId);
		if (this.#answered.has(toolCallId)) return;
		this.#answered.add(toolCallId);
		const media = this.#head.isCurrent ? parts.flatMap((part) => toMediaPart(part)) : [];
		const text = toText(output);
		const content = media.length === 0 ? text : [{ type: 'text', text }, ...media];
		const result = { messageId: `${toolCallId}-result`, toolCallId, content };
		this.#say('TOOL_CALL_RESULT', { ...result, role: 'tool' });
		this.#results.push({ id: result.messageId, role: 'tool', toolCallId, content });
	}

	/** Shows what the client's answers were, for calls that got no other result before the next turn. */
	#giveResults(waiting?: ReadonlySet<string>): void {
		for (const [id, output] of this.#given) if (waiting?.has(id) !== true) this.#giveResult({ id, output });
	}

	/** Stores the turn. The client gets a snapshot if the turn is stored otherwise than it was shown. */
	#endTurn({ iteration, text, toolCalls }: Step): void {
		this.#closeText();
		this.#endCalls();
		if (iteration === 0) {
			this.#keep([]);
			return;
		}
		const isShown =
			text === this.#text &&
			toolCalls.length === this.#calls.length &&
			toolCalls.every(({ id, input }, at) => {
				const call = this.#calls[at];
				return call?.id === id && JSON.stringify(parseToolInput(call.input)) === JSON.stringify(input);
			});
		for (const { id } of this.#calls)
			if (!toolCalls.some((call) => call.id === id)) this.#giveResult({ id, output: notRun });
		const known = new Set(toolCalls.map(({ id }) => id));
		this.#results = this.#results.filter(
			({ toolCallId }) => known.has(String(toolCallId)) || !this.#calls.some(({ id }) => id === toolCallId),
		);
		const shownCalls = toolCalls.map(({ id, name, input }) => {
			const shown = isShown ? this.#calls.find((call) => call.id === id)?.input : undefined;
			return { id, type: 'function', function: { name, arguments: shown ?? JSON.stringify(input ?? {}) } };
		});
		const hasAny = text !== '' || shownCalls.length > 0;
		this.#keep([
			...(this.#reasoning === '' ? [] : [{ id: this.#reasoningId, role: 'reasoning', content: this.#reasoning }]),
			...(hasAny
				? [
						{
							id: this.#messageId,
							role: 'assistant',
							...(text !== '' && { content: text }),
							...(shownCalls.length > 0 && { toolCalls: shownCalls }),
						},
					]
				: []),
		]);
		if (!isShown) this.#restate();
		this.#turn++;
	}

	/** Keeps the messages of a turn with its results. A result comes behind the message of its call. */
	#keep(turn: readonly AguiMessage[]): void {
		const messages = [...this.#messages, ...turn];
		for (const result of this.#results) {
			const at = messages.findIndex((message) => listCalls(message).some(({ id }) => id === result.toolCallId));
			let behind = at === -1 ? messages.length : at + 1;
			while (messages[behind]?.role === 'tool') behind++;
			messages.splice(behind, 0, result);
		}
		this.#messages = messages;
		this.#clearTurn();
	}

	#clearTurn(): void {
		this.#text = '';
		this.#reasoning = '';
		this.#calls = [];
		this.#results = [];
	}

	#restartTurn(): void {
		this.#closeText();
		this.#endCalls();
		// A client counts a call without a result as a call that waits for it.
		for (const { id } of this.#calls) this.#giveResult({ id, output: notRun });
		// A client keeps the reasoning that a snapshot leaves out, so the snapshot empties it.
		const emptied = this.#reasoning === '' ? [] : [{ id: this.#reasoningId, role: 'reasoning', content: '' }];
		const hadAny = this.#text !== '' || this.#calls.length > 0 || emptied.length > 0;
		this.#clearTurn();
		if (hadAny) this.#restate(emptied);
	}

	#restate(more: readonly AguiMessage[] = []): void {
		this.#say('MESSAGES_SNAPSHOT', { messages: [...this.#messages, ...more] });
	}

	#end(event: TerminalEvent): void {
		this.#closeText();
		this.#endCalls();
		const { threadId, runId } = this.#head;
		const finish = (outcome: object, more: object = {}): void => {
			const metadata = { runlet: { runId: this.#run, status: event.type === 'awaiting' ? event.status : event.type } };
			this.#say('RUN_FINISHED', { threadId, runId, outcome, metadata, ...more });
		};
		if (event.type !== 'awaiting') this.#giveResults();
		switch (event.type) {
			case 'done':
				finish({ type: 'success' }, { result: event.output ?? event.text, usage: toUsage(event.usage) });
				break;
			case 'awaiting': {
				const { question, toolCalls = [] } = event;
				this.#giveResults(new Set([question?.callId ?? '', ...toolCalls.map(({ id }) => id)]));
				finish(this.#toOutcome(question, toolCalls));
				break;
			}
			case 'halted':
				for (const { id } of this.#unanswered()) this.#giveResult({ id, output: notRun });
				finish({ type: 'success' }, { result: event.reason });
				break;
			case 'cancelled':
				finish({ type: this.#head.isCurrent ? 'cancelled' : 'success' });
				break;
			case 'error':
				this.#say('RUN_ERROR', { message: event.message, code: event.code });
				break;
		}
		this.#hasEnded = true;
	}

	/** The calls of the run without a result. */
	#unanswered(): readonly { readonly id: string }[] {
		const own = this.#messages.filter(({ id }) => String(id).startsWith(`${this.#run}-`)).flatMap(listCalls);
		return own.filter(({ id }) => !this.#answered.has(id));
	}

	#toOutcome(question: Question | undefined, toolCalls: readonly WaitingCall[]): object {
		const { tools, isCurrent } = this.#head;
		if (question !== undefined) return { type: 'interrupt', interrupts: [toQuestion(question)] };
		const isOwn = ({ name, kind }: WaitingCall) => kind === undefined && tools.has(name);
		const interrupts = toolCalls.filter((call) => !isOwn(call)).map(toInterrupt);
		if (interrupts.length > 0) return { type: 'interrupt', interrupts };
		return { type: 'success', ...(isCurrent && { pendingToolCallIds: toolCalls.map(({ id }) => id) }) };
	}

	#drain(): AguiEvent[] {
		const out = this.#out;
		this.#out = [];
		return out;
	}

	#say(type: string, event: object): void {
		this.#out.push({ type, ...event });
	}
}

const decision = {
	type: 'object',
	properties: { approved: { type: 'boolean' }, reason: { type: 'string' }, editedArgs: { type: 'object' } },
	required: ['approved'],
};

function toInterrupt({ id, name, input, kind, flow, preview }: WaitingCall): object {
	const isApproval = kind === 'approval';
	return {
		id: formatInterruptId(isApproval ? 'approval' : 'result', id),
		reason: isApproval ? 'tool_call' : 'input_required',
		message: isApproval ? `Allow the call of ${name}?` : `The call of ${name} waits for its result.`,
		toolCallId: id,
		responseSchema: isApproval ? decision : {},
		metadata: { runlet: { name, input, ...(flow && { flow }), ...(preview !== undefined && { preview }) } },
	};
}

function toQuestion(question: Question): object {
	const { callId: toolCallId, question: message, options } = question;
	const isDecision = findAskedCall(question) !== undefined;
	return {
		id: formatInterruptId('answer', toolCallId),
		reason: isDecision ? 'confirmation' : 'input_required',
		message,
		toolCallId,
		responseSchema: isDecision ? decision : { type: 'string' },
		...(options && { metadata: { runlet: { options } } }),
	};
}

function toUsage(usage: ChatUsage): object[] {
	const { provider, model, inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens } = usage;
	return [{ provider, model, inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens }];
}
