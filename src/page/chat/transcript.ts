/** The conversation: messages, runs and failures. */

import { type RunEnd, toEvents } from '../../client/history.ts';
import { say } from '../../client/say.ts';
import type { Attachment, CallAnswer, Message, WaitingMessage } from '../../client/types.ts';
import { sumRuns } from '../../client/usage.ts';
import { describeDenial, toSaidText, toText } from '../../client/words.ts';
import type { ReadFile } from '../markdown/images.ts';
import { createDrawing, createMarkdown, type Draw } from '../markdown/markdown.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, configure, element, find, link } from '../parts/element.ts';
import { createIconButton } from '../parts/icon.ts';
import { createMarks } from '../parts/labels.ts';
import type { Spot } from './again.ts';
import { createFileList } from './attachments.ts';
import type { LastRun } from './earlier.ts';
import { addMessageEnd, type MessageActions } from './message-end.ts';
import { createPictures } from './pictures.ts';
import type { Ratings } from './ratings.ts';
import { createRunView, type RunView } from './run-view.ts';
import type { Surroundings } from './surroundings.ts';
import { createTail } from './tail.ts';
import { type CallView, showCallFacts } from './tool-call.ts';
import type { Versions } from './versions.ts';

export type Transcript = ReturnType<typeof createTranscript>;

type Around = Pick<Surroundings, 'root' | 'life' | 'isEmbedded' | 'describeUsage'>;

/** `actions` are what a person can do with a message or an answer. */
export function createTranscript(
	actions: MessageActions,
	{
		versions,
		...parts
	}: { readonly ratings: Ratings; readonly versions: Versions | undefined; readonly readFile: ReadFile },
	{ root: place, life, isEmbedded, describeUsage }: Around,
) {
	const root = find('#transcript', HTMLElement, place);
	const tail = createTail(place, life);
	const shared = { actions, versions, ...parts, isEmbedded, describeUsage };
	/** The calls that are shown, by id. */
	const calls = new Map<string, CallView>();
	/** The results whose calls are in earlier messages, which are not shown yet. */
	const results = new Map<string, ToolMessage>();

	function addMessage(text: string, files: readonly Attachment[] = []): HTMLElement {
		versions?.leave();
		return root.appendChild(createMessage(text, files, files.map(toImage)));
	}

	/** Removes what stood under the newest run while nothing came after it. */
	function goOn(old: string): void {
		versions?.leave();
		for (const gone of root.querySelectorAll(`${old}, .waits`)) gone.remove();
		tail.announce();
	}

	return {
		root,
		tail,
		calls,
		addMessage,
		addRun: () => {
			goOn('.offer');
			const createEnd = (runId: string) => createAnswerEnd({ ended: runId }, runId, shared);
			return createRunView(root, { ...shared, calls, createEnd });
		},

		/** Makes a message that no person wrote. */
		createReport: (message: WaitingMessage) => createReport(toSaidText(message), message, { isEmbedded }),

		/** Adds the icons below a message that was sent from here. */
		letEdit(bubble: HTMLElement, text: string, begun: string): void {
			addMessageEnd(bubble, { text, again: { begun }, at: { begun } }, actions);
		},

		...createOffers(root, actions, tail.keep),

		clear(): void {
			root.replaceChildren();
			calls.clear();
			results.clear();
		},

		/** Shows earlier messages above the others. */
		addEarlier(messages: readonly Message[], last: LastRun = {}): void {
			const place = document.createDocumentFragment();
			// Mark the log as busy, so that a screen reader does not read the messages aloud.
			root.ariaBusy = 'true';
			const drawing = createDrawing();
			for (const [id, call] of drawHistory(place, messages, { ...shared, ...last, results, draw: drawing.draw }))
				if (!calls.has(id)) calls.set(id, call);
			root.prepend(place);
			void drawing.drawAll(tail.keep).then(() => {
				root.ariaBusy = null;
			});
		},

		/** Shows messages of later runs below the others. They can have the results of open calls. */
		addLater(messages: readonly Message[], end?: RunEnd): void {
			goOn('.offer, .open-calls');
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
			else call?.setResult(describeDenial(answer.reason), true);
		},

		addFailure(box: HTMLElement): void {
			root.append(box);
			tail.toEnd();
		},
	};
}

