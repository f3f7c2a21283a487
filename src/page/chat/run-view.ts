/** Shows a run of an agent. Each event adds nodes with a constant amount of work. */

import { say, sayOr } from '../../client/say.ts';
import type { ChildEvent, RunEvent, Usage } from '../../client/types.ts';
import { describeAwaiting, describeHalt, describeStop } from '../../client/words.ts';
import { createMarkdown, type MarkdownOptions } from '../markdown/markdown.ts';
import { toSessionAddress } from '../parts/address.ts';
import { type Child, configure, element, link } from '../parts/element.ts';
import { createCopyIcon } from '../parts/icon.ts';
import { createCallGroups } from './call-group.ts';
import { createProvided } from './provided.ts';
import { type CallView, createToolCall } from './tool-call.ts';

export interface RunView {
	readonly root: HTMLElement;
	readonly apply: (event: RunEvent) => void;
	/** Adds elements after the newest turn. */
	readonly addBlock: (...nodes: readonly HTMLElement[]) => void;
	/** Shows the text of the events that were applied. One call in each frame is enough. */
	readonly flush: () => void;
	/** Shows what the run used, below its newest turn. */
	readonly showUsage: (usage: Usage | undefined) => void;
	/** `isCut`: the run goes on in the next view, so no actions stand under this one. */
	readonly end: (isCut?: boolean) => void;
}

interface RunViewOptions extends MarkdownOptions {
	readonly calls?: Map<string, CallView>;
	/** Makes what stands under the answer of a run, beside the icon that copies the answer. */
	readonly createEnd?: (runId: string) => Node;
	/** Whether the page is of somebody else: no other session is linked. */
	readonly isEmbedded?: boolean;
	/** Says what a run used. Missing where the reader does not see costs. */
	readonly describeUsage?: (usage: Usage | undefined) => string;
}

/**
 * `calls` has the calls of the whole chat by id, because a later run can have the result of a call that waited.
 */
export function createRunView(parent: Node, { calls = new Map(), ...options }: RunViewOptions = {}): RunView {
	const canvas = createCanvas(parent, { ...options, calls });
	const { root, addBlock, flush, end } = canvas;
	return {
		...{ root, addBlock, flush, end },
		apply: (event) => showEvent(canvas, event),
		showUsage: (usage) => showUsage(canvas, usage),
	};
}

type Canvas = ReturnType<typeof createCanvas>;

function createCanvas(
	parent: Node,
	{ calls, draw, readFile, createEnd, ...about }: RunViewOptions & { readonly calls: Map<string, CallView> },
) {
	const root = parent.appendChild(configure(element('article', 'run'), { ariaLabel: say('Agent'), ariaBusy: 'true' }));
	const turn = createTurn(root);
	const { add } = turn;
	let prose: ReturnType<typeof createMarkdown> | undefined;
	let reasoning: ReturnType<typeof createMarkdown> | undefined;
	let hasEnded = false;
	const answer = createAnswer(createEnd);
	const provided = createProvided(root, (card) => {
		closeText();
		answer.addProvided();
		turn.addCall(card);
	});
	const children = createChildren(calls, about);

	/** Ends the current block of text. */
	function closeText() {
		prose?.end();
		reasoning?.end();
		prose = reasoning = undefined;
	}

	function endTurn() {
		closeText();
		turn.end();
		answer.endTurn();
		provided.endTurn();
	}

	return {
		root,
		calls,
		...about,
		endTurn,
		begin: answer.begin,
		addLine(className: string, ...children: readonly Child[]): HTMLElement {
			closeText();
			return add(element('p', className, ...children));
		},
		addText(text: string) {
			if (!prose) {
				closeText();
				prose = createMarkdown(add(element('div', 'prose')), { draw, readFile });
			}
			answer.add(text);
			prose.write(text);
		},
		addReasoning(text: string) {
			if (!reasoning) {
				closeText();
				const body = element('div', 'body prose');
				add(element('details', 'reasoning', element('summary', 'fold', say('Reasoning')), body));
				reasoning = createMarkdown(body, { draw });
			}
			reasoning.write(text);
		},
		addCall(id: string, name: string) {
			closeText();
			answer.addCall();
			const call = createToolCall(name);
			calls.set(id, call);
			turn.addCall(call.root);
		},
		addProvided: provided.add,
		stopTurn: answer.stopTurn,
		isSilent: answer.isSilent,
		addBlock(...nodes: readonly HTMLElement[]) {
			endTurn();
			root.append(...nodes);
		},
		dropTurn() {
			answer.dropTurn();
			provided.dropTurn();
			turn.drop();
			prose = reasoning = undefined;
		},
		addChildEvent: children.add,
		flush(): void {
			for (const part of [prose, reasoning, ...children.all()]) part?.flush();
		},
		end(isCut = false) {
			if (hasEnded) return;
			hasEnded = true;
			closeText();
			for (const child of children.all()) child.end();
			for (const call of calls.values()) call.leave();
			provided.end();
			root.ariaBusy = null;
			if (!isCut && root.hasChildNodes()) root.append(answer.createEnd());
		},
	};
}

/** The elements of the newest turn. Calls that follow one another are grouped. */
function createTurn(root: HTMLElement) {
	let turn: HTMLElement | undefined;
	function append<T extends Node>(node: T): T {
		turn ??= root.appendChild(element('div', 'turn'));
		return turn.appendChild(node);
	}
	const groups = createCallGroups(append);
	function end(): void {
		groups.end();
		turn = undefined;
	}
	return {
		add<T extends Node>(node: T): T {
			groups.end();
			return append(node);
		},
		addCall: groups.add,
		end,
		/** Removes the elements. */
		drop(): void {
			turn?.remove();
			end();
		},
	};
}

