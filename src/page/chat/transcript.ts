/** The conversation: messages, runs and failures. */

import { type RunEnd, toEvents } from '../../client/history.ts';
import { say } from '../../client/say.ts';
import type { Attachment, CallAnswer, Message } from '../../client/types.ts';
import { sumRuns } from '../../client/usage.ts';
import { describeAnswer, toSaidText, toText } from '../../client/words.ts';
import type { ReadFile } from '../markdown/images.ts';
import { createDrawing, createMarkdown, type Draw } from '../markdown/markdown.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, element, find, link } from '../parts/element.ts';
import { createMarks } from '../parts/labels.ts';
import { type Again, addEdit } from './again.ts';
import { createFileList } from './attachments.ts';
import { createPictures } from './pictures.ts';
import type { Ratings } from './ratings.ts';
import { createRunView, type RunView } from './run-view.ts';
import type { Surroundings } from './surroundings.ts';
import { type CallView, showCallFacts } from './tool-call.ts';

export type Transcript = ReturnType<typeof createTranscript>;

/** `onAgain` is called when a person wants to send a message again. */
export function createTranscript(
	onAgain: (again: Again) => void,
	ratings: Ratings,
	{
		root: place,
		life,
		isEmbedded,
		readFile,
	}: Pick<Surroundings, 'root' | 'life' | 'isEmbedded'> & { readonly readFile: ReadFile },
) {
	const root = find('#transcript', HTMLElement, place);
	const tail = createTail(find('#scroller', HTMLElement, place), life);
	const shared = { onAgain, ratings, isEmbedded, readFile };
	/** The calls that are shown, by id. */
	const calls = new Map<string, CallView>();
	/** The results whose calls are in earlier messages, which are not shown yet. */
	const results = new Map<string, ToolMessage>();

	function addMessage(text: string, files: readonly Attachment[] = []): HTMLElement {
		const parts = files.map(({ name, type, contentBase64 }) => ({
			kind: 'image',
			name,
			mime: type,
			data: contentBase64,
		}));
		return root.appendChild(createMessage(text, files, parts));
	}

	return {
		root,
		tail,
		calls,
		addMessage,
		addRun: () => {
			for (const old of root.querySelectorAll('.offer')) old.remove();
			return createRunView(root, { calls, createEnd: ratings.create, isEmbedded, readFile });
		},

		letEdit(bubble: HTMLElement, text: string, message: Pick<Again, 'id' | 'runId'>): void {
			addEdit(bubble, text, (newer) => onAgain({ ...message, text: newer }));
		},

		/** Offers an action after a run, until the next run begins. With `isQuiet`, the button is less prominent. */
		offer(label: string, onClick: () => void, { isQuiet = false } = {}): void {
			const offer = button(`retry offer${isQuiet ? ' quiet' : ''}`, label, () => {
				offer.remove();
				onClick();
			});
			(root.lastElementChild?.querySelector(':scope > .run-end') ?? root).append(offer);
			tail.keep();
		},

		clear(): void {
			root.replaceChildren();
			calls.clear();
			results.clear();
		},

		/** Shows messages of earlier runs above the others. `end` is how the last run ended. */
		addEarlier(messages: readonly Message[], end?: RunEnd): void {
			const place = document.createDocumentFragment();
			// Mark the log as busy, so that a screen reader does not read the messages aloud.
			root.ariaBusy = 'true';
			const drawing = createDrawing();
			for (const [id, call] of drawHistory(place, messages, { ...shared, results, end, draw: drawing.draw }))
				if (!calls.has(id)) calls.set(id, call);
			root.prepend(place);
			void drawing.drawAll(tail.keep).then(() => {
				root.ariaBusy = null;
			});
		},

		/** Shows messages of later runs below the others. They can have the results of open calls. */
		addLater(messages: readonly Message[], end?: RunEnd): void {
			for (const old of root.querySelectorAll('.offer, .open-calls')) old.remove();
			const place = document.createDocumentFragment();
			const answers = new Map<string, ToolMessage>();
			const drawing = createDrawing();
			const later = drawHistory(place, messages, { ...shared, results: answers, end, draw: drawing.draw });
			for (const [id, message] of answers) {
				const call = calls.get(id);
				if (call !== undefined) setResult(call, message);
			}
			for (const [id, call] of later) calls.set(id, call);
			root.append(place);
			void drawing.drawAll(tail.keep);
		},

		/** Shows a person's answer at the call: the result, or the decision about an approval. */
		showAnswer(answer: CallAnswer): void {
			const call = calls.get(answer.id);
			if (!('approve' in answer)) call?.setResult(answer.output, answer.isError === true);
			else if (answer.approve) call?.resume();
			else call?.setResult(describeAnswer(answer), true);
		},

		addFailure(box: HTMLElement): void {
			root.append(box);
			tail.toEnd();
		},
	};
}

