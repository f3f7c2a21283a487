/** One run of an agent on the page: takes events and adds nodes, a constant amount of work for each. */

import type { ChildEvent, Message, RunEvent } from '../../client/types.ts';
import { describeAwaiting, describeHalt, describeStop, describeUsage } from '../../client/words.ts';
import { createMarkdown, type Draw } from '../markdown/markdown.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, element, link, withoutTurns } from '../parts/element.ts';
import { createProvided } from './provided.ts';
import { type CallView, createToolCall } from './tool-call.ts';

/** A run on the page. */
export interface RunView {
	readonly root: HTMLElement;
	readonly apply: (event: RunEvent) => void;
	/** Adds an element after the newest turn. */
	readonly addBlock: (...nodes: readonly HTMLElement[]) => void;
	/** Shows the text that `apply` took in: once a frame is enough. */
	readonly flush: () => void;
	/** Nothing more comes. */
	readonly end: () => void;
}

/**
 * `calls` are those of the whole chat, by their ids: a later run may bring the result of a call that waited. `draw` says when
 * the text is drawn that `flush` has not shown.
 */
export function createRunView(parent: Node, calls: Map<string, CallView> = new Map(), draw?: Draw): RunView {
	const root = createRoot(parent);
	let turn: HTMLElement | undefined;
	let prose: ReturnType<typeof createMarkdown> | undefined;
	let reasoning: HTMLElement | undefined;
	let hasEnded = false;
	const answer = createAnswer();
	const provided = createProvided(root, (card) => {
		closeText();
		add(card);
	});
	const children = createChildren(calls);

	function add<T extends Node>(node: T): T {
		turn ??= root.appendChild(element('div', 'turn'));
		return turn.appendChild(node);
	}

	/** Starts a new block below the current one. */
	function closeText() {
		prose?.end();
		prose = undefined;
		reasoning = undefined;
	}

	const view = {
		root,
		calls,

		addLine(className: string, ...children: (Node | string)[]): HTMLElement {
			closeText();
			return add(element('p', className, ...children));
		},
		addText(text: string) {
			if (!prose) {
				closeText();
				const box = element('div', 'prose');
				add(box);
				prose = createMarkdown(box, draw);
			}
			answer.add(text);
			prose.write(text);
		},
		addReasoning(text: string) {
			if (!reasoning) {
				closeText();
				reasoning = element('div', 'body');
				add(element('details', 'reasoning', element('summary', '', 'Reasoning'), reasoning));
			}
			reasoning.append(withoutTurns(text));
		},
		addCall(id: string, name: string) {
			closeText();
			const call = createToolCall(name);
			calls.set(id, call);
			add(call.root);
		},
		addProvided: provided.add,
		addBlock(...nodes: readonly HTMLElement[]) {
			view.endTurn();
			root.append(...nodes);
		},
		endTurn() {
			closeText();
			turn = undefined;
			answer.endTurn();
			provided.endTurn();
		},
		/** Removes the elements of the turn. */
		dropTurn() {
			answer.dropTurn();
			provided.dropTurn();
			turn?.remove();
			turn = prose = reasoning = undefined;
		},

		addChildEvent: children.add,
		apply: (event: RunEvent): void => showEvent(view, event),
		flush(): void {
			prose?.flush();
			for (const child of children.all()) child.flush();
		},
		end() {
			if (hasEnded) return;
			hasEnded = true;
			closeText();
			for (const child of children.all()) child.end();
			for (const call of calls.values()) call.leave();
			provided.end();
			root.removeAttribute('aria-busy');
			if (root.hasChildNodes()) root.append(element('div', 'run-end', ...answer.createCopy()));
		},
	};
	return view;
}

function createRoot(parent: Node): HTMLElement {
	const root = element('article', 'run');
	root.setAttribute('aria-label', 'Agent');
	root.setAttribute('aria-busy', 'true');
	return parent.appendChild(root);
}

/** The runs of the sessions that work for calls of this one, each within its call. */
function createChildren(calls: ReadonlyMap<string, CallView>) {
	const views = new Map<string, RunView>();
	return {
		all: () => views.values(),
		add({ id, session, agent, event }: ChildEvent): void {
			const known = views.get(session);
			const place = known === undefined ? calls.get(id)?.nest(agent, session) : undefined;
			const child = known ?? (place && createRunView(place));
			if (child === undefined) return;
			views.set(session, child);
			child.apply(event);
		},
	};
}