/** Shows the runs of child sessions. Each run is inside the call that started it. */
function createChildren(calls: ReadonlyMap<string, CallView>, about: RunViewOptions) {
	const views = new Map<string, RunView>();
	return {
		all: () => views.values(),
		add({ id, session, agent, event }: ChildEvent): void {
			const known = views.get(session);
			const name = about.isEmbedded ? agent : link('', toSessionAddress(session), agent);
			const place = known === undefined ? calls.get(id)?.nest(name, session) : undefined;
			const child = known ?? (place && createRunView(place, about));
			if (child === undefined) return;
			views.set(session, child);
			child.apply(event);
		},
	};
}

function showEvent(canvas: Canvas, event: RunEvent) {
	const { calls } = canvas;
	switch (event.type) {
		case 'run.started':
			return canvas.begin(event.runId);
		case 'text':
			return canvas.addText(event.text);
		case 'reasoning':
			return canvas.addReasoning(event.text);
		case 'tool_use_start':
			return canvas.addCall(event.id, event.name);
		case 'tool_use_input':
			return calls.get(event.id)?.addInput(event.partialInputJson);
		case 'tool_use_end':
			return calls.get(event.id)?.endInput();
		case 'tool_result':
			return calls.get(event.id)?.setResult(event.output, event.isError, event.parts);
		case 'provider_tool':
		case 'source':
			return canvas.addProvided(event);
		case 'tool_stack':
			return calls.get(event.id)?.setStack(event.stack);
		case 'note': {
			const line = canvas.addLine(
				'note',
				element('b', '', event.label),
				' ',
				createDetail(event.detail, canvas.isEmbedded),
			);
			return calls.get(event.id)?.addNote(line, event.detail);
		}
		case 'warning':
			canvas.addLine('warning', event.message);
			return;
		case 'child':
			return canvas.addChildEvent(event);
		case 'turn.restarted':
			return canvas.dropTurn();
		case 'stop': {
			const words = describeStop(event.reason);
			canvas.stopTurn();
			if (words) canvas.addLine('warning', words);
			return canvas.endTurn();
		}
		case 'done':
			if (canvas.isSilent() && !hasImages(event.usage)) canvas.addLine('warning', describeSilence());
			showUsage(canvas, event.usage);
			return canvas.end();
		case 'awaiting':
			for (const { id } of event.toolCalls ?? []) calls.get(id)?.wait();
			calls.get(event.question?.callId ?? '')?.wait();
			canvas.addLine(event.question ? 'question' : 'question waits', describeAwaiting(event));
			return canvas.end();
		case 'halted':
			canvas.addLine('warning', describeHalt(event.reason));
			return canvas.end();
		case 'cancelled':
			canvas.addLine('note', say('Stopped.'));
			return canvas.end();
		case 'error':
			canvas.addLine('failure', sayOr(event.code, event.message), ' ', element('code', 'about', event.code));
			return canvas.end();
	}
}

function describeSilence(): string {
	return say('The model returned nothing. Regenerate the answer, or choose another model.');
}

/** Whether a model made images, which are in no event. */
function hasImages({ units = {} }: Usage): boolean {
	return Object.keys(units).some((name) => name.includes('image'));
}

function showUsage(canvas: Canvas, usage: Usage | undefined): void {
	const words = canvas.describeUsage?.(usage);
	if (words) canvas.addLine('usage', words);
}

/** Returns the detail of a note. If the detail is the id of a child session, returns a link to this session. */
function createDetail(detail = '', isEmbedded?: boolean): Node | string {
	if (!/^[0-9a-f]{64}$/.test(detail)) return detail;
	return isEmbedded ? '' : link('', toSessionAddress(detail), 'open');
}

/** Collects the text of a run, so that a person can copy it. `createEnd` makes what stands beside the button. */
function createAnswer(createEnd: RunViewOptions['createEnd']) {
	const pieces: string[] = [];
	let runId: string | undefined;
	/** Whether the newest turn with a text or a call has a text and no call. */
	let isAnswered = false;
	/** The number of pieces of text from turns that have ended. */
	let settled = 0;
	/** Whether the current turn has a text, a call, or a call of the provider. */
	let hasSaid = false;
	let isSilent = false;
	return {
		add(text: string): void {
			hasSaid = true;
			isAnswered = true;
			pieces.push(text);
		},
		addCall(): void {
			hasSaid = true;
			isAnswered = false;
		},
		addProvided(): void {
			hasSaid = true;
		},
		stopTurn(): void {
			isSilent = !hasSaid;
			hasSaid = false;
		},
		/** Whether the newest turn that stopped was empty. */
		isSilent: (): boolean => isSilent,
		begin(id: string): void {
			runId = id;
		},
		endTurn(): void {
			if (pieces.length > settled) pieces.push('\n\n');
			settled = pieces.length;
		},
		dropTurn(): void {
			hasSaid = false;
			pieces.length = settled;
		},
		createEnd(): HTMLElement {
			const read = () => pieces.join('').trim();
			const copy = pieces.length === 0 ? undefined : createCopyIcon(say('Copy the answer'), read);
			copy?.setAttribute('data-copy', '');
			const more = isAnswered && runId !== undefined ? createEnd?.(runId) : undefined;
			return element('div', 'run-end', copy, more);
		},
	};
}