type ToolMessage = Extract<Message, { role: 'tool' }>;
type UserMessage = Extract<Message, { role: 'user' }>;

interface History {
	readonly results: Map<string, ToolMessage>;
	readonly onAgain: (again: Again) => void;
	readonly ratings: Ratings;
	readonly isEmbedded: boolean | undefined;
	readonly readFile: ReadFile;
	readonly draw: Draw;
	/** The last event of the last run. Missing if the run goes on, or if it is no run of these messages. */
	readonly end?: RunEnd | undefined;
}

/** Draws messages with the results of their calls. Takes these results out of `results`. Returns the calls. */
function drawHistory(
	place: DocumentFragment,
	messages: readonly Message[],
	{ results, onAgain, ratings, isEmbedded, readFile, draw, end }: History,
): ReadonlyMap<string, CallView> {
	const calls = new Map<string, CallView>();
	const early = new Map<string, ToolMessage>();
	/** The last reply of each run. Only the answer that it ends can be rated. */
	const lastReplies = new Map<string | undefined, Message>();
	for (const message of messages) {
		if (message.role === 'assistant') lastReplies.set(message.runId, message);
		ratings.note(message.runId, message.feedback);
	}
	const sums = sumRuns(messages);
	const createView = () => createRunView(place, { calls, draw, readFile, createEnd: ratings.create, isEmbedded });
	let view: RunView | undefined;
	let runId: string | undefined;
	for (const message of messages) {
		if (message.role === 'system') {
			place.append(createSummary(toText(message.content)));
			continue;
		}
		if (message.role === 'user' || message.runId !== runId) {
			view?.end();
			view = undefined;
		}
		runId = message.runId;
		if (message.role === 'tool') {
			const call = calls.get(message.toolCallId);
			if (call === undefined) early.set(message.toolCallId, message);
			else setResult(call, message);
		}
		if (message.role === 'user' || (message.role === 'tool' && !view && message.isInput)) {
			const words = toSaidText(message);
			if (message.role === 'user' && message.from !== undefined) {
				place.append(createReport(words, message, { draw, isEmbedded }));
				continue;
			}
			const bubble = place.appendChild(
				createMessage(words, message.attachments, message.role === 'user' ? message.parts : []),
			);
			// A person sees their own attachments, which need no mark.
			if (message.role === 'user' && message.attachments === undefined)
				for (const mark of createMarks(message.labels)) bubble.append(' ', mark);
			if (message.role === 'user' && message.isInput && message.attachments === undefined)
				addEdit(bubble, words, (text) => onAgain({ id: message.id, text }));
			continue;
		}
		view ??= createView();
		/** The run that this reply ends. */
		const ended = lastReplies.get(runId) === message ? runId : undefined;
		if (ended !== undefined) view.apply({ type: 'run.started', runId: ended, attempt: 1 });
		for (const event of toEvents(message)) view.apply(event);
		// The event that ended the newest run brings its usage.
		if (ended !== undefined && ended !== end?.runId && !hasCalls(message)) view.showUsage(sums.get(ended));
	}
	if (end !== undefined) (view ?? createView()).apply(end.event);
	view?.end();
	for (const [id, message] of results) {
		const call = calls.get(id);
		if (call === undefined) continue;
		setResult(call, message);
		results.delete(id);
	}
	showCallFacts(calls, messages);
	for (const [id, message] of early) results.set(id, message);
	return calls;
}