function toImage({ name, type: mime, contentBase64: data }: Attachment) {
	return { kind: 'image', name, mime, data };
}

/** What a person can do after a run, until the next run begins. */
function createOffers(root: HTMLElement, { onAgain }: MessageActions, onShown: () => void) {
	return {
		offer(label: string, onClick: () => void): void {
			const offer = button('retry offer', label, () => {
				offer.remove();
				onClick();
			});
			(root.lastElementChild?.querySelector(':scope > .run-end') ?? root).append(offer);
			onShown();
		},

		/** Offers another answer. */
		offerAgain(): void {
			const run = root.querySelector(':scope > .run:last-child');
			const end = run?.querySelector(':scope > .run-end') ?? run?.appendChild(element('div', 'run-end'));
			const again = createIconButton('again', say('Regenerate'), () => onAgain({}));
			again.classList.add('offer');
			const copy = end?.querySelector(':scope > [data-copy]');
			if (copy) copy.after(again);
			else end?.prepend(again);
			onShown();
		},
	};
}

type ToolMessage = Extract<Message, { role: 'tool' }>;
type UserMessage = Extract<Message, { role: 'user' }>;

interface History extends LastRun {
	readonly results: Map<string, ToolMessage>;
	readonly actions: MessageActions;
	readonly ratings: Ratings;
	readonly versions: Versions | undefined;
	readonly isEmbedded: boolean | undefined;
	readonly describeUsage: Surroundings['describeUsage'];
	readonly readFile: ReadFile;
	readonly draw: Draw;
	/** The arrows below the first message, which is an earlier version. */
	readonly arrows?: HTMLElement;
}

/** Makes what stands beside the icon that copies an answer. */
function createAnswerEnd(
	spot: Spot,
	runId: string,
	{ ratings, actions: { createFork } }: Pick<History, 'ratings' | 'actions'>,
): DocumentFragment {
	const end = document.createDocumentFragment();
	end.append(createFork?.(spot) ?? '');
	end.append(ratings.create(runId) ?? '');
	return end;
}

/** Draws messages with the results of their calls. Takes these results out of `results`. Returns the calls. */
function drawHistory(
	place: DocumentFragment,
	messages: readonly Message[],
	history: History,
): ReadonlyMap<string, CallView> {
	const { results, ratings, isEmbedded, draw, isCut = false, end } = history;
	const calls = new Map<string, CallView>();
	const early = new Map<string, ToolMessage>();
	/** The last reply of each run. Only the answer that it ends can be rated. */
	const lastReplies = new Map<string | undefined, Message>();
	for (const message of messages) {
		if (message.role === 'assistant') lastReplies.set(message.runId, message);
		ratings.note(message.runId, message.feedback);
	}
	const sums = sumRuns(messages);
	const createEnd = (run: string) => {
		const id = lastReplies.get(run)?.id;
		return createAnswerEnd(id === undefined ? { ended: run } : { id }, run, history);
	};
	const createView = () => createRunView(place, { ...history, calls, createEnd });
	let { arrows } = history;
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
		if (message.role === 'user' || (message.role === 'tool' && !view && message.isInput && !message.isError)) {
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
			if (message.role === 'user') endMessage(bubble, words, message, history, arrows);
			arrows = undefined;
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
	view?.end(isCut);
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

/** Adds the icons and the versions below a message of the history. */
function endMessage(
	bubble: HTMLElement,
	text: string,
	message: UserMessage,
	history: History,
	arrows?: HTMLElement,
): void {
	const { id, isInput, isReplaced, attachments } = message;
	const draw = (place: HTMLElement, messages: readonly Message[], arrows: HTMLElement) => {
		const version = document.createDocumentFragment();
		const drawing = createDrawing();
		drawHistory(version, messages, {
			...history,
			draw: drawing.draw,
			results: new Map(),
			isCut: false,
			end: undefined,
			arrows,
		});
		place.append(version);
		void drawing.drawAll(() => {});
	};
	const isOld = isReplaced === true;
	const versions = arrows ?? history.versions?.create(message, bubble, draw, history.actions.createFork);
	const again = isInput === true && !isOld && attachments === undefined ? { id } : undefined;
	addMessageEnd(bubble, { text, again, at: { id }, versions }, history.actions);
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
	{ draw, isEmbedded }: Partial<Pick<History, 'draw' | 'isEmbedded'>>,
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
