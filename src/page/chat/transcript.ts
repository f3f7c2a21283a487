/** The conversation: what was said, the runs between, and failures. */

import type { CallAnswer, Message } from '../../client/types.ts';
import { describeAnswer, toSaidText, toText } from '../../client/words.ts';
import { button, element, find } from '../parts/element.ts';
import { type Again, addEdit } from './again.ts';
import { createFileList } from './attachments.ts';
import { createRunView, type RunView, toEvents } from './run-view.ts';
import { createTail } from './tail.ts';
import type { CallView } from './tool-call.ts';

export type Transcript = ReturnType<typeof createTranscript>;

/** `onAgain` is called when a message is to be asked again. */
export function createTranscript(onAgain: (again: Again) => void) {
	const root = find('#transcript', HTMLElement);
	const tail = createTail(find('#scroller', HTMLElement));
	/** The calls that are shown, by their ids. */
	const calls = new Map<string, CallView>();

	function addMessage(text: string, files?: Files): HTMLElement {
		return root.appendChild(createMessage(text, files));
	}

	/** Shows what the model is sent instead of the messages above. */
	function addSummary(text: string): void {
		const title = element('summary', '', 'The model reads the messages above as this summary');
		root.append(element('details', 'reasoning', title, element('div', 'body', text)));
	}

	return {
		root,
		tail,
		calls,
		addMessage,
		addRun: () => {
			for (const old of root.querySelectorAll('.offer')) old.remove();
			return createRunView(root, calls);
		},

		/** Lets a person change the words of a message. */
		letEdit(bubble: HTMLElement, text: string, message: Pick<Again, 'id' | 'runId'>): void {
			addEdit(bubble, text, (newer) => onAgain({ ...message, text: newer }));
		},

		/** Offers what can be done after a run, until the next one begins. */
		offer(label: string, onClick: () => void): void {
			const offer = button('retry offer', label, () => {
				offer.remove();
				onClick();
			});
			(root.lastElementChild?.querySelector(':scope > .run-end') ?? root).append(offer);
			tail.toEnd();
		},

		clear(): void {
			root.replaceChildren();
			calls.clear();
		},

		/** Shows the messages of earlier runs. */
		addHistory(messages: readonly Message[]): void {
			let view: RunView | undefined;
			let runId: string | undefined;
			for (const message of messages) {
				if (message.role === 'system') {
					addSummary(toText(message.content));
					continue;
				}
				if (message.role === 'user' || message.runId !== runId) {
					view?.end();
					view = undefined;
				}
				runId = message.runId;
				if (message.role === 'tool')
					calls.get(message.toolCallId)?.setResult(message.content, message.isError === true, message.parts);
				if (message.role === 'user' || (message.role === 'tool' && !view && message.isInput)) {
					const said = toSaidText(message);
					const bubble = addMessage(said, message.attachments);
					if (message.role === 'user' && message.isInput && message.attachments === undefined)
						addEdit(bubble, said, (text) => onAgain({ id: message.id, text }));
					continue;
				}
				view ??= createRunView(root, calls);
				for (const event of toEvents(message)) view.apply(event);
			}
			view?.end();
		},

		/** Shows at a call what a person said of it: its result, or that it may run now. */
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

type Files = readonly { readonly name: string; readonly size: number }[];

/** Makes what shows the message of a person. */
export function createMessage(text: string, files: Files = []): HTMLElement {
	const bubble = element('div', 'message', element('span', 'visually-hidden', 'You: '), text);
	if (files.length > 0) bubble.append(createFileList(files));
	return bubble;
}