function hasCalls(message: Message): boolean {
	return message.role === 'assistant' && (message.toolCalls ?? []).length > 0;
}

function setResult(call: CallView, { content, isError, parts }: ToolMessage): void {
	call.setResult(content, isError === true, parts);
}

/** Shows the summary that the model reads instead of the messages above. */
function createSummary(text: string): HTMLElement {
	const title = element('summary', 'fold', say('The model reads the messages above as this summary'));
	return element('details', 'reasoning', title, element('div', 'body', text));
}

/** Shows a message that no person wrote: the report of a child session, the task of a parent, or the words of a schedule. */
function createReport(
	text: string,
	{ from, labels }: Pick<UserMessage, 'from' | 'labels'>,
	{ draw, isEmbedded }: Pick<History, 'draw' | 'isEmbedded'>,
): HTMLElement {
	const [, agent, session = '', words = text] = /^([\w-]+) \(session ([\da-f]{64})\) ([\s\S]*)$/.exec(text) ?? [];
	const name = agent === undefined || isEmbedded ? agent : link('', toSessionAddress(session), agent);
	const title = from === 'schedule' ? say('From a schedule') : say('From an agent');
	const head = element('p', 'report-head', title, ...(name === undefined ? [] : [': ', name]), ...createMarks(labels));
	const prose = element('div', 'prose');
	const markdown = createMarkdown(prose, { draw });
	markdown.write(words);
	markdown.end();
	return element('section', 'report', head, prose);
}

type Files = readonly { readonly name: string; readonly size: number }[];

/** Shows what a person said, with the images among `parts`. */
export function createMessage(
	text: string,
	files: Files = [],
	parts: Parameters<typeof createPictures>[0] = [],
): HTMLElement {
	const list = files.length > 0 ? createFileList(files) : undefined;
	const message = element(
		'div',
		'message',
		element('span', 'visually-hidden', say('You: ')),
		text,
		createPictures(parts),
		list,
	);
	return configure(message, { dir: 'auto' });
}

/** Scrolls to the end of an element while it grows, unless the reader has scrolled up. */
function createTail(node: HTMLElement, life: AbortSignal) {
	const reader = watchReader(life);
	let isAtEnd = true;
	let lastTop = 0;
	let lastHeight = 0;

	function toEnd() {
		node.scrollTop = node.scrollHeight;
		isAtEnd = true;
	}

	node.addEventListener(
		'scroll',
		() => {
			const { scrollTop, scrollHeight, clientHeight } = node;
			const isUp = scrollTop < lastTop;
			// When the browser lays out a part late, the part's height changes, and the content below moves.
			const isMoved = scrollHeight !== lastHeight && !reader.isMoving();
			[lastTop, lastHeight] = [scrollTop, scrollHeight];
			if (scrollHeight - scrollTop - clientHeight < 4) isAtEnd = true;
			else if (isUp && !isMoved) isAtEnd = false;
			else if (isUp && isAtEnd) toEnd();
		},
		{ passive: true },
	);

	// The element's height also changes when the elements beside it change.
	new ResizeObserver(() => {
		if (isAtEnd) toEnd();
	}).observe(node);

	return {
		toEnd,
		/** Call this after the element has grown. */
		keep() {
			if (isAtEnd) toEnd();
		},
	};
}

/** Scrolling has ended after this many milliseconds without a wheel, touch or key event. */
const restMs = 1_000;

/** Watches whether the reader is possibly scrolling. */
function watchReader(life: AbortSignal) {
	let lastAt = Number.NEGATIVE_INFINITY;
	let isHeld = false;
	const note = ({ type }: Event): void => {
		lastAt = performance.now();
		if (type.startsWith('pointer')) isHeld = type === 'pointerdown';
	};
	for (const type of ['wheel', 'touchmove', 'keydown', 'pointerdown', 'pointerup', 'pointercancel'])
		document.addEventListener(type, note, { capture: true, passive: true, signal: life });
	return { isMoving: (): boolean => isHeld || performance.now() - lastAt < restMs };
}