interface Drawing {
	readonly calls: ReadonlyMap<string, CallView>;
	addLine(className: string, ...children: (Node | string)[]): HTMLElement;
	addText(text: string): void;
	addReasoning(text: string): void;
	addCall(id: string, name: string): void;
	addProvided: ReturnType<typeof createProvided>['add'];
	addChildEvent(event: ChildEvent): void;
	endTurn(): void;
	dropTurn(): void;
	end(): void;
}

function showEvent(view: Drawing, event: RunEvent) {
	const { calls } = view;
	switch (event.type) {
		case 'text':
			return view.addText(event.text);
		case 'reasoning':
			return view.addReasoning(event.text);
		case 'tool_use_start':
			return view.addCall(event.id, event.name);
		case 'tool_use_input':
			return calls.get(event.id)?.addInput(event.partialInputJson);
		case 'tool_use_end':
			return calls.get(event.id)?.endInput();
		case 'tool_result':
			return calls.get(event.id)?.setResult(event.output, event.isError, event.parts);
		case 'provider_tool':
		case 'source':
			return view.addProvided(event);
		case 'tool_stack':
			return calls.get(event.id)?.setStack(event.stack);
		case 'note': {
			const line = view.addLine('note', element('b', '', event.label), ' ', createDetail(event.detail));
			return calls.get(event.id)?.addNote(line, event.detail);
		}
		case 'warning':
			view.addLine('warning', event.message);
			return;
		case 'child':
			return view.addChildEvent(event);
		case 'turn.restarted':
			return view.dropTurn();
		case 'stop': {
			const words = describeStop(event.reason);
			if (words) view.addLine('warning', words);
			return view.endTurn();
		}
		case 'done':
		case 'awaiting':
		case 'halted':
		case 'cancelled':
		case 'error':
			showEnd(view, event);
			return view.end();
	}
}

/** What a note adds to its label. That of a child is its session, which can be opened. */
function createDetail(detail = ''): Node | string {
	return /^[0-9a-f]{64}$/.test(detail) ? link('', toSessionAddress(detail), 'open') : detail;
}

type EndEvent = Extract<RunEvent, { type: 'done' | 'awaiting' | 'halted' | 'cancelled' | 'error' }>;

function showEnd({ calls, addLine }: Drawing, event: EndEvent) {
	switch (event.type) {
		case 'done': {
			const words = describeUsage(event.usage);
			return words ? addLine('usage', words) : undefined;
		}
		case 'awaiting':
			for (const { id } of event.toolCalls ?? []) calls.get(id)?.wait();
			calls.get(event.question?.callId ?? '')?.wait();
			return addLine('question', describeAwaiting(event));
		case 'halted':
			return addLine('warning', describeHalt(event.reason));
		case 'cancelled':
			return addLine('note', 'Stopped.');
		case 'error':
			return addLine('failure', event.message, ' ', element('code', 'error-code', event.code));
	}
}

/** Converts a message of an assistant or a tool to the events that made it. */
export function* toEvents(message: Message): Generator<RunEvent> {
	if (message.role === 'tool') {
		const { toolCallId: id, content: output, isError = false, parts } = message;
		yield { type: 'tool_result', id, output, isError, parts };
	}
	if (message.role !== 'assistant') return;
	const { content, reasoning, toolCalls = [], providerCalls = [], sources = [] } = message;
	if (reasoning) yield { type: 'reasoning', text: reasoning };
	for (const call of providerCalls) yield { type: 'provider_tool', ...call };
	if (content) yield { type: 'text', text: content };
	for (const source of sources) yield { type: 'source', ...source };
	for (const { id, name, input } of toolCalls) {
		yield { type: 'tool_use_start', id, name };
		yield { type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) };
		yield { type: 'tool_use_end', id };
	}
	yield { type: 'stop', reason: 'end' };
}

function createAnswer() {
	const said: string[] = [];
	/** The pieces of the turns that have ended. */
	let settled = 0;
	return {
		add(text: string): void {
			said.push(text);
		},
		endTurn(): void {
			if (said.length > settled) said.push('\n\n');
			settled = said.length;
		},
		/** Drops the text of the turn. */
		dropTurn(): void {
			said.length = settled;
		},
		/** Makes a button that copies the text, if there is any. */
		createCopy: (): HTMLElement[] => (said.length === 0 ? [] : [createCopy(() => said.join('').trim())]),
	};
}

/** The style sheet draws its label, so that a selection of the answer does not include it. */
function createCopy(read: () => string): HTMLElement {
	const copy = button('copy', '', async () => {
		await navigator.clipboard.writeText(read());
		copy.dataset.label = 'Copied';
	});
	copy.dataset.label = 'Copy';
	copy.setAttribute('aria-label', 'Copy the answer');
	copy.addEventListener('blur', () => {
		copy.dataset.label = 'Copy';
	});
	return copy;
}
